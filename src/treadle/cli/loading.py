"""From `FILE.py::name` to a program; and the user's file and line for errors."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from treadle.core.decorated import ASKS_FOR
from treadle.core.errors import TreadleBug, TreadleError
from treadle.core.front_end import FrontEnd
from treadle.core.program import Program
from treadle.session.front_ends import FRONT_ENDS, front_end_of, front_end_of_file, meant_in
from treadle.session.session import Session, opened
from treadle.session.settings import Settings
from treadle.session.workers.naming import Name

_OPENER = "treadle.cli.loading:explore_named"
"""What finds a program by its name in other processes."""
_CLOSE = 0.75
"""How much alike two names are if one may be a slip of the other; many begin with `test_`."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the command line names."""

    path: Path
    name: str
    test: Any

    def __str__(self) -> str:
        return f"{self.path}::{self.name}" if self.name else str(self.path)

    @property
    def asks_for(self) -> dict[str, Any]:
        """What the test itself asks for, if it is decorated with `check`."""
        return dict(getattr(self.test, ASKS_FOR, {}))

    @contextmanager
    def opened(self, settings: Settings) -> Iterator[Session]:
        """Take control of it; say in which line of the file an error arose while it ran."""
        with ExitStack() as stack:
            with _user_code(self.path, f"{self.name!r} of {self.path} raises"):
                session = stack.enter_context(opened(self.test, settings))
            session.name = Name(f"{self.path.resolve()}::{self.name}", _OPENER)
            with self.running():
                yield session

    @contextmanager
    def running(self) -> Iterator[None]:
        """Say in which line of the file an error arose while its program ran."""
        try:
            yield
        except TreadleError as error:
            raise type(error)(_located(str(error), error, self.path)) from error


def find(text: str) -> Found:
    """Import the file of `FILE.py::name`, or `FILE.py`, and return what it names."""
    file, _, name = text.partition("::")
    path = Path(file)
    _check_file(path, text)
    if path.suffix != ".py":
        return _load(path, name)
    module = _import(path)
    name = name or _only_program(module, path)
    if name.endswith(")"):
        return _called(module, path, name)
    if "::" in name or name.endswith("]"):
        raise TreadleError(
            f"{name!r} is a method or has parameters: run it with `pytest {shlex.quote(text)}`"
        )
    if not hasattr(module, name):
        raise TreadleError(f"{path} has no {name!r}: {_advice(module, name)}")
    return Found(path, name, getattr(module, name))


def explore_named(name: Name, explore: Callable[[object], None]) -> None:
    """Explore what `FILE.py::name` names, in a process that explores for another one."""
    explore(find(name.text).test)


def has_only_functions(path: Path) -> bool:
    """Tell whether a Python file has no program in it, only functions that may be tests."""
    module = _import(path)
    programs = [getattr(module, name) for name in _programs_in(module)]
    return all(front_end_of(program).takes_any_function for program in programs)


def find_code(text: str) -> Found:
    """Return what `FILE.py::name` names, or all code of `FILE.py` or `FILE.abs`."""
    file, _, name = text.partition("::")
    path = Path(file)
    if name:
        return find(text)
    _check_file(path, text)
    if path.suffix == ".py":
        return Found(path, "", _import(path))
    return Found(path, "", _reader(path).code(path))


def _called(module: ModuleType, path: Path, text: str) -> Found:
    """Return a program with arguments: `barber(3)`."""
    name, args, kwargs = _call(text)
    if not hasattr(module, name):
        raise TreadleError(f"{path} has no {name!r}: {_advice(module, name)}")
    program = getattr(module, name)
    if not (isinstance(program, Program) and callable(program)):
        raise TreadleError(f"{name} of {path} takes no arguments here: leave them out of {text!r}")
    return Found(path, text, program(*args, **kwargs))


def _call(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Read a call whose arguments are literals."""
    try:
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        kwargs = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        return call.func.id, [ast.literal_eval(arg) for arg in call.args], kwargs
    except (SyntaxError, ValueError, AssertionError):
        raise TreadleError(
            f"cannot read {text!r}: arguments are literals, as in barber(3) or sort((2, 1))"
        ) from None


def _check_file(path: Path, text: str) -> None:
    if not path.exists():
        raise TreadleError(f"there is no file {path}: give FILE.py::NAME or FILE.py, not {text!r}")
    if path.is_dir():
        raise TreadleError(f"{path} is a directory: give one Python file in it")


def _import(path: Path) -> ModuleType:
    """Execute a file as a module that can import its neighbours."""
    spec = importlib.util.spec_from_file_location(f"treadle_target_{path.stem}", path.resolve())
    assert spec is not None, "a .py file always has a loader"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    with _user_code(path, f"{path} raises at import"):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _user_code(path: Path, what: str) -> Iterator[None]:
    """Turn whatever the user's own code raises into one line that names file and line."""
    try:
        yield
    except TreadleError as error:
        raise TreadleError(_located(str(error), error, path)) from error
    except SyntaxError as error:
        file = path if error.filename in (None, str(path.resolve())) else error.filename
        place = f"{file}:{error.lineno}" if error.lineno else file
        raise TreadleError(f"{place} is not valid Python: {error.msg}; mend it first") from error
    except TreadleBug:
        raise
    except (Exception, SystemExit) as error:
        words = f"{type(error).__name__}: {error}"
        raise TreadleError(_located(f"{what}: {words}; mend it first", error, path)) from error


def _located(message: str, error: BaseException, path: Path) -> str:
    """Add the innermost line of the user's file that an error came through, if it says none."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename) == path.resolve()
    ]
    if not lines or re.search(rf":\d+\)$|\b{re.escape(path.name)}:{lines[-1]}\b", message):
        return message
    return f"{message} ({path}:{lines[-1]})"


def _load(path: Path, name: str) -> Found:
    """Let the front end read a file that is not in Python."""
    name, program = _reader(path).load(path, name)
    return Found(path, name, program)


def _reader(path: Path) -> FrontEnd:
    """Return the front end that reads a file that is not in Python."""
    front_end = front_end_of_file(path.suffix)
    if front_end is None:
        others = [suffix for one in FRONT_ENDS.values() for suffix in one.suffixes]
        known = " or ".join([".py", *others])
        raise TreadleError(f"{path} is no Python file: give a file whose name ends in {known}")
    return front_end


def _programs_in(module: ModuleType) -> list[str]:
    """Return the names of the module's programs; if it has none, of functions that may make one."""
    return meant_in(dict(vars(module)), module.__name__)


def _only_program(module: ModuleType, path: Path) -> str:
    names = _programs_in(module)
    if len(names) == 1:
        return names[0]
    if not names:
        raise TreadleError(
            f"{path} has no program: define a function without parameters that uses threads, "
            f"a treadle.model.Program, or a program of actors; a coroutine function is called "
            f"test_..., or named: {path}::NAME"
        )
    raise TreadleError(
        f"{path} has {len(names)} programs: choose one of "
        + ", ".join(f"{path}::{name}" for name in names)
    )


def _advice(module: ModuleType, name: str) -> str:
    names = _programs_in(module)
    if close := get_close_matches(name, names, 1, _CLOSE):
        return f"did you mean {close[0]!r}?"
    return f"it has {', '.join(names)}" if names else "define a treadle.model.Program in it"
