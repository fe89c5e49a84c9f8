"""Explorations on disk: they go on where they were, and only they."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.papers import jacm17
from treadle.session.workers import checkpoint, spaces
from treadle.session.workers.coordinator import State
from treadle.session.workers.parts import Part, Ran
from treadle.session.workers.taken import Taken
from worker_programs import adding, in_threads, locked, lost_update

PROGRAM = jacm17.lastzero(9)
TEST = adding(2, 3)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept.json"


def begun(test: Any, kept: Path, **options: Any) -> treadle.Result:
    """Explore a little, with one worker, and keep what is left."""
    options = {"max_executions": 150, **options}
    result = treadle.explore(test, checkpoint=kept, split_by="executions", **options)
    assert not result.complete
    return result


def resumed(test: Any, kept: Path, **options: Any) -> treadle.Result:
    return treadle.explore(test, resume=kept, split_by="executions", **options)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("test", "executions"), [(PROGRAM, 1536), (TEST, 328)])
def test_what_is_left_is_explored(test: Any, executions: int, workers: int, kept: Path) -> None:
    first = begun(test, kept)
    assert first.executions < executions
    assert json.loads(kept.read_text())["format"] == "treadle.checkpoint/3"
    result = resumed(test, kept, workers=workers)
    assert (result.executions, result.complete) == (executions, True)
    assert result.seconds > first.seconds


def test_again_and_again(kept: Path) -> None:
    begun(PROGRAM, kept)
    for most in (400, 800, 1200):
        result = treadle.explore(
            PROGRAM, checkpoint=kept, resume=kept, max_executions=most, split_by="executions"
        )
        assert not result.complete
    assert resumed(PROGRAM, kept).executions == 1536


def test_what_is_finished_stays_so(kept: Path) -> None:
    first = treadle.explore(PROGRAM, checkpoint=kept, split_by="executions")
    again = resumed(PROGRAM, kept)
    assert first.complete
    assert again.complete
    assert again.executions == first.executions == 1536


def test_a_part_that_takes_long_is_divided(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing is kept until it is finished, and whoever goes on begins with it again."""
    looks = itertools.count()
    monkeypatch.setattr(spaces, "cpu_seconds", lambda: next(looks) / 20)
    result = treadle.explore(locked(3, 2), checkpoint=kept)
    assert (result.executions, result.complete) == (90, True)
    assert result.parts > 1
    assert json.loads(kept.read_text())["parts"] == result.parts


def test_failures_are_kept(kept: Path) -> None:
    options = {"stop_on_failure": False}
    alone = treadle.explore(lost_update, **options)
    first = treadle.explore(
        lost_update, checkpoint=kept, max_executions=20, split_by="executions", **options
    )
    assert not first.complete
    result = resumed(lost_update, kept, **options)
    assert (result.executions, result.complete) == (36, True)
    assert [f.message for f in result.failures] == [f.message for f in alone.failures]
    assert result.failures[0].exception is not None


def wide_lost_update() -> None:
    lost_update()
    adding(2, 2)()


async def ordered() -> None:
    """Fail in some of the orders of arrival."""
    order: list[int] = []

    async def wait(number: int) -> None:
        await treadle.pause()
        order.append(number)

    await asyncio.gather(*map(wait, range(4)))
    assert order[0] or order[1] == 1


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("test", "executions"), [(wide_lost_update, 234), (ordered, 24)])
def test_what_the_first_failure_left(test: Any, executions: int, workers: int, kept: Path) -> None:
    """Its part is not finished: whoever goes on explores it, too, and counts nothing twice."""
    options = {"split_by": "executions", "workers": workers}
    first = treadle.explore(test, checkpoint=kept, **options)
    assert (first.stopped_by, first.complete) == ("the first failure", False)
    assert 0 < first.executions < executions
    result = treadle.explore(test, resume=kept, stop_on_failure=False, **options)
    assert (result.executions, result.complete) == (executions, True)


def test_what_is_not_deterministic_is_left(kept: Path) -> None:
    """Nothing is verified only because somebody goes on."""
    turns = iter(range(1000))

    def test() -> None:
        box = {"n": 0}

        def add() -> None:
            box["n"] += 1
            if next(turns) % 7 == 6:
                box["n"] += 1

        in_threads(add, add)

    first = treadle.explore(test, checkpoint=kept)
    assert first.stopped_by == "nondeterminism"
    assert json.loads(kept.read_text())["pending"]


def test_samples_go_on(kept: Path) -> None:
    options = {"algorithm": "random", "max_executions": 100, "stop_on_failure": False}
    result = treadle.explore(lost_update, checkpoint=kept, **options)
    assert result.executions == 100
    again = treadle.explore(lost_update, resume=kept, **options)
    assert again.executions == 100
    assert [f.schedule for f in again.failures] == [f.schedule for f in result.failures]
    alone = treadle.explore(lost_update, **{**options, "max_executions": 250})
    more = treadle.explore(lost_update, resume=kept, **{**options, "max_executions": 250})
    assert more.executions == 250
    assert [f.schedule for f in more.failures] == [f.schedule for f in alone.failures]


@pytest.mark.parametrize(
    ("algorithm", "stop_on_failure"), [("random", False), ("pct", False), ("pct", True)]
)
def test_samples_of_which_a_search_was_killed(
    algorithm: str, stop_on_failure: bool, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever file it left: each sample counts once, and what is told is the same."""
    options: dict[str, Any] = {
        "algorithm": algorithm, "max_executions": 400, "stop_on_failure": stop_on_failure,
        "workers": 2, "split_by": "executions",
    }  # fmt: skip
    files: list[bytes] = []
    save = checkpoint.Checkpoint.save

    def keep(self: checkpoint.Checkpoint, state: State) -> None:
        save(self, state)
        files.append(kept.read_bytes())

    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
    monkeypatch.setattr(checkpoint.Checkpoint, "save", keep)
    whole = treadle.explore(rarely_failing, checkpoint=kept, **options)
    assert len(files) > 3
    assert whole.failures
    assert (whole.executions < 400) == stop_on_failure
    for content in files[1::5]:
        kept.write_bytes(content)
        result = treadle.explore(rarely_failing, resume=kept, **options)
        assert (result.executions, result.stopped_by) == (whole.executions, whole.stopped_by)
        assert [f.schedule for f in result.failures] == [f.schedule for f in whole.failures]


def rarely_failing() -> None:
    box = {"n": 0}

    def add(number: int) -> Any:
        def body() -> None:
            if box["n"] == number:
                box["n"] += 1

        return body

    in_threads(*map(add, (2, 1, 0, 3)))
    assert box["n"] < 4


# What is refused


def test_another_test(kept: Path) -> None:
    begun(PROGRAM, kept)
    with pytest.raises(
        treadle.TreadleError, match=r"is of the test lastzero\(9\), and this is adds"
    ):
        resumed(TEST, kept)


def test_other_options(kept: Path) -> None:
    begun(PROGRAM, kept)
    with pytest.raises(treadle.TreadleError, match="was made with max_steps=10000, not 500"):
        resumed(PROGRAM, kept, max_steps=500)


MODULE = """
import threading

def test_adding():
    box = {"n": 0}

    def add():
        for _ in range(3):
            box["n"] += 1

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_other_sources(
    kept: Path, tmp_path: Path, command_line: Callable[..., tuple[Any, str, str]]
) -> None:
    file = tmp_path / "adding.py"
    file.write_text(MODULE)
    run = ["run", f"{file}::test_adding", "--no-database", "--split-by", "executions"]
    status, output, _ = command_line(*run, "--checkpoint", str(kept), "--max-executions", "100")
    assert status == 3
    assert "workers     1, " in output
    file.write_text(MODULE.replace("range(3)", "range(4)"))
    status, _, errors = command_line(*run, "--resume", str(kept))
    assert status == 2
    assert "is of other sources of the test: explore anew, or undo the changes" in errors
    file.write_text(MODULE)
    status, output, _ = command_line(*run, "--resume", str(kept))
    assert status == 0
    assert "328 complete" in output


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read (No such file or directory)"),
        ("no JSON", "is no checkpoint"),
        ("[]", "is no checkpoint"),
        ('{"format": "treadle.checkpoint/9"}', "is of the format 'treadle.checkpoint/9'"),
    ],
)
def test_other_files(kept: Path, content: str | None, words: str) -> None:
    if content is not None:
        kept.write_text(content)
    with pytest.raises(treadle.TreadleError) as refused:
        resumed(PROGRAM, kept)
    assert words in str(refused.value)


def without_what_waits(content: str) -> str:
    found = json.loads(content)
    del found["pending"]
    return json.dumps(found)


def without_one_that_waits(content: str) -> str:
    found = json.loads(content)
    found["pending"].pop()
    return json.dumps(found)


@pytest.mark.parametrize(
    "damage",
    [
        without_what_waits,
        without_one_that_waits,
        lambda content: content.replace('"executions": ', '"executions": 1'),
        lambda content: content.replace('"seconds": ', '"seconds": 1'),
        lambda content: content.replace('"sources": "', '"sources": "x'),
    ],
    ids=["no list", "one missing", "a count", "seconds", "sources"],
)
def test_a_damaged_file(kept: Path, damage: Callable[[str], str]) -> None:
    """Whatever is damaged: what would be counted is not what was there."""
    begun(PROGRAM, kept)
    kept.write_text(damage(kept.read_text()))
    with pytest.raises(treadle.TreadleError) as refused:
        resumed(PROGRAM, kept)
    assert str(refused.value) == f"{kept} is damaged: explore anew"


def test_a_file_of_which_the_end_is_missing(kept: Path) -> None:
    begun(PROGRAM, kept)
    content = kept.read_bytes()
    for length in (0, 1, len(content) // 2, len(content) - 1):
        kept.write_bytes(content[:length])
        with pytest.raises(treadle.TreadleError) as refused:
            resumed(PROGRAM, kept)
        assert str(refused.value) == (
            f"{kept} is no checkpoint: give the file that checkpoint wrote"
        )


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(treadle.TreadleError, match="cannot be written: give a file"):
        treadle.explore(PROGRAM, checkpoint=tmp_path / "nowhere" / "kept.json")


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """Whoever may write in the directory of devices could lose one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(treadle.TreadleError, match="pipe' cannot be written: give a file"):
        treadle.explore(PROGRAM, checkpoint=pipe)
    assert pipe.is_fifo()


@pytest.mark.parametrize("content", ["def test(): ...\n", '{"format": "other/1"}', "{}"])
def test_a_file_of_something_else_is_not_replaced(kept: Path, content: str) -> None:
    """The test's own, say, by a slip of the hand."""
    kept.write_text(content)
    with pytest.raises(treadle.TreadleError) as refused:
        treadle.explore(PROGRAM, checkpoint=kept)
    assert str(refused.value) == (
        f"checkpoint={str(kept)!r} is a file of something else, which would be lost: give a new "
        f"name, or a file that checkpoint wrote"
    )
    assert kept.read_text() == content


@pytest.mark.parametrize("content", ["", '{"form', '{"format": "treadle.checkpoint/2", "pen'])
def test_what_was_a_checkpoint_is_replaced(kept: Path, content: str) -> None:
    """An empty file too: whoever makes a name that nobody else has makes one."""
    kept.write_text(content)
    begun(PROGRAM, kept)
    assert resumed(PROGRAM, kept).executions == 1536


def test_a_link_stays_one(kept: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(kept)
    begun(PROGRAM, link)
    assert link.is_symlink()
    assert resumed(PROGRAM, kept).executions == 1536


def test_a_full_disk(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old file stays, the exploration goes on, and a note says so."""
    begun(PROGRAM, kept)
    before = kept.read_bytes()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoint, "_write", full)
    result = treadle.explore(PROGRAM, checkpoint=kept, resume=kept, split_by="executions")
    assert (result.executions, result.complete) == (1536, True)
    (note,) = result.notes
    assert note.startswith(f"the checkpoint {kept} could not be written (No space left on device)")
    assert kept.read_bytes() == before
    assert list(kept.parent.iterdir()) == [kept]
    monkeypatch.undo()
    assert resumed(PROGRAM, kept).executions == 1536


def test_parts_of_all_sorts_are_read_as_they_were_written(tmp_path: Path) -> None:
    zone = (("", "main.1", "", 3, False), ("main.1", "", "main.2", -1, True))
    parts = [Part(range(3, 9), 0.5), Part(((), zone), 0.25), Part((), 0.25)]
    state = State()
    state.pending.extend(parts)
    state.ran["1f"] = state.ran["2e"] = Ran(("1f", "2e"), 2)
    state.samples.append(Taken(range(3), Counter(executions=3), [], "the first failure"))
    identity = checkpoint.identity_of("test", "sources", {"seed": 1})
    file = checkpoint.Checkpoint(tmp_path / "kept.json", identity)
    file.save(state)
    found = checkpoint.resumed(tmp_path / "kept.json", identity)
    assert (list(found.pending), found.samples) == (parts, state.samples)
    assert found.ran == state.ran
