"""Each declared option through each entrance: what one accepts or refuses, all do."""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import treadle
from treadle.actors import Program
from treadle.core.options import CountOr, Directory, Either, Flag, Names, Number, OneOf, Option
from treadle.plugin.session import PytestSession
from treadle.session.front_ends import FRONT_ENDS
from treadle.session.options import SURROUNDING, everything, exploring, running
from treadle.session.settings import Settings, project_of

ELSEWHERE = ("on", "checkpoint", "resume")
"""These need an engine, or a file that fits the test: tests/workers has them."""
ALL = {name: option for name, option in everything().items() if name not in ELSEWHERE}
IN_EXPLORE = [name for name in ALL if name in exploring()]
explore: Callable[..., treadle.Result] = treadle.explore


def right(option: Option) -> Any:
    """Return a value that is not the default."""
    match option.values:
        case Flag():
            return not option.default
        case Number() | CountOr():
            return 7
        case OneOf(names=names):
            return names[-1]
        case Names():
            return ("json",)
        case Directory():
            return "kept"
        case Either(different=different):
            return right(replace(option, values=different[0]))
    raise AssertionError(option)


def wrong(option: Option) -> Any:
    """Return a value that is none of the option's."""
    match option.values:
        case Flag() | OneOf() | Either() | CountOr():
            return "maybe"
        case Number(above_zero=above_zero):
            return 0 if above_zero else 1.5
        case Names():
            return "json"
    return ""


def words(option: Option, value: object, prefix: str = "--") -> list[str]:
    """Return how a value is given on a command line."""
    if isinstance(option.values, Flag):
        return [f"{prefix}{option.flag if value else option.off_flag}"]
    given = value if isinstance(value, tuple) else (value,)
    return [f"{prefix}{option.flag}={one}" for one in given]


def refusal(option: Option) -> str:
    return option.values.refusal(option.name, wrong(option))


def nothing() -> None:
    """A test without threads: one execution."""


async def waits() -> None:
    """A test with asyncio that awaits nothing: one execution."""


SILENT = Program(nothing)
"""A program of actors without actors: one execution."""


def target(name: str) -> Any:
    """Return something that an option is for."""
    if name in FRONT_ENDS["actors"].options:
        return SILENT
    is_for_tasks = name in FRONT_ENDS["tasks"].options
    return waits if is_for_tasks and name not in FRONT_ENDS["threads"].options else nothing


def beside(name: str) -> dict[str, Any]:
    """Return what an option needs besides."""
    return {"algorithm": "sleep"} if name == "early_stop" else {}


def test_right_values_differ_from_the_defaults_and_are_admitted() -> None:
    for option in ALL.values():
        assert option.read(right(option)) == right(option) != option.default
        assert option.read(option.default) == option.default
        assert option.help.endswith(".")


# `explore`, `check`, `replay`


@pytest.mark.parametrize("name", IN_EXPLORE)
def test_explore(name: str) -> None:
    assert explore(target(name), **{name: right(ALL[name]), **beside(name)}).executions >= 1
    with pytest.raises(treadle.TreadleError) as caught:
        explore(target(name), **{name: wrong(ALL[name])})
    assert str(caught.value) == refusal(ALL[name])


@pytest.mark.parametrize("name", SURROUNDING)
def test_what_is_around_an_exploration_is_not_for_explore(name: str) -> None:
    for value in (right(ALL[name]), wrong(ALL[name])):
        with pytest.raises(treadle.TreadleError, match=f"^{name} is an option of `treadle.check`"):
            explore(nothing, **{name: value})


@pytest.mark.parametrize("name", ALL)
def test_check(name: str) -> None:
    option = ALL[name]
    test = target(name)
    asked = {name: right(option), **beside(name)}
    assert treadle.check(**asked)(test)().executions >= 1  # type: ignore[call-overload]
    assert treadle.check(**{name: None})(test)().executions == 1, "as if it were left out"  # type: ignore[call-overload]
    with pytest.raises(treadle.TreadleError) as caught:
        treadle.check(**{name: wrong(option)})(test)()  # type: ignore[call-overload]
    assert str(caught.value) == refusal(option)


@pytest.mark.parametrize("name", [*sorted(set(ALL) - set(running()) - {"schedule"}), "nonsense"])
def test_replay_takes_what_decides_how_a_program_runs(name: str) -> None:
    def fails() -> None:
        raise ValueError

    (failure,) = explore(fails).failures
    for schedule in (failure.token, str(failure.schedule)):
        with pytest.raises(treadle.TreadleError, match=f"unknown setting '{name}'"):
            treadle.replay(fails, schedule, **{name: 7})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", running())
def test_replay(name: str) -> None:
    option = ALL[name]
    assert treadle.replay(target(name), "", **{name: right(option)}) is None  # type: ignore[arg-type]
    with pytest.raises(treadle.TreadleError) as caught:
        treadle.replay(target(name), "", **{name: wrong(option)})  # type: ignore[arg-type]
    assert str(caught.value) == refusal(option)


def test_the_signature_of_explore() -> None:
    signature = inspect.signature(treadle.explore)
    parameters = list(signature.parameters.values())
    first = ["test", "algorithm", "listener", "guided", "observe"]
    assert [one.name for one in parameters[: len(first)]] == first
    assert {one.name for one in parameters} == {*first, *exploring()}
    assert all(one.kind is one.KEYWORD_ONLY for one in parameters[2:])
    defaults = {one.name: one.default for one in parameters[len(first) :]}
    assert defaults == {
        name: option.default for name, option in exploring().items() if name != "algorithm"
    }
    signature.bind(nothing, "source", max_steps=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_step'"):
        signature.bind(nothing, max_step=3)


# Settings


@pytest.mark.parametrize("name", ALL)
def test_settings(name: str) -> None:
    option = ALL[name]
    changed = Settings().changed({name: right(option)})
    assert getattr(changed, name) == right(option)
    assert getattr(Settings(), name) == option.default, "the others stay as they were"
    with pytest.raises(treadle.TreadleError) as caught:
        changed.changed({name: wrong(option)}, "the mark")
    assert str(caught.value) == f"the mark: {refusal(option)}"


def test_settings_remember_what_was_asked_of_this_test() -> None:
    settings = Settings().changed({"seed": 1}).changed({"depth": 2}, for_this_test=True)
    assert settings.asked == {"depth"}
    assert settings.changed({"races": True}, for_this_test=True).asked == {"depth", "races"}


def test_settings_can_be_copied_and_sent() -> None:
    settings = Settings().changed({"seed": 5, "instrument": ["json"]}, for_this_test=True)
    for same in (
        copy.copy(settings),
        copy.deepcopy(settings),
        pickle.loads(pickle.dumps(settings)),
    ):
        assert (same.seed, same.instrument, same.asked) == (5, ("json",), settings.asked)
        assert same.max_steps == settings.max_steps
    with pytest.raises(AttributeError, match="sed"):
        _ = settings.sed


def in_toml(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize("name", ALL)
def test_a_project(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREADLE_PROFILE", raising=False)
    option, file = ALL[name], tmp_path / "pyproject.toml"
    file.write_text(f"[tool.treadle]\n{name} = {in_toml(right(option))}\n")
    assert getattr(project_of(tmp_path).settings(), name) == right(option)
    file.write_text(f"[tool.treadle.profiles.ci]\n{name} = {in_toml(wrong(option))}\n")
    with pytest.raises(treadle.TreadleError) as caught:
        project_of(tmp_path)
    assert str(caught.value) == f"{file}: [tool.treadle.profiles.ci]: {refusal(option)}"


# `treadle run`

FILE = """
    import treadle, treadle.actors
    def nothing(): pass
    async def waits(): pass
    silent = treadle.actors.Program(nothing)
    @treadle.check(granularity="gil")
    def asks(): return treadle.model.Program()
    model = treadle.model.Program()
    model.process(lambda s: (yield), name="p")
"""


@pytest.fixture
def file(workplace: Path) -> Path:
    (workplace / "f.py").write_text(dedent(FILE))
    return workplace


def on_run(name: str) -> list[str]:
    """Return something that an option is for on the command line, and what it needs besides."""
    if name not in FRONT_ENDS["actors"].options:
        return ["f.py::waits" if target(name) is waits else "f.py::nothing"]
    return ["f.py::silent", *(f"--{key}={value}" for key, value in beside(name).items())]


ON_RUN = [name for name in ALL if name != "strict"]
"""A status of its own says that the space was not covered."""


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize("name", ON_RUN)
def test_run(name: str, command_line: Callable[..., Any]) -> None:
    option = ALL[name]
    status, out, error = command_line("run", *on_run(name), "-q", *words(option, right(option)))
    assert (status, error) == (3 if name == "algorithm" else 0, "")  # the last one only samples
    assert on_run(name)[0] in out


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize("name", [n for n in ON_RUN if not isinstance(ALL[n].values, Flag | Names)])
def test_mistakes_of_run(name: str, command_line: Callable[..., Any]) -> None:
    given = words(ALL[name], wrong(ALL[name]))
    status, out, error = command_line("run", "f.py::nothing", *given)
    assert (status, out) == (2, "")
    assert error.startswith("treadle: error: ")
    assert error.count("\n") == 1
    assert name in error or ALL[name].flag in error


@pytest.mark.parametrize("name", [n for n in ON_RUN if isinstance(ALL[n].values, Flag)])
def test_a_flag_can_be_switched_off_and_on_whatever_the_project_says(
    name: str, file: Path, command_line: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    module = importlib.import_module("treadle.cli.run")
    settings_for = module.settings_for

    def looked_at(*arguments: Any) -> Settings:
        seen.append(getattr(settings := settings_for(*arguments), name))
        return settings

    monkeypatch.setattr(module, "settings_for", looked_at)
    for project in ("true", "false"):
        (file / "pyproject.toml").write_text(f"[tool.treadle]\n{name} = {project}\n")
        for given in ([], words(ALL[name], True), words(ALL[name], False)):
            assert command_line("run", *on_run(name), "-q", *given)[0] == 0
    assert seen == [True, True, False, False, True, False]


@pytest.mark.usefixtures("file")
def test_a_written_schedule_is_replayed_with_the_options_that_found_it(
    command_line: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    test = """
        import threading
        def fails(): raise ValueError
        def starts():
            thread = threading.Thread(target=fails)
            thread.start()
            thread.join()
        """
    Path("g.py").write_text(dedent(test))
    _, out, _ = command_line("run", "g.py::starts", "--no-database", "--json")
    again = ("replay", "g.py::starts", json.loads(out)["failures"][0]["schedule"])
    assert command_line(*again)[0] == 1
    assert command_line(*again, "--no-thread-exceptions")[0] == 0


@pytest.mark.parametrize(
    ("setting", "arguments", "kept"),
    [
        ('"mine"', [], "mine"),
        ('"mine"', ["--database", "other"], "other"),
        ('"mine"', ["--no-database"], None),
        ("false", [], None),
        ("false", ["--database", "other"], "other"),
    ],
)
def test_a_project_says_where_failures_are_kept(
    setting: str,
    arguments: list[str],
    kept: str | None,
    file: Path,
    command_line: Callable[..., Any],
) -> None:
    (file / "pyproject.toml").write_text(f"[tool.treadle]\ndatabase = {setting}\n")
    (file / "f.py").write_text("def fails(): raise ValueError\n")
    status, _, _ = command_line("run", "f.py", *arguments)
    assert status == 1
    assert [path.name for path in file.iterdir() if (path / "failures").is_dir()] == (
        [kept] if kept else []
    )
    _, out, _ = command_line("run", "f.py", *arguments)
    assert ("replayed a failure of an earlier run" in out) == (kept is not None)


# pytest


@pytest.mark.parametrize("name", ALL)
def test_the_command_line_of_pytest(name: str, pytester: pytest.Pytester) -> None:
    option = ALL[name]
    given = words(option, right(option), "--treadle-")
    settings = PytestSession(pytester.parseconfig(*given))._settings({})
    assert getattr(settings, name) == right(option)
    if isinstance(option.values, Flag | Names):
        return
    given = words(option, wrong(option), "--treadle-")
    with pytest.raises((pytest.UsageError, treadle.TreadleError)) as caught:
        PytestSession(pytester.parseconfig(*given))
    assert name in str(caught.value) or option.flag in str(caught.value)


def test_every_flag_has_an_opposite_on_the_command_line_of_pytest(
    pytester: pytest.Pytester,
) -> None:
    flags = [option for option in ALL.values() if isinstance(option.values, Flag | Directory)]
    given = [f"--treadle-{option.off_flag}" for option in flags]
    settings = PytestSession(pytester.parseconfig(*given))._settings({})
    for option in flags:
        assert not getattr(settings, option.name)
    assert "database" in {option.name for option in flags}


def test_marks(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    tests = ["import pytest, treadle.actors"]
    tests += ["SILENT = treadle.actors.Program(lambda: None)"]
    for kind, value_of in (("right", right), ("wrong", wrong)):
        for option in ALL.values():
            asked = {option.name: value_of(option), **beside(option.name)}
            is_for_actors = target(option.name) is SILENT
            define = "async def" if target(option.name) is waits else "def"
            body = "return SILENT" if is_for_actors else "pass"
            tests += [
                f"@pytest.mark.treadle(**{asked!r})",
                f"{define} test_{kind}_{option.name}(): {body}",
            ]
    pytester.makepyfile(test_marks="\n".join(tests))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--tb=short", "-rfE")
    result.assert_outcomes(passed=len(ALL), failed=len(ALL))
    out = " ".join(result.outlines)
    for option in ALL.values():
        assert f"test_right_{option.name} FAILED" not in out
        assert f"the test's options: {refusal(option)}"[:70] in out


# Options of other front ends


@pytest.mark.parametrize("name", running())
def test_explore_refuses_what_is_for_others(name: str) -> None:
    model = treadle.model.Program()
    words_for = {
        "actors": "a treadle.actors.Program",
        "threads": "a function without parameters that uses threads",
        "tasks": "a coroutine function without parameters",
    }
    whose = " or ".join(words_for[end] for end in words_for if name in FRONT_ENDS[end].options)
    message = f"{name} is for {whose}, and this is a treadle.model.Program: leave {name} out"
    with pytest.raises(treadle.TreadleError, match=message):
        explore(model, **{name: ALL[name].default})  # even the default: it was asked for
    with pytest.raises(treadle.TreadleError, match=message):
        treadle.check(**{name: right(ALL[name])})(lambda: model)()  # type: ignore[call-overload]
    with pytest.raises(treadle.TreadleError, match=message):
        treadle.replay(model, "", **{name: right(ALL[name])})  # type: ignore[arg-type]


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize("name", running())
def test_run_and_compare_refuse_what_is_for_others(
    name: str, command_line: Callable[..., Any]
) -> None:
    given = words(ALL[name], right(ALL[name]))
    if name == "thread_exceptions":
        given = ["--no-thread-exceptions"]
    for command in ("run", "compare"):
        status, _, error = command_line(command, "f.py::model", *given)
        assert status == 2
        assert f"leave {name} out" in error


@pytest.mark.usefixtures("file")
def test_what_a_decorated_test_asks_for_is_refused_of_its_model(
    command_line: Callable[..., Any],
) -> None:
    status, _, error = command_line("run", "f.py::asks")
    assert status == 2
    assert "granularity is for a function without parameters that uses threads, and this" in error


def test_a_project_may_set_them_for_all_of_its_tests(
    file: Path, command_line: Callable[..., Any]
) -> None:
    values = (f"{name} = {in_toml(right(ALL[name]))}" for name in running())
    (file / "pyproject.toml").write_text("\n".join(["[tool.treadle]", *values]))
    for name in ("model", "nothing"):
        status, out, error = command_line("run", f"f.py::{name}", "-q")
        assert (status, error) == (0, "")
        assert out.startswith("VERIFIED")


def test_a_mark_that_is_for_others_fails_its_test_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    pytester.makepyfile(
        test_it="""
        import pytest, treadle

        def make():
            program = treadle.model.Program()
            program.process(lambda s: (yield), name="p")
            return program

        @pytest.mark.treadle(max_rounds=3)
        def test_asks(): return make()

        @pytest.mark.treadle
        def test_does_not(): return make()
        """
    )
    pytester.makepyprojecttoml("[tool.treadle]\nwatchdog = 3\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--treadle-granularity=gil")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["treadle: error: max_rounds is for *", "threads, and *: leave max_rounds out"]
    )


def test_models_have_no_options_of_their_own() -> None:
    assert FRONT_ENDS["model"].options == {}
    own = [*(name for end in ("actors", "threads", "tasks") for name in FRONT_ENDS[end].options)]
    assert list(running()) == list(dict.fromkeys(own))  # some are for several
