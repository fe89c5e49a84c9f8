"""Models: processes as generators over shared state.

    program = treadle.model.Program(x=0, y=0)

    @program.process
    def p(s):
        s.y = 1
        yield
        s.x = 1

The code between two `yield`s is one atomic step. What a process yields is nothing, or an operation
that may block; the step after it begins with that operation.
"""

from __future__ import annotations

import contextlib
import inspect
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar, overload

from treadle.analyses.constraint_list import listed
from treadle.analyses.decisive_reads import (
    EVERYWHERE,
    Foresight,
    Kind,
    OpenSteps,
    foresee,
    open_steps,
)
from treadle.core import program as programs
from treadle.core.constraints import Constraint, Declarations, Independent, finding_in
from treadle.core.errors import TreadleError
from treadle.core.events import Codes, Mode, Vocabulary, code
from treadle.core.listed import Constrained, Untranslated
from treadle.core.program import FindingError
from treadle.model.constrained_run import ConstrainedRun
from treadle.model.constraints import Constraints
from treadle.model.detail import DetailedRun
from treadle.model.operations import closed_over, names_in
from treadle.model.run import TOUCHED_OUTSIDE, ModelRun
from treadle.model.state import (
    Counter,
    Elements,
    Handle,
    State,
    check_name,
    is_plain,
    state_class,
)
from treadle.model.sync import Lock

Function = TypeVar("Function", bound=Callable[..., Any])
Check = TypeVar("Check", bound=Callable[..., object])

PreparedProcess = tuple[int, Callable[..., Any], tuple[Any, ...], bool, OpenSteps | None, bool]
"""Number, function, arguments, whether it starts at its first yield, its open steps if any, and
whether it stores nothing that it has read."""


class Program(programs.Program):
    """A concurrent program as a model.

    Keyword arguments declare what the processes share: a list becomes an array and a dictionary a
    shared dictionary, with one location for each element; `Lock()`, `RLock()`, `Semaphore(n)`,
    `Condition()`, `Mailbox()` and `Counter()`, also in lists, become shared objects; any other
    value is a scalar. Scalars should be immutable.

    >>> program = Program(x=0)
    >>> @program.process
    ... def writer(s):
    ...     yield
    ...     s.x = 1
    >>> @program.process
    ... def reader(s):
    ...     yield
    ...     assert s.x == 0, "the writer was faster"
    >>> import treadle
    >>> result = treadle.explore(program, stop_on_failure=False)
    >>> result.executions, len(result.failures)
    (2, 1)
    """

    compares_newborn: ClassVar[bool] = True

    def __init__(self, name: str = "model", /, **shared: Any) -> None:
        self.name = name
        self.vocabulary = Vocabulary()
        self.kept: dict[Hashable, Any] = {}
        self.declared: list[tuple[int, Callable[..., Any], tuple[Any, ...]]] = []
        self.daemons: frozenset[int] = frozenset()
        self.finals: list[Callable[[State], object]] = []
        self.names_values = False
        self.naming: frozenset[int] = frozenset()
        """The declared processes that can say which values they store, once they are prepared."""
        self._beginnings: dict[Hashable, bool] = {}
        self._prepared: list[PreparedProcess] = []
        self._finished_log: list[int] = []
        self._open_steps: dict[Callable[..., Any], OpenSteps] = {}
        self._foresight: dict[Callable[..., Any], Foresight | None] = {}
        self._foresight_of_declared: dict[int, Foresight | None] = {}
        self.trusts_operations = True
        """Whether operations that seldom raise are foreseen not to."""
        self._trusts_analysis = True
        self._declare(shared)
        self.constraints = Constraints(self, self._kinds)
        self._wants_constraints = self._uses_constraints = False

    # Declaring

    def _declare(self, shared: dict[str, Any]) -> None:
        """Number the locations of everything that is shared."""
        self.scalars: dict[str, int] = {}
        self.cells: dict[int, tuple[str, int | None]] = {}
        """Locations of scalars and of array elements: name and index."""
        self._initial: list[tuple[str, Any]] = []
        self._builders: list[tuple[str, Callable[[ModelRun], Any]]] = []
        self._kinds: dict[str, Kind] = {}
        self._plain: dict[str, tuple[Kind, Any]] = {}
        for name, value in shared.items():
            check_name(name)
            self._kinds[name] = kind = _kind_of(value)
            if kind in ("scalar", "array", "dict", "counter"):
                self._plain[name] = kind, value
            if self._kinds[name] != "objects":
                _check_shareable(name, value)
            if self._kinds[name] != "scalar":
                self._builders.append((f"_v_{name}", self._builder(name, value)))
            elif isinstance(value, set | bytearray | deque):
                raise TreadleError(
                    f"shared variable {name!r} is a {type(value).__name__}, whose changes cannot "
                    f"be seen: use a dictionary or a frozen value"
                )
            else:
                self.scalars[name] = self.vocabulary.location(name, name)
                self.cells[self.scalars[name]] = name, None
                self._initial.append((f"_v_{name}", value))
        objects = [name for name in shared if name not in self.scalars]
        self._state_class = state_class(self.scalars, objects)

    def _builder(self, name: str, value: Any) -> Callable[[ModelRun], Any]:
        """Return what makes the shared object anew for a run."""
        if isinstance(value, Lock):
            return lambda run: run.shared_lock(value, name)
        if hasattr(value, "build"):
            return lambda run: value.build(run, name)
        if isinstance(value, dict):
            keys = self.vocabulary.location((name, "keys"), f"{name} keys")
            return lambda run: run.bind_dict(name, keys, dict(value))
        if _kind_of(value) == "objects":
            parts = [self._builder(f"{name}[{i}]", item) for i, item in enumerate(value)]
            return lambda run: tuple(part(run) for part in parts)
        locations = [self.vocabulary.location((name, i), f"{name}[{i}]") for i in range(len(value))]
        first = locations[0] if locations else 0
        self.cells.update((first + i, (name, i)) for i in range(len(value)))
        elements = Elements(first, len(value))
        return lambda run: run.bind_array(name, elements, list(value))

    @overload
    def process(
        self, function: Function, /, *args: Any, name: str = ..., daemon: bool = ...
    ) -> Function: ...

    @overload
    def process(
        self, /, *, name: str = ..., daemon: bool = ...
    ) -> Callable[[Function], Function]: ...

    def process(
        self, function: Any = None, /, *args: Any, name: str = "", daemon: bool = False
    ) -> Any:
        """Add a process that runs `function(state, *args)`; also a decorator.

        A daemon may be left waiting at the end; any other waiting process is a deadlock.
        """
        if function is None:
            return lambda decorated: self.process(decorated, name=name, daemon=daemon)
        self.check_generator(function)
        _check_arguments(function, args)
        number = self.vocabulary.process(self._free_name(name or _default_name(function, args)))
        self.declared.append((number, function, args))
        if daemon:
            self.daemons |= {number}
        return function

    def finally_(self, function: Check) -> Check:
        """Have a function called at the end of every execution, deadlocked ones too: a decorator.

        It is given the final state, which it may only read, and fails by `assert`. It is no process
        and costs no reduction, except where writes that nobody looks at are not ordered.

        >>> program = Program(x=0)
        >>> @program.process
        ... def writer(s):
        ...     yield
        ...     s.x = 1
        >>> @program.finally_
        ... def it_is_written(s):
        ...     assert s.x == 2
        >>> import treadle
        >>> treadle.explore(program).failures[0].kind
        'assertion'
        """
        self.finals.append(function)
        return function

    @property
    def looks_at_end(self) -> bool:
        """Whether somebody looks at all that is shared when an execution is over."""
        return bool(self.finals)

    def independent(self, first: str, second: str, holds: Constraint | None = None) -> Independent:
        """Say that two blocks are independent: in every state, or where a function says so.

        A block is the code from one `yield` to the next, named like its function, or
        `function:label` behind `yield s.label("label")`, or `function:1`, `function:2`. As a
        decorator it takes a function of the state, which it may only read, and of the local names
        of the two steps. For the algorithms `optimal-constrained` and `constrained`.

        >>> program = Program(x=0)
        >>> def add(s, amount):
        ...     yield
        ...     s.x += amount
        >>> for amount in range(4):
        ...     _ = program.process(add, amount)
        >>> _ = program.independent("add", "add")
        >>> import treadle
        >>> treadle.explore(program, "optimal-constrained").executions
        1
        """
        return Independent(self.constraints, first, second, holds)

    def _free_name(self, wanted: str) -> str:
        name, count = wanted, 1
        while self.vocabulary.process_number(name) is not None:
            count += 1
            name = f"{wanted}#{count}"
        return name

    @staticmethod
    def check_generator(function: Callable[..., Any]) -> None:
        """Refuse a process that has no `yield`."""
        if not callable(function) or not inspect.isgeneratorfunction(inspect.unwrap(function)):
            name = getattr(function, "__name__", repr(function))
            raise TreadleError(
                f"process {name!r} is no generator function: write `yield` between its atomic "
                f"steps (a process of one step begins with a bare `yield`)"
            )

    # Running

    front_end = "model"

    def foresee_less(self) -> bool:
        """Trust no operation not to raise any more, next time not even the source's analysis.

        Return whether either was trusted till now.
        """
        if self.trusts_operations:
            self.trusts_operations = False
            return True
        trusted, self._trusts_analysis = self._trusts_analysis, False
        self._foresight_of_declared.clear()
        return trusted

    def start(self, *, detail: bool = False) -> ModelRun:
        """Begin an execution from the initial state; with `detail`, recorded in words."""
        if not self.declared:
            raise TreadleError(
                f"program {self.name!r} has no process: add one with @program.process"
            )
        if detail:
            return DetailedRun(self)
        return ConstrainedRun(self) if self._uses_constraints else ModelRun(self)

    def prepared(self) -> list[PreparedProcess]:
        """Return the declared processes with what a run has to know to create them."""
        if len(self._prepared) != len(self.declared):
            self._prepared = [self.prepare(*process) for process in self.declared]
            self.naming = frozenset(number for number, *_, names in self._prepared if names)
        return self._prepared

    def prepare(
        self, number: int, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> PreparedProcess:
        """Find out how a process is created: from its first yield? with open steps?"""
        steps = self.open_steps(function) if _is_closed(function, args) else EVERYWHERE
        is_primed = self._begins_with_yield(number, function, args)
        return number, function, args, is_primed, steps if steps.any else None, not steps.computes

    def name_values(self, wanted: bool) -> None:
        """Let steps say which values they store, if the process does not compute them."""
        self.names_values = wanted

    def plain_values(self) -> dict[str, tuple[Kind, Any]]:
        """Return what holds plain values, by name, with the initial ones."""
        return self._plain

    @property
    def declarations(self) -> Declarations:
        """What was declared of blocks that are independent although their accesses conflict."""
        return self.constraints

    def use_constraints(self, wanted: bool) -> None:
        """Let steps of such blocks say which one they are, or not, from now on."""
        self._wants_constraints = wanted
        self._uses_constraints = wanted and self.has_constraints

    def finding_in(self, processes: Sequence[int]) -> FindingError | None:
        """Return a constraint that does not hold of the last two steps of a schedule, if any."""
        if not self.constraints.declared:
            return None
        return finding_in(lambda: ConstrainedRun(self), processes)

    def notes(self, *, has_ended: bool) -> list[str]:
        """Say which blocks no constraint was found for, since they are not understood."""
        if self.constraints.mode != "synthesised" or not self._wants_constraints:
            return []
        return [why.in_words for why in self.constraints.synthesis.untranslated()]

    def list_constraints(self, constraints: str) -> Iterator[Constrained | Untranslated]:
        """Yield what is known of each two blocks that conflict, and blocks not understood."""
        self.constraints.choose(constraints)
        return listed(self.constraints)

    def build_state(self, run: ModelRun) -> State:
        """Return fresh shared state for a run."""
        state = self._state_class()
        state._run = run
        state._append = run.append
        for slot, value in self._initial:
            setattr(state, slot, value)
        for slot, build in self._builders:
            setattr(state, slot, build(run))
        return state

    def check_untouched(self, log: list[int]) -> None:
        """Refuse a model that touched the state of an execution that was over.

        Called at the end of an execution with its log, to which such an access would be added.
        """
        if self._finished_log:
            raise TreadleError(TOUCHED_OUTSIDE)
        self._finished_log = log
        log.clear()

    def shared_values(self, state: State) -> dict[str, Any]:
        """Return the shared values by name, without accessing them."""
        return {name: getattr(state, f"_v_{name}") for name in self._kinds}

    def values_at(self, state: State, locations: Sequence[int]) -> list[Any]:
        """Return the values of some locations, or all shared values if one is no cell."""
        values = []
        for location in locations:
            name, index = self.cells.get(location, ("", None))
            if name not in self._kinds:
                return list(self.shared_values(state).values())
            value = getattr(state, f"_v_{name}")
            values.append(value if index is None else value._values[index])
        return values

    def _begins_with_yield(
        self, number: int, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> bool:
        """Tell whether a process yields before it touches shared state.

        Such a process starts at its first yield, so that the code before it is no step of its own.
        Found out once, on a state of its own that is thrown away.
        """
        try:
            known = self._beginnings.get((number, function, args))
        except TypeError:
            return self._try_first_step(number, function, args)
        if known is None:
            known = self._try_first_step(number, function, args)
            self._beginnings[number, function, args] = known
        return known

    def _try_first_step(
        self, number: int, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> bool:
        trial = _Trial(self, number)
        generator = function(self.build_state(trial), *args)
        try:
            next(generator)
        except (Exception, SystemExit):  # it will be raised again, and reported, in the real run
            return False
        begins_with_yield = not trial.touched
        with contextlib.suppress(Exception):  # nor is its clean-up any step
            generator.close()
        trial.is_over = True
        return begins_with_yield

    def open_steps(self, function: Callable[..., Any]) -> OpenSteps:
        """Return the steps of a process whose accesses depend on values that they read."""
        found = self._open_steps.get(function)
        if found is None:
            found = self._open_steps[function] = open_steps(function, self._kinds)
        return found

    def foresight(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Foresight | None:
        """Return what can be foreseen of the steps of a process; None: nothing."""
        if not (self._trusts_analysis and _is_closed(function, args)):
            return None
        if function not in self._foresight:
            self._foresight[function] = foresee(function, self._kinds)
        return self._foresight[function]

    def foresight_of_declared(self) -> dict[int, Foresight | None]:
        """Return what can be foreseen of each declared process, by number."""
        if len(self._foresight_of_declared) != len(self.declared):
            self._foresight_of_declared = {
                number: self.foresight(function, args) for number, function, args in self.declared
            }
        return self._foresight_of_declared

    def watched_by(self, condition: Callable[[], object]) -> Codes:
        """Return what a condition's code names, as a watch set."""
        names = names_in(condition)
        number = self.vocabulary.watch_set(None if names is None else frozenset(names), names)
        return (code(number, Mode.WATCH),)


def _check_arguments(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Refuse a process that cannot be called with the state and its arguments."""
    try:
        inspect.signature(function).bind(None, *args)
    except TypeError as error:
        raise TreadleError(
            f"process {getattr(function, '__name__', function)!r} is called with the shared state "
            f"and {len(args)} more arguments: {error}"
        ) from None


def _check_shareable(name: str, value: Any) -> None:
    """Refuse a value whose changes or operations the kit would not see."""
    if isinstance(value, type) and hasattr(value, "build"):
        raise TreadleError(f"shared variable {name!r} is a class: write {value.__name__}()")
    if isinstance(value, dict | tuple | list):
        for item in value.values() if isinstance(value, dict) else value:
            if hasattr(item, "build"):
                raise TreadleError(
                    f"shared variable {name!r} holds a {type(item).__name__} in a "
                    f"{type(value).__name__}: use a list of nothing but such objects"
                )


def _is_closed(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Tell whether a process reaches shared state only through the state that it is given."""
    return all(map(_is_data, args)) and _is_data(function)


def _is_data(value: object, seen: frozenset[int] = frozenset()) -> bool:
    """Tell whether a process that was given a value cannot reach shared state through it."""
    if id(value) in seen:
        return True
    seen |= {id(value)}
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_data(item, seen) for item in value)
    if isinstance(value, dict):
        return all(_is_data(item, seen) for item in value.values())
    if isinstance(value, types.FunctionType):
        contents = closed_over(value)
        return contents is not None and all(_is_data(content, seen) for content in contents)
    return is_plain(value) or isinstance(
        value, Handle | type | types.ModuleType | types.BuiltinFunctionType
    )


class _Trial(ModelRun):
    """A run that only notes whether its shared state was touched."""

    def __init__(self, program: Program, process: int) -> None:
        self.touched = self.is_over = False
        self.program = program
        self.vocabulary = program.vocabulary
        self.append = self._touch
        self.naming = frozenset()
        self.current = process
        self.offered = None
        self._built_locks = {}

    def _touch(self, access: int) -> None:
        del access
        if self.is_over:
            raise TreadleError(TOUCHED_OUTSIDE)
        self.touched = True

    def spawn(self, *_args: Any, **_kwargs: Any) -> Any:
        """Creating a process is a step."""
        self.touched = True
        return None

    def join_operation(self, process: Any) -> Any:
        """Announcing a join touches nothing."""
        del process
        return None


def _kind_of(value: Any) -> Kind:
    """Tell what a declared value becomes."""
    if isinstance(value, dict):
        return "dict"
    if isinstance(value, list):
        nested = value and all(isinstance(item, list) or hasattr(item, "build") for item in value)
        return "objects" if nested else "array"
    if isinstance(value, Counter):
        return "counter"
    return "object" if hasattr(value, "build") else "scalar"


def _default_name(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    base = getattr(function, "__name__", "process")
    return f"{base}({', '.join(map(repr, args))})" if args else base
