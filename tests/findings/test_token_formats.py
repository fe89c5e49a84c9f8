"""Tokens of both formats: what they hold, what they refuse, and that old ones still work."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle
from racy_model import racy
from treadle.core.failure import KINDS, Failure
from treadle.core.schedule import Schedule
from treadle.findings.database import Database
from treadle.findings.token_bytes import Reader, Writer, names_in
from treadle.findings.tokens import Recipe, digest_of, is_token, read_token, write_token
from treadle.session.memory import REPLAYED, Memory
from treadle.session.recipes import differing_options, options_of
from treadle.session.session import opened
from treadle.session.settings import Settings

OF_RACY = "t1_dp3b5QDifVkDAAFwAAFxAAVjaGVjawQABAAFmlB_uxGi"
"""What the first version printed for `racy`."""

# Bytes


@given(numbers=st.lists(st.integers(0, 2**70)), texts=st.lists(st.text()))
def test_numbers_and_texts_are_read_back(numbers: list[int], texts: list[str]) -> None:
    writer = Writer()
    for number in numbers:
        writer.number(number)
    for text in texts:
        writer.text(text)
    reader = Reader(bytes(writer.content) + b"rest")
    assert [reader.number() for _ in numbers] == numbers
    assert [reader.text() for _ in texts] == texts
    assert reader.rest() == b"rest"


@pytest.mark.parametrize(
    ("number", "content"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), (2**14, b"\x80\x80\x01")],
)
def test_seven_bits_per_byte(number: int, content: bytes) -> None:
    writer = Writer()
    writer.number(number)
    assert bytes(writer.content) == content


@given(words=st.lists(st.sampled_from(["a", "b", "", "other", "ü\udc80"])))
def test_words_are_places_in_a_list_or_written_out(words: list[str]) -> None:
    known = ["", "a", "b"]
    writer = Writer()
    for word in words:
        writer.word(word, known)
    reader = Reader(bytes(writer.content))
    assert [reader.word(known) for _ in words] == words
    assert [reader.rest()] == [b""]


@pytest.mark.parametrize(
    ("processes", "names"),
    [
        ([], []),
        (["q", "p", "q"], ["q", "p"]),
        (["main.2.1"], ["main", "main.2", "main.2.1"]),
        (["main.1", "main"], ["main", "main.1"]),
        (["main.01", "main.x", "main."], ["main.01", "main.x", "main."]),
        (["p.1"], ["p.1"]),
    ],
)
def test_names_come_after_their_parents(processes: list[str], names: list[str]) -> None:
    assert names_in(processes) == names


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("main", b"\x01"),
        ("main.300", b"\x02\xac\x02"),
        ("main.7.1", b"\x03\x01"),
        ("main.01", b"\x00\x07main.01"),
        ("p", b"\x00\x01p"),
        ("", b"\x00\x00"),
    ],
)
def test_names_of_threads_are_numbers(name: str, content: bytes) -> None:
    writer = Writer()
    writer.name(name, ["main", "main.7"])
    assert bytes(writer.content) == content
    assert Reader(content).name(["main", "main.7"]) == name


# Format 1


def whole(content: bytes, version: int) -> str:
    """Return a token with a right checksum."""
    checked = zlib.crc32(content).to_bytes(4, "big") + content
    return f"t{version}_" + base64.urlsafe_b64encode(checked).decode().rstrip("=")


def in_format_1(recipe: Recipe, *, packed: bool = False) -> str:
    """Write a token as the first version did."""
    options = {name: value for name, value in recipe.options.items() if name != "granularity"}
    if recipe.schedule.knowledge:
        options["knowledge"] = recipe.schedule.knowledge
    flags = KINDS.index(recipe.kind) | ("", "access", "gil").index(recipe.granularity) << 3
    writer = Writer()
    if options:
        flags |= 0x20
        writer.text(json.dumps(options))
    names = names_in(recipe.schedule)
    writer.number(len(names))
    for at, name in enumerate(names):
        writer.name(name, names[:at])
    writer.number(len(recipe.schedule))
    for process in recipe.schedule:
        writer.number(names.index(process))
    content = bytes(writer.content) + recipe.prints
    if packed:
        flags, content = flags | 0x40, zlib.compress(content)
    return whole(bytes([flags]) + recipe.digest + content, 1)


processes = st.sampled_from(["p", "q", "main", "main.1", "main.2.3", "ü b"])


@st.composite
def old_recipes(draw: Any) -> Recipe:
    """Draw what the first version could say."""
    granularity = draw(st.sampled_from(["", "access", "gil"]))
    options = {"granularity": "gil"} if granularity == "gil" else {}
    return Recipe(
        draw(st.sampled_from(KINDS)),
        draw(st.binary(min_size=3, max_size=3)),
        Schedule(draw(st.lists(processes)), draw(st.lists(st.text(max_size=3), max_size=2))),
        granularity,
        options | draw(st.sampled_from([{}, {"races": True}, {"instrument": ("a", "b")}])),
        draw(st.binary(max_size=5)),
        "threads" if granularity else "model",
    )


@given(recipe=old_recipes(), packed=st.booleans())
def test_both_formats_say_the_same(recipe: Recipe, packed: bool) -> None:
    old, new = read_token(in_format_1(recipe, packed=packed)), read_token(write_token(recipe))
    assert old == new == recipe
    assert old.schedule.knowledge == new.schedule.knowledge == recipe.schedule.knowledge
    assert write_token(old).startswith("t2_")


def test_an_old_token_replays() -> None:
    failure = treadle.replay(racy(), OF_RACY)
    assert failure is not None
    assert read_token(OF_RACY).expects(failure)
    assert failure.token == write_token(read_token(OF_RACY))


def test_an_old_token_in_the_database_is_tried_and_shown(tmp_path: Path) -> None:
    memory = Memory(Database(tmp_path), "a test")
    assert memory.is_empty
    memory.database.save("a test", OF_RACY)
    with opened(racy(), Settings()) as session:
        result = memory.result_of(session)
    assert result is not None
    assert (result.notes, result.stopped_by) == ([REPLAYED], "a failure of an earlier run")
    (failure,) = result.failures
    assert (result.events, result.replayed, result.executions) == (6, 6, 0)
    assert failure.cause is not None
    assert failure.token.startswith("t2_")
    assert memory.database.load("a test") == [OF_RACY], "it shows the same failure: it stays"


def test_an_old_token_of_what_is_mended_is_forgotten(tmp_path: Path) -> None:
    memory = Memory(Database(tmp_path), "a test")
    memory.database.save("a test", OF_RACY)
    program = treadle.model.Program(x=0)
    program.process(lambda s: (yield), name="p")  # noqa: ARG005
    with opened(program, Settings()) as session:
        assert memory.result_of(session) is None
    assert memory.is_empty


@pytest.mark.usefixtures("workplace")
def test_an_old_entry_on_the_command_line(command_line: Callable[..., Any]) -> None:
    Path("m.py").write_text("from racy_model import racy\nprogram = racy()\n")
    Database(".treadle").save("m.py::program", OF_RACY)
    status, out, _ = command_line("run", "m.py::program")
    assert status == 1
    assert REPLAYED in out
    status, out, _ = command_line("replay", "m.py::program", OF_RACY, "--json")
    assert (status, json.loads(out)["is_same"]) == (1, True)


# Format 2 has room

words = st.text(max_size=8)


@given(
    recipe=st.builds(
        Recipe,
        words,
        st.binary(min_size=3, max_size=3),
        st.builds(Schedule, st.lists(words)),
        words,
        st.dictionaries(
            words.filter(lambda name: name != "knowledge"),
            st.none()
            | st.booleans()
            | st.integers()
            | words
            | st.lists(words, min_size=1).map(tuple),
        ),
        st.binary(max_size=3),
        words,
    )
)
def test_kinds_front_ends_granularities_and_options_of_tomorrow(recipe: Recipe) -> None:
    assert read_token(write_token(recipe)) == recipe


def test_a_token_of_a_front_end_that_is_not_there() -> None:
    (failure,) = treadle.explore(racy()).failures
    recipe = Recipe("assertion", digest_of(failure), failure.schedule, front_end="actors")
    with pytest.raises(treadle.ScheduleMismatch, match="recorded with a actors, and this program"):
        treadle.replay(racy(), write_token(recipe))
    with opened(racy(), Settings()) as session:
        assert differing_options(session.program, read_token(failure.token)) == ""


def test_a_token_of_a_kind_that_is_not_known_expects_something_else() -> None:
    (failure,) = treadle.explore(racy()).failures
    recipe = Recipe("quiet", digest_of(failure), failure.schedule, front_end="model")
    with opened(racy(), Settings()) as session:
        replayed = session.rerun(read_token(write_token(recipe)))
    assert replayed.failure is not None
    assert replayed.is_same is False
    assert str(replayed) == "This is not the recorded failure."


def test_a_token_with_options_that_are_not_there() -> None:
    recipe = Recipe("assertion", b"abc", Schedule(["main"]), "access", {"speed": 3}, b"", "threads")
    with pytest.raises(treadle.TreadleError, match="unknown setting 'speed'"):
        treadle.replay(lambda: None, write_token(recipe))


def test_options_beside_a_token() -> None:
    recipe = Recipe("assertion", b"abc", Schedule(), "gil", {"granularity": "gil"}, b"", "threads")
    assert options_of(recipe) == {"granularity": "gil"}
    assert options_of(recipe, granularity="gil", watchdog=3, races=None) == {"granularity": "gil"}
    message = r"^granularity='access' is not what the token was recorded with \('gil'\): leave it"
    with pytest.raises(treadle.TreadleError, match=message):
        options_of(recipe, granularity="access")
    with pytest.raises(treadle.TreadleError, match=r"^races=True is not what .* \(False\)"):
        options_of(recipe, races=True)


# Nonsense


def body(options: str) -> bytes:
    """Return what follows the digest in format 2."""
    writer = Writer()
    for word in ("model", "assertion", ""):
        writer.word(word, ())
    writer.text(options)
    writer.number(0)
    writer.number(0)
    return bytes(writer.content)


@pytest.mark.parametrize(
    "options", ["[]", "3", "{", '{"knowledge": 3}', '{"knowledge": {"a": 1}}', '"text"']
)
def test_options_that_are_none(options: str) -> None:
    assert read_token(whole(b"\0abc" + body(""), 2)).kind == "assertion"
    with pytest.raises(treadle.TreadleError, match="cannot read this token, although it is whole"):
        read_token(whole(b"\0abc" + body(options), 2))


@pytest.mark.parametrize("options", ["[]", "3", "[1]"])
def test_options_that_are_none_in_format_1(options: str) -> None:
    text = bytes([len(options)]) + options.encode()
    with pytest.raises(treadle.TreadleError, match="cannot read this token"):
        read_token(whole(bytes([0x20 | 2 << 3]) + b"abc" + text + b"\0\0", 1))


@pytest.mark.parametrize(
    "text", ["t" + "9" * 5000 + "_AAAA", "t_AAAA", "t2-AAAA", "t2_AA AA", "t2_é"]
)
def test_what_does_not_look_like_a_token(text: str) -> None:
    assert not is_token(text)
    with pytest.raises(treadle.TreadleError, match="is no token: one begins with t2_"):
        read_token(text)


@pytest.mark.parametrize("version", [0, 3, 999_999_999])
def test_formats_of_other_versions(version: int) -> None:
    assert is_token(f"t{version}_AAAA")
    with pytest.raises(treadle.TreadleError, match=f"this token has format {version}, and this"):
        read_token(f"t{version}_AAAA")


def test_a_token_of_another_version_is_dropped_from_the_database(tmp_path: Path) -> None:
    memory = Memory(Database(tmp_path), "a test")
    for token in ("t3_AAAA", "t2_damaged", "nonsense"):
        memory.database.save("a test", token)
    with opened(racy(), Settings()) as session:
        assert memory.failure_of(session) is None
    assert memory.is_empty


def test_only_what_a_schedule_shows_again_is_kept(tmp_path: Path) -> None:
    memory = Memory(Database(tmp_path), "a test")
    assert memory.keep(Failure("budget", "no end", Schedule(["p"]), 1, token="t2_x"))
    assert memory.keep(Failure("assertion", "never again", Schedule(["p"]), 0, token="t2_y"))
    assert memory.is_empty, "the second has no trace: it could not be repeated"
    assert memory.keep(Failure("exception", "at once", Schedule(), 0, token="t2_z"))
    assert memory.database.load("a test") == ["t2_z"]


EXAMPLE = """
    import threading
    def fails():
        thread = threading.Thread(target=print)
        thread.start()
        thread.join()
        raise ValueError("always")
"""


def test_what_races_found_waits_for_an_exploration_with_races(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(dedent(EXAMPLE), names)
    memory = Memory(Database(tmp_path), "a test")
    recipe = Recipe("race", b"abc", Schedule(["main"]), "access", {"races": True}, b"", "threads")
    memory.database.save("a test", write_token(recipe))
    with opened(names["fails"], Settings()) as session:
        assert memory.failure_of(session) is None
    assert not memory.is_empty
    with opened(names["fails"], Settings().changed({"races": True})) as session:
        assert memory.failure_of(session) is None
    assert memory.is_empty, "asked for, and gone"
