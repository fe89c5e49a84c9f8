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

import functools
import os
import pickle
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.core.errors import TreadleError
from treadle.core.front_end import FrontEnd
from treadle.core.options import Option, find_option
from treadle.core.program import Program
from treadle.session.front_ends import FRONT_ENDS
from treadle.session.options import defaults, everything, front_end_options

PROFILE_VARIABLE = "TREADLE_PROFILE"
"""The environment variable that names a profile."""
DEFAULT_PROFILE = "dev"

BUILT_IN: dict[str, dict[str, object]] = {
    "dev": {"max_executions": 10_000, "timeout": 10.0},
    "ci": {"max_executions": None, "timeout": 600.0, "strict": True},
}
"""What the profiles say that every project has."""


def _read(values: Mapping[str, object], where: str = "") -> dict[str, object]:
    """Return the values of options as they are kept; `where` names their origin in errors."""
    where = f"{where}: " if where else ""
    return {
        name: find_option(everything(), name, where).read(value, where)
        for name, value in values.items()
    }


class Settings:
    """How tests are explored, and what becomes of the outcome; each option is an attribute.

    >>> Settings().changed({"timeout": 5}, "the mark").timeout
    5
    """

    def __init__(
        self, values: Mapping[str, Any] | None = None, asked: frozenset[str] = frozenset()
    ) -> None:
        self._values = dict(values or {})
        """What was set; for all else there are defaults, perhaps others for each front end."""
        self.asked = asked
        """What was asked for this very test, so that it makes no sense if it is not for it."""
        vars(self).update(defaults())
        vars(self).update(self._values)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Let type checkers know that options are attributes."""

    @classmethod
    def asked_for(cls, values: Mapping[str, object]) -> Settings:
        """Return settings with values for one test, and else nothing but defaults."""
        if not values:
            return _nothing_asked(FRONT_ENDS.changes)
        read = _read(values)
        return cls(read, frozenset(read))

    def changed(
        self, values: Mapping[str, object], where: str = "", *, for_this_test: bool = False
    ) -> Settings:
        """Return these settings with other values; `where` names their origin in errors."""
        read = _read(values, where)
        asked = self.asked.union(read) if for_this_test else self.asked
        return Settings({**self._values, **read}, asked)

    def sets(self, name: str) -> bool:
        """Tell whether somebody set an option: its value is no default."""
        return name in self._values

    def pickled(self, *, without: Sequence[str]) -> bytes:
        """Return what was set, and what was asked, for another process; leave some out."""
        values = {name: value for name, value in self._values.items() if name not in without}
        return pickle.dumps((values, self.asked.difference(without)))

    def taken_by(self, front_end: FrontEnd) -> dict[str, Any]:
        """Return the options that are only for a front end; refuse what was asked of another."""
        self.refuse_others(front_end)
        return self.values_for(front_end)

    def refuse_others(self, front_end: FrontEnd) -> None:
        """Refuse what was asked of this test and is only for other front ends."""
        self._refuse_others(front_end.options, front_end.targets)

    def values_for(self, front_end: FrontEnd) -> dict[str, Any]:
        """Return the options that are only for a front end."""
        return {name: self._value_of(option) for name, option in front_end.options.items()}

    def _value_of(self, option: Option) -> Any:
        """Return the value of a front end's option; a project may mean another front end's."""
        if option.name not in self._values:
            return option.default
        try:
            return option.read(self._values[option.name])
        except TreadleError:
            if option.name in self.asked:
                raise
            return option.default

    def given_to(self, program: Program) -> Program:
        """Return a program with the options that were asked for this test; refuse others."""
        if not self.asked or self.asked.isdisjoint(front_end_options()):
            return program
        if program.front_end not in FRONT_ENDS:
            self._refuse_others({}, f"a {type(program).__name__}")
            return program
        front_end = FRONT_ENDS[program.front_end]
        taken = self.taken_by(front_end)
        given = {name: value for name, value in taken.items() if name in self.asked}
        return front_end.with_options(program, given)

    def _refuse_others(self, taken: Mapping[str, Option], targets: str) -> None:
        for name in sorted(self.asked.intersection(front_end_options()).difference(taken)):
            others = [one.targets for one in FRONT_ENDS.values() if name in one.options]
            raise TreadleError(
                f"{name} is for {' or '.join(others)}, and this is {targets}: leave {name} out"
            )


@functools.lru_cache(maxsize=1)
def _nothing_asked(changes: int) -> Settings:
    """Return nothing but defaults, made anew after each change of the front ends."""
    del changes
    return Settings()


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
