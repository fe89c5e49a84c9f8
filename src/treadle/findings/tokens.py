"""A failing schedule as one short word, to paste into a command.

`t1_` (the version of the format) and, in url-safe base64, these bytes:

    checksum            4 bytes, of all that follows; the next byte says what follows, and how
    kind, granularity   3 and 2 bits; the other bits: whether there are options, whether packed
    digest              3 bytes, of the kind and the message of the failure
    options             what else a replay needs, and what the program had learned, if anything
    names               of the processes; those of threads are numbers: `main.2` is child 2 of main
    runs                process and number of steps in a row, together one number
    prints              a byte each for some or all steps: what was done up to and including it

The prints tell which step is the first that is not what was recorded, without saying what that was:
the database knows it in words (see `treadle.findings.database`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import itertools
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

from treadle.core.errors import ScheduleMismatch, TreadleError
from treadle.core.events import Mode, location_of, mode_of
from treadle.core.happens_before import Trace
from treadle.core.result import Failure, Kind, Schedule, without_addresses

_SHAPE = re.compile(r"t(\d+)_([A-Za-z0-9_-]*)")
_VERSION = 1
_KINDS: tuple[Kind, ...] = get_args(Kind)
_GRANULARITIES = ("", "access", "gil")
_HAS_OPTIONS, _IS_PACKED = 0x20, 0x40
_CHECKSUM = 4
_DIGEST = 3
_PRINTS = 32
"""Most prints that a token holds; they are spread over longer schedules."""
_LONGEST = 10_000_000
"""Steps that a token may stand for."""
_NO_ACCESS = frozenset({Mode.WATCH, Mode.OPEN, Mode.SWAP})
_LITERAL, _MAIN, _CHILD = 0, 1, 2
"""How a name is written: as text; `main`; from here on, as the child of an earlier name."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a token says: how to run a failing interleaving again, and what it should show."""

    kind: Kind
    digest: bytes
    """Of the failure, see `digest_of`."""
    schedule: Schedule
    granularity: str = ""
    options: dict[str, object] = field(default_factory=dict)
    """As in `Failure.options`."""
    prints: bytes = b""
    """One for each stretch of steps: what was done up to its end."""

    def expects(self, failure: Failure) -> bool:
        """Tell whether a failure is the recorded one."""
        return failure.kind == self.kind and digest_of(failure) == self.digest

    def first_difference(self, trace: Trace) -> tuple[int, int] | None:
        """Return the range of steps in which the first is that is not as recorded, if any."""
        length = len(self.schedule)
        stretch = _stretch(length)
        actual = _prints(trace, length)
        for at, (recorded, now) in enumerate(zip(self.prints, actual, strict=False)):
            if recorded != now:
                return at * stretch, min((at + 1) * stretch, length)
        return None


def is_token(text: str) -> bool:
    """Tell whether a text is meant as a token, not as a written schedule.

    >>> is_token("t1_5f4w"), is_token("p*2 q")
    (True, False)
    """
    return _SHAPE.fullmatch(text.strip()) is not None


def token_of(failure: Failure) -> str:
    """Return the token of a failure.

    >>> token_of(Failure("assertion", "x is 1", Schedule(["p", "q"]), 1))
    't1_iMFYWgDe904CAAFwAAFxAgAB'
    """
    schedule = failure.schedule.upto(failure.step + 1)
    return write_token(
        Recipe(
            failure.kind,
            digest_of(failure),
            schedule,
            failure.granularity,
            failure.options,
            _prints(_events_of(failure), len(schedule)),
        )
    )


def _events_of(failure: Failure) -> Trace | None:
    try:
        return failure._events if failure.trace else None
    except ScheduleMismatch:  # of a nondeterministic program: it went elsewhere this time
        return None


def digest_of(failure: Failure) -> bytes:
    """Return what tells a failure from others: the same in each run that shows it."""
    return _hashed(f"{failure.kind}\n{_identity_of(failure)}", _DIGEST)


def _identity_of(failure: Failure) -> str:
    """Return the message without what differs in each run; of a deadlock, the set of waits.

    Of an assertion it is what the test says itself: pytest adds the values.
    """
    if failure.waits:
        return "\n".join(sorted(map(str, failure.waits)))
    message = without_addresses(failure.message)
    if failure.kind != "assertion":
        return message
    said = message.partition("\n")[0].removeprefix("AssertionError").removeprefix(": ")
    return "" if said.startswith("assert ") else said


def _hashed(text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


# Prints of steps


def _stretch(length: int) -> int:
    """Return how many steps of a schedule share one print."""
    return -(-length // _PRINTS) or 1


def _prints(trace: Trace | None, length: int) -> bytes:
    """Return a byte per stretch of `length` steps, for everything up to the stretch's last step."""
    stretch = _stretch(length)
    found = bytearray()
    sum_so_far = 0
    for index, said in enumerate(itertools.islice(_deeds(trace), length)):
        sum_so_far = zlib.crc32(said.encode("utf-8", "surrogatepass"), sum_so_far)
        if (index + 1) % stretch == 0 or index + 1 == length:
            found.append(sum_so_far & 0xFF)
    return bytes(found)


def _deeds(trace: Trace | None) -> Iterator[str]:
    """Yield what each step does, in names that mean the same in each run and on each Python."""
    if trace is None:
        return
    processes = trace.vocabulary.process_names
    locations = trace.vocabulary.location_names
    for process, codes in zip(trace.processes, trace.codes, strict=True):
        words = [processes[process]]
        for access in codes:
            mode = mode_of(access)
            if mode not in _NO_ACCESS:
                names = processes if mode in (Mode.SPAWN, Mode.JOIN) else locations
                # Whether a write looks at what was there is no matter of the schedule.
                name = Mode.WRITE.name if mode is Mode.STORE else mode.name
                words.append(f"{name} {names[location_of(access)]}")
        yield "\n".join(words)


# Writing


def write_token(recipe: Recipe) -> str:
    """Return the token that says what a recipe says."""
    flags = _KINDS.index(recipe.kind) | _GRANULARITIES.index(recipe.granularity) << 3
    body = bytearray()
    if options := _options_as_text(recipe):
        flags |= _HAS_OPTIONS
        _write_text(body, options)
    names = _names_in(recipe.schedule)
    _write_number(body, len(names))
    for at, name in enumerate(names):
        _write_name(body, name, names[:at])
    runs = [
        (names.index(name), len(list(steps))) for name, steps in itertools.groupby(recipe.schedule)
    ]
    _write_number(body, len(runs))
    for process, count in runs:
        _write_number(body, process + len(names) * (count - 1))
    body += recipe.prints
    content = bytes(body)
    packed = zlib.compress(content, 9)
    if len(packed) < len(content):
        flags, content = flags | _IS_PACKED, packed
    content = bytes([flags]) + recipe.digest + content
    checked = zlib.crc32(content).to_bytes(_CHECKSUM, "big") + content
    return f"t{_VERSION}_{base64.urlsafe_b64encode(checked).decode().rstrip('=')}"


def _options_as_text(recipe: Recipe) -> str:
    """Return what a replay needs besides the granularity, which has its own place."""
    said = {"knowledge": recipe.schedule.knowledge, **recipe.options}
    said = {name: value for name, value in said.items() if value != () and name != "granularity"}
    return json.dumps(said, separators=(",", ":"), sort_keys=True) if said else ""


def _names_in(schedule: Schedule) -> list[str]:
    """Return the names that a schedule needs, each after the one that it is a child of."""
    names: dict[str, None] = {}
    for name in dict.fromkeys(schedule):
        parts = name.split(".")
        if _is_path(name):
            names.update((".".join(parts[:upto]), None) for upto in range(1, len(parts)))
        names[name] = None
    return list(names)


def _is_path(name: str) -> bool:
    """Tell whether a name is `main`, or `main.` and numbers written in the usual way."""
    first, *numbers = name.split(".")
    return first == "main" and all(_is_number(number) for number in numbers)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and str(int(text)) == text


def _write_name(body: bytearray, name: str, earlier: Sequence[str]) -> None:
    if not _is_path(name):
        _write_number(body, _LITERAL)
        _write_text(body, name)
    elif name == "main":
        _write_number(body, _MAIN)
    else:
        parent, _, number = name.rpartition(".")
        _write_number(body, _CHILD + earlier.index(parent))
        _write_number(body, int(number))


def _write_text(body: bytearray, text: str) -> None:
    encoded = text.encode("utf-8", "surrogatepass")
    _write_number(body, len(encoded))
    body += encoded


def _write_number(body: bytearray, number: int) -> None:
    """Write a number, seven bits per byte, the lowest first."""
    while number > 0x7F:
        body.append(number & 0x7F | 0x80)
        number >>= 7
    body.append(number)


# Reading


def read_token(text: str) -> Recipe:
    """Read what `token_of` wrote; raise a `TreadleError` that says what is wrong with it.

    >>> str(read_token("t1_iMFYWgDe904CAAFwAAFxAgAB").schedule)
    'p q'
    """
    content = _checked(text.strip())
    flags, digest, content = content[0], content[1 : 1 + _DIGEST], content[1 + _DIGEST :]
    try:
        if flags & _IS_PACKED:
            content = zlib.decompress(content)
        return _recipe(flags, digest, _Reader(content))
    except (zlib.error, IndexError, ValueError, AttributeError) as error:
        raise TreadleError(f"cannot read this token, although it is whole: {error}") from error


def _checked(text: str) -> bytes:
    """Return the bytes of a token after its checksum."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise TreadleError(f"{text!r} is no token: one begins with t{_VERSION}_, copy it whole")
    if int(shape[1]) != _VERSION:
        raise TreadleError(
            f"this token has format {shape[1]}, and this version of Treadle reads format "
            f"{_VERSION}: replay it with the version that printed it, or explore again"
        )
    encoded = shape[2]
    try:
        checked = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except binascii.Error:
        checked = b""
    content = checked[_CHECKSUM:]
    is_whole = (
        len(content) > _DIGEST
        and zlib.crc32(content) == int.from_bytes(checked[:_CHECKSUM], "big")
        and base64.urlsafe_b64encode(checked).decode().rstrip("=") == encoded
    )
    if not is_whole:
        raise TreadleError(
            "this token is damaged, its checksum is wrong: a character was changed, or its end "
            "is missing; copy it whole"
        )
    return content


def _recipe(flags: int, digest: bytes, reader: _Reader) -> Recipe:
    granularity = _GRANULARITIES[flags >> 3 & 3]
    options: dict[str, object] = {"granularity": "gil"} if granularity == "gil" else {}
    if flags & _HAS_OPTIONS:
        for name, value in json.loads(reader.text()).items():
            options[name] = tuple(value) if isinstance(value, list) else value
    knowledge = options.pop("knowledge", ())
    assert isinstance(knowledge, tuple)
    names: list[str] = []
    for _ in range(reader.number()):
        names.append(reader.name(names))
    steps: list[str] = []
    for _ in range(reader.number()):
        count, process = divmod(reader.number(), len(names) or 1)
        if len(steps) + count >= _LONGEST:
            raise ValueError(f"it stands for more than {_LONGEST:,} steps")
        steps += [names[process]] * (count + 1)
    return Recipe(
        _KINDS[flags & 7],
        digest,
        Schedule(steps, knowledge),
        granularity,
        options,
        reader.rest(),
    )


class _Reader:
    """Takes one value after the other from bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self) -> int:
        number = shift = 0
        while True:
            byte = self._content[self._at]
            self._at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def text(self) -> str:
        end = self.number() + self._at
        if end > len(self._content):
            raise ValueError("a text is longer than the token")
        text = self._content[self._at : end].decode("utf-8", "surrogatepass")
        self._at = end
        return text

    def name(self, earlier: Sequence[str]) -> str:
        way = self.number()
        if way == _LITERAL:
            return self.text()
        if way == _MAIN:
            return "main"
        return f"{earlier[way - _CHILD]}.{self.number()}"

    def rest(self) -> bytes:
        return self._content[self._at :]
