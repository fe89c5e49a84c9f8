"""What a project wants of every exploration: `[tool.treadle]` in `pyproject.toml`, and profiles.

Later layers win:

1. the defaults of `treadle.explore`;
2. what is built in for the profile: `dev` is quick, `ci` is exhaustive and strict;
3. `[tool.treadle]`;
4. `[tool.treadle.profiles.NAME]`;
5. what the test itself asks for (`@treadle.check`, `@pytest.mark.treadle`);
6. the command line.

The profile is the one named on the command line, else by the test, else by the environment variable
`TREADLE_PROFILE`, else by `profile` in `[tool.treadle]`, else `dev`.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treadle.api import ALGORITHMS
from treadle.core.errors import TreadleError
from treadle.explore.budget import MAX_STEPS
from treadle.explore.choosers import SCHEDULES
from treadle.python.host.host import WATCHDOG

PROFILE_VARIABLE = "TREADLE_PROFILE"
"""The environment variable that names a profile."""
DEFAULT_PROFILE = "dev"

BUILT_IN: dict[str, dict[str, object]] = {
    "dev": {"max_executions": 10_000, "timeout": 10.0},
    "ci": {"max_executions": None, "timeout": 600.0, "strict": True},
}
"""What the profiles say that every project has."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How tests are explored, and what becomes of the outcome.

    >>> Settings().changed({"timeout": 5}, "the mark").timeout
    5
    """

    algorithm: str = "optimal"
    """Which interleavings are run: a name from `treadle.ALGORITHMS`."""
    schedule: str = "stay"
    """Who runs where the algorithm leaves it open: `stay`, `oldest`, `newest`, `round-robin`."""
    max_executions: int | None = None
    """Stop after so many executions; None for no limit."""
    max_steps: int = MAX_STEPS
    """Steps that one execution may take; more is a finding."""
    timeout: float | None = None
    """Stop after so many seconds; None for no limit."""
    granularity: str = "access"
    """Where threads may switch: `access`, or `gil` for what a global lock allows."""
    instrument: tuple[str, ...] = ()
    """Packages whose code is under test besides the project's own."""
    races: bool = False
    """Whether a data race is a finding."""
    thread_exceptions: bool = True
    """Whether an exception that ends a thread is a finding."""
    max_rounds: int | None = None
    """Times in a row that a thread may sleep or wait in vain at one line; more are left out."""
    watchdog: float | None = WATCHDOG
    """Seconds after which a step is said to block outside of Treadle's control; None for never."""
    seed: int = 0
    """Seed of `random` and `pct`."""
    depth: int = 3
    """The bug depth that `pct` aims at."""
    stop_on_failure: bool = True
    """Whether the first failure ends the search."""
    strict: bool = False
    """Whether a space that was not covered within the budget is a failure."""
    shrink: bool = True
    """Whether a failing interleaving is made simpler before it is shown."""
    database: str | None = ".treadle"
    """Directory of failing schedules, relative to the project's; None for none."""

    def changed(self, values: Mapping[str, object], where: str = "") -> Settings:
        """Return these settings with other values; `where` names their origin in errors."""
        read: dict[str, Any] = {name: _read(name, value, where) for name, value in values.items()}
        return dataclasses.replace(self, **read)

    def for_exploring(self) -> dict[str, Any]:
        """Return the arguments of `treadle.explore` that they stand for."""
        return {name: getattr(self, name) for name in _CHECKS if name not in _NOT_FOR_EXPLORING}

    def for_threads(self) -> dict[str, Any]:
        """Return those of them that decide how a test with threads is run."""
        return {name: getattr(self, name) for name in _FOR_THREADS}


@dataclass(frozen=True, slots=True)
class Project:
    """What a project's `pyproject.toml` says."""

    directory: Path
    file: Path | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    profile: str = DEFAULT_PROFILE

    def settings(self, profile: str | None = None) -> Settings:
        """Return the settings of a profile; by default, the one that the environment names."""
        name = profile or os.environ.get(PROFILE_VARIABLE) or self.profile
        known = {*BUILT_IN, *self.profiles}
        if name not in known:
            raise TreadleError(
                f"unknown profile {name!r}: choose one of {', '.join(sorted(known))}, or add "
                f"[tool.treadle.profiles.{name}] to {self.file or 'pyproject.toml'}"
            )
        settings = Settings().changed(BUILT_IN.get(name, {}), f"profile {name}")
        settings = settings.changed(self.values, f"{self.file}: [tool.treadle]")
        return settings.changed(
            self.profiles.get(name, {}), f"{self.file}: [tool.treadle.profiles.{name}]"
        )


def for_command_line(path: Path, profile: str | None = None) -> Settings:
    """Return the settings for one program in a directory, explored by hand.

    No profile unless one is named: a budget that nobody asked for would be a surprise.
    """
    project = project_of(path)
    if profile or os.environ.get(PROFILE_VARIABLE):
        return project.settings(profile)
    return Settings().changed(project.values, f"{project.file}: [tool.treadle]")


def project_of(path: Path) -> Project:
    """Read the nearest `pyproject.toml` at or above a path."""
    directory = path.resolve()
    for parent in (directory, *directory.parents):
        file = parent / "pyproject.toml"
        if file.is_file():
            return _read_project(file)
    return Project(directory)


def _read_project(file: Path) -> Project:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TreadleError(f"{file}: {error}") from None
    where = f"{file}: [tool.treadle]"
    table = dict(_table(_table(content.get("tool", {}), f"{file}: tool").get("treadle", {}), where))
    profiles = _table(table.pop("profiles", {}), f"{file}: [tool.treadle.profiles]")
    profile = table.pop("profile", DEFAULT_PROFILE)
    if not isinstance(profile, str):
        raise TreadleError(f"{where}: profile must be a name, not {profile!r}")
    project = Project(
        file.parent,
        file,
        table,
        {
            name: _table(values, f"{file}: [tool.treadle.profiles.{name}]")
            for name, values in profiles.items()
        },
        profile,
    )
    for name in project.profiles:  # a mistake in a profile shows before it is used
        project.settings(name)
    project.settings(DEFAULT_PROFILE)
    return project


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TreadleError(f"{where} must be a table, not {value!r}")
    return value


# One value


def _read(name: str, value: object, where: str) -> object:
    """Return a value as `Settings` holds it; `false` stands for none where there may be none."""
    where = f"{where}: " if where else ""
    if name not in _CHECKS:
        close = difflib.get_close_matches(name, _CHECKS, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(_CHECKS)}"
        raise TreadleError(f"{where}unknown setting {name!r}: {hint}")
    expected, is_right = _CHECKS[name]
    if not is_right(value):
        raise TreadleError(f"{where}{name} must be {expected}, not {value!r}")
    if name == "instrument":
        assert isinstance(value, Iterable)
        return tuple(value)
    return None if name in _CAN_BE_NONE and value is False else value


_Check = tuple[str, Callable[[object], bool]]


def _is_number(value: object, kinds: type[Any] | Any = int | float) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _above_zero(value: object) -> bool:
    return _is_number(value) and value > 0  # type: ignore[operator]


def _whole_above_zero(value: object) -> bool:
    return _is_number(value, int) and value > 0  # type: ignore[operator]


def _none(value: object) -> bool:
    return value is None or value is False


def _one_of(names: Iterable[str]) -> _Check:
    known = list(names)
    return f"one of {', '.join(known)}", lambda value: value in known


def _are_names(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(name, str) for name in value
    )


_FLAG: _Check = ("true or false", lambda value: isinstance(value, bool))
_SECONDS: _Check = (
    "a number of seconds above 0, or false for none",
    lambda value: _none(value) or _above_zero(value),
)
_COUNT: _Check = (
    "a whole number above 0, or false for none",
    lambda value: _none(value) or _whole_above_zero(value),
)
_CHECKS: dict[str, _Check] = {
    "algorithm": _one_of(ALGORITHMS),
    "schedule": _one_of(SCHEDULES),
    "max_executions": _COUNT,
    "max_steps": ("a whole number above 0", _whole_above_zero),
    "timeout": _SECONDS,
    "granularity": _one_of(["access", "gil"]),
    "instrument": ("a list of packages", _are_names),
    "races": _FLAG,
    "thread_exceptions": _FLAG,
    "max_rounds": _COUNT,
    "watchdog": _SECONDS,
    "seed": ("a whole number", lambda value: _is_number(value, int)),
    "depth": ("a whole number above 0", _whole_above_zero),
    "stop_on_failure": _FLAG,
    "strict": _FLAG,
    "shrink": _FLAG,
    "database": (
        "a directory, or false for none",
        lambda value: _none(value) or (isinstance(value, str) and bool(value)),
    ),
}
"""What each setting must be, in words and as a predicate."""
_CAN_BE_NONE = frozenset({"max_executions", "max_rounds", "timeout", "watchdog", "database"})
_FOR_THREADS = ("granularity", "instrument", "thread_exceptions", "max_rounds", "watchdog")
_NOT_FOR_EXPLORING = frozenset({"strict", "shrink", "database"})
