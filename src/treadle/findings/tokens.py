"""A failing schedule as one short word, to paste into a command.

`t2_` (the version of the format) and, in url-safe base64, these bytes:

    checksum    4 bytes, of all that follows; the next byte says whether the rest is packed
    digest      3 bytes, of the kind and the message of the failure
    words       the front end, the kind, the granularity: places in a list, or written out
    options     what else a replay needs, and what the program had learned, if anything
    names       of the processes; those of threads are numbers: `main.2` is child 2 of main
    runs        process and number of steps in a row, together one number
    prints      a byte each for some or all steps: what was done up to and including it

Format 1, which had room for two front ends only, is still read.

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
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from treadle.core.errors import TreadleError
from treadle.core.events import Mode, location_of, mode_of
from treadle.core.failure import KINDS, Failure, without_addresses
from treadle.core.happens_before import Trace
from treadle.core.schedule import Schedule
from treadle.findings.token_bytes import Reader, Writer, names_in

_SHAPE = re.compile(r"t(\d{1,9})_([A-Za-z0-9_-]*)")
_VERSION = 2
_WORDS = ("", "model", "threads", "access", "gil", *KINDS)
"""Words that tokens abbreviate. Add at the end only: old tokens count places."""
_KINDS_OF_FORMAT_1 = KINDS
_HAS_OPTIONS_IN_FORMAT_1, _IS_PACKED = 0x20, 0x40
_CHECKSUM = 4
_DIGEST = 3
_PRINTS = 32
"""Most prints that a token holds; they are spread over longer schedules."""
_LONGEST = 10_000_000
"""Steps that a token may stand for."""
_NO_ACCESS = frozenset({Mode.WATCH, Mode.OPEN, Mode.SWAP, Mode.STORED, Mode.BLOCK})


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a token says: how to run a failing interleaving again, and what it should show."""

    kind: str
    digest: bytes
    """Of the failure, see `digest_of`."""
    schedule: Schedule
    granularity: str = ""
    options: dict[str, object] = field(default_factory=dict)
    """As in `Failure.options`."""
    prints: bytes = b""
    """One for each stretch of steps: what was done up to its end."""
    front_end: str = ""
    """The name of the front end."""

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

    >>> is_token("t2_5f4w"), is_token("p*2 q")
    (True, False)
    """
    return _SHAPE.fullmatch(text.strip()) is not None


def token_of(failure: Failure, trace: Trace | None = None, front_end: str = "") -> str:
    """Return the token of a failure; `trace` is what its schedule did, if that is known.

    >>> token_of(Failure("assertion", "x is 1", Schedule(["p", "q"]), 1), front_end="model")
    't2_6zeYDADe904CBgEAAgABcAABcQIAAQ'
    """
    schedule = failure.schedule.upto(failure.step + 1)
    return write_token(
        Recipe(
            failure.kind,
            digest_of(failure),
            schedule,
            failure.granularity,
            failure.options,
            _prints(trace, len(schedule)),
            front_end,
        )
    )


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
    writer = Writer()
    for word in (recipe.front_end, recipe.kind, recipe.granularity):
        writer.word(word, _WORDS)
    writer.text(_options_as_text(recipe))
    names = names_in(recipe.schedule)
    writer.number(len(names))
    for at, name in enumerate(names):
        writer.name(name, names[:at])
    runs = [
        (names.index(name), len(list(steps))) for name, steps in itertools.groupby(recipe.schedule)
    ]
    writer.number(len(runs))
    for process, count in runs:
        writer.number(process + len(names) * (count - 1))
    content = bytes(writer.content) + recipe.prints
    packed = zlib.compress(content, 9)
    flags = 0
    if len(packed) < len(content):
        flags, content = _IS_PACKED, packed
    content = bytes([flags]) + recipe.digest + content
    checked = zlib.crc32(content).to_bytes(_CHECKSUM, "big") + content
    return f"t{_VERSION}_{base64.urlsafe_b64encode(checked).decode().rstrip('=')}"


def _options_as_text(recipe: Recipe) -> str:
    said = {"knowledge": recipe.schedule.knowledge, **recipe.options}
    said = {name: value for name, value in said.items() if value != ()}
    return json.dumps(said, separators=(",", ":"), sort_keys=True) if said else ""


# Reading


def read_token(text: str) -> Recipe:
    """Read what `token_of` wrote; raise a `TreadleError` that says what is wrong with it.

    >>> str(read_token("t2_6zeYDADe904CBgEAAgABcAABcQIAAQ").schedule)
    'p q'
    """
    version, content = _checked(text.strip())
    flags, digest, content = content[0], content[1 : 1 + _DIGEST], content[1 + _DIGEST :]
    try:
        if flags & _IS_PACKED:
            content = zlib.decompress(content)
        reader = Reader(content)
        head = _head(reader) if version > 1 else _head_of_format_1(flags, reader)
        return _recipe(head, digest, reader)
    except (zlib.error, IndexError, ValueError, AttributeError, TypeError) as error:
        raise TreadleError(f"cannot read this token, although it is whole: {error}") from error


def _checked(text: str) -> tuple[int, bytes]:
    """Return the format of a token, and its bytes after the checksum."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise TreadleError(f"{text!r} is no token: one begins with t{_VERSION}_, copy it whole")
    version = int(shape[1])
    if not 1 <= version <= _VERSION:
        raise TreadleError(
            f"this token has format {version}, and this version of Treadle reads formats up to "
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
    return version, content


class _Head(NamedTuple):
    """What a token says before the schedule."""

    front_end: str
    kind: str
    granularity: str
    options: str


def _head(reader: Reader) -> _Head:
    front_end, kind, granularity = (reader.word(_WORDS) for _ in range(3))
    return _Head(front_end, kind, granularity, reader.text())


def _head_of_format_1(flags: int, reader: Reader) -> _Head:
    """Read what format 1 had in eight bits: 3 for the kind, 2 for the granularity."""
    kind = _KINDS_OF_FORMAT_1[flags & 7]
    granularity = ("", "access", "gil")[flags >> 3 & 3]
    said = json.loads(reader.text()) if flags & _HAS_OPTIONS_IN_FORMAT_1 else {}
    if granularity == "gil":
        said["granularity"] = granularity
    options = json.dumps(said) if said else ""
    return _Head("threads" if granularity else "model", kind, granularity, options)


def _recipe(head: _Head, digest: bytes, reader: Reader) -> Recipe:
    options: dict[str, object] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in json.loads(head.options or "{}").items()
    }
    knowledge = options.pop("knowledge", ())
    if not isinstance(knowledge, tuple):
        raise ValueError("what the program had learned is no list")
    return Recipe(
        head.kind,
        digest,
        Schedule(_steps(reader), knowledge),
        head.granularity,
        options,
        reader.rest(),
        head.front_end,
    )


def _steps(reader: Reader) -> list[str]:
    """Read the names, and who took how many steps in a row."""
    names: list[str] = []
    for _ in range(reader.number()):
        names.append(reader.name(names))
    steps: list[str] = []
    for _ in range(reader.number()):
        count, process = divmod(reader.number(), len(names) or 1)
        if len(steps) + count >= _LONGEST:
            raise ValueError(f"it stands for more than {_LONGEST:,} steps")
        steps += [names[process]] * (count + 1)
    return steps
