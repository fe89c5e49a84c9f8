"""Two front ends that use one name for options with other values, and one that both mean alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

import click
import pytest

import treadle
from counter_machine import Machine, MachineProgram, Machines
from treadle.cli.options import given, takes
from treadle.core.options import COUNT, COUNT_OR_NONE, FLAG, Either, OneOf, Option, declared_in
from treadle.plugin.session import PytestSession
from treadle.session.front_ends import FRONT_ENDS
from treadle.session.options import everything, running
from treadle.session.settings import Settings, project_of


class RedOptions(TypedDict, total=False):
    rank: Annotated[str, Option(OneOf(["fifo", "lifo"]), "fifo", "Who comes first.")]
    loud: Annotated[bool, Option(FLAG, False, "Say more.")]
    limit: Annotated[int, Option(COUNT, 2, "How many.")]


class BlueOptions(TypedDict, total=False):
    rank: Annotated[int, Option(COUNT, 9, "How many stand in rank.")]
    loud: Annotated[bool, Option(FLAG, True, "Say more.")]
    limit: Annotated[int | None, Option(COUNT_OR_NONE, None, "How many.")]


class Red(Machine):
    pass


class Blue(Machine):
    pass


class RedProgram(MachineProgram):
    front_end = "red"
    given: Mapping[str, Any]

    @property
    def options(self) -> dict[str, object]:
        return {"rank": self.given["rank"]}


class BlueProgram(RedProgram):
    front_end = "blue"


class Reds(Machines):
    name, targets = "red", "a red machine"
    options = declared_in(RedOptions)
    machine: type[Machine] = Red
    program: type[RedProgram] = RedProgram

    def recognises(self, target: object) -> bool:
        return isinstance(target, self.machine)

    @contextmanager
    def opened(self, target: Machine, options: Mapping[str, Any]) -> Iterator[RedProgram]:
        program = self.program(target, 0)
        program.given = options
        OPENED.append(dict(options))
        yield program


class Blues(Reds):
    name, targets = "blue", "a blue machine"
    options = declared_in(BlueOptions)
    machine, program = Blue, BlueProgram


OPENED: list[dict[str, Any]] = []
"""What programs were opened with."""
RACE = {"counters": "a", "processes": {"p": "a+ a+", "q": "a+ a=1"}}
RED, BLUE = Red(**RACE), Blue(**RACE)  # type: ignore[arg-type]

explore: Callable[..., treadle.Result] = treadle.explore
replay: Callable[..., treadle.Failure | None] = treadle.replay


@pytest.fixture(autouse=True)
def both() -> Iterator[None]:
    OPENED.clear()
    for front_end in (Reds(), Blues()):
        FRONT_ENDS.add(front_end.name, front_end)
    try:
        yield
    finally:
        for name in ("red", "blue"):
            FRONT_ENDS.remove(name)


def test_what_is_known_of_the_names() -> None:
    rank, loud, limit = (running()[name] for name in ("rank", "loud", "limit"))
    assert isinstance(rank.values, Either)
    assert rank.values.in_words == "one of fifo, lifo, or a whole number above 0"
    assert loud.values is FLAG
    assert isinstance(limit.values, Either)
    assert {"rank", "loud", "limit"} <= everything().keys()


def test_each_has_its_own_defaults() -> None:
    explore(RED)
    explore(BLUE)
    assert OPENED == [
        {"rank": "fifo", "loud": False, "limit": 2},
        {"rank": 9, "loud": True, "limit": None},
    ]


def test_each_takes_its_own_values() -> None:
    explore(RED, rank="lifo", loud=True, limit=3)
    explore(BLUE, rank=4, loud=False, limit=None)
    assert OPENED == [
        {"rank": "lifo", "loud": True, "limit": 3},
        {"rank": 4, "loud": False, "limit": None},
    ]


@pytest.mark.parametrize(
    ("machine", "options", "message"),
    [
        (RED, {"rank": 4}, "unknown rank 4: choose one of fifo, lifo"),
        (BLUE, {"rank": "fifo"}, "rank must be a whole number above 0, not 'fifo'"),
        (RED, {"limit": None}, "limit must be a whole number above 0, not None"),
        (RED, {"rank": 0}, "rank must be one of fifo, lifo, or a whole number above 0, not 0"),
        (BLUE, {"loud": 1}, "loud must be true or false, not 1"),
    ],
)
def test_what_is_the_others_is_refused_of_a_test(
    machine: Machine, options: dict[str, object], message: str
) -> None:
    with pytest.raises(treadle.TreadleError) as caught:
        explore(machine, **options)
    assert str(caught.value) == message
    if None not in options.values():  # which leaves it to the token
        with pytest.raises(treadle.TreadleError) as caught:
            replay(machine, "p", **options)
        assert str(caught.value) == message
    assert OPENED == []


def test_what_a_project_sets_for_one_leaves_the_other_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.treadle]\nrank = "lifo"\nloud = true\n')
    settings = project_of(tmp_path).settings()
    assert settings.taken_by(Reds()) == {"rank": "lifo", "loud": True, "limit": 2}
    assert settings.taken_by(Blues()) == {"rank": 9, "loud": True, "limit": None}
    asked = settings.changed({"rank": 5}, for_this_test=True)
    assert asked.taken_by(Blues())["rank"] == 5
    with pytest.raises(treadle.TreadleError, match="unknown rank 5: choose one of fifo, lifo"):
        asked.taken_by(Reds())


def test_what_neither_admits_is_refused_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.treadle]\nrank = "best"\n')
    with pytest.raises(treadle.TreadleError, match="rank must be one of fifo, lifo, or a whole"):
        project_of(tmp_path).settings()


def test_who_takes_an_option_is_named_by_those_who_do_not() -> None:
    with pytest.raises(treadle.TreadleError) as caught:
        explore(treadle.model.Program(), rank=4)
    assert str(caught.value) == (
        "rank is for a red machine or a blue machine, and this is a treadle.model.Program: "
        "leave rank out"
    )


@pytest.mark.parametrize(("machine", "rank"), [(RED, "lifo"), (BLUE, 4)])
def test_tokens_know_which_of_the_two_it_was(machine: Machine, rank: object) -> None:
    (failure,) = explore(machine, rank=rank).failures
    again = replay(machine, failure.token)
    assert again is not None
    assert (again.token, again.options) == (failure.token, {"rank": rank})
    assert OPENED[-1]["rank"] == rank


def test_a_token_of_the_other_front_end_is_refused() -> None:
    (failure,) = explore(RED, rank="lifo").failures
    with pytest.raises(treadle.TreadleError, match="rank must be a whole number above 0, not"):
        replay(BLUE, failure.token)


# Entrances


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--rank", "lifo"], {"rank": "lifo"}),
        (["--rank", "4"], {"rank": 4}),
        (["--limit", "none", "--loud"], {"limit": False, "loud": True}),
        (["--limit", "3"], {"limit": 3}),
        (["--rank", "best"], {"rank": "best"}),
        ([], {}),
    ],
)
def test_on_a_command_line(arguments: list[str], found: dict[str, object]) -> None:
    seen: list[dict[str, object]] = []

    @click.command()
    @takes(*running().values())
    def command(**options: Any) -> None:
        seen.append(given(options))

    command(arguments, standalone_mode=False)
    assert seen == [found]


@pytest.mark.parametrize(
    ("argument", "name", "value"),
    [
        ("--treadle-rank=4", "rank", 4),
        ("--treadle-rank=lifo", "rank", "lifo"),
        ("--treadle-limit=none", "limit", None),
        ("--treadle-limit=3", "limit", 3),
        ("--treadle-loud", "loud", True),
        ("--treadle-no-loud", "loud", False),
    ],
)
def test_on_the_command_line_of_pytest(
    argument: str, name: str, value: object, pytester: pytest.Pytester
) -> None:
    settings = PytestSession(pytester.parseconfig(argument))._settings({})
    assert getattr(settings, name) == value


def test_mistakes_on_the_command_line_of_pytest(pytester: pytest.Pytester) -> None:
    with pytest.raises(treadle.TreadleError) as caught:
        PytestSession(pytester.parseconfig("--treadle-rank=best"))
    assert str(caught.value) == (
        "the command line: rank must be one of fifo, lifo, or a whole number above 0, not 'best'"
    )


def test_settings_of_before_they_were_added() -> None:
    settings = Settings()
    FRONT_ENDS.remove("blue")
    try:
        assert settings.rank == "fifo"
        assert settings.changed({"loud": True}).loud is True
    finally:
        FRONT_ENDS.add("blue", Blues())
