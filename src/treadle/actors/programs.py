"""A program of actors: its main function, how its steps depend on each other, what has to hold."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Unpack, overload

from treadle.actors import control
from treadle.actors.accesses import AccessLevel, EntryLevel
from treadle.actors.constrained_run import ConstrainedRun
from treadle.actors.constraints import Constraints
from treadle.actors.detail import DetailedRun
from treadle.actors.fibers import Fibers
from treadle.actors.fields import FieldLevel
from treadle.actors.guidance import Guide
from treadle.actors.levels import ActorLevel
from treadle.actors.names import GroupNames, TaskNames
from treadle.actors.options import ActorOptions
from treadle.actors.orders import ORDERINGS, SENDING
from treadle.actors.output import silenced
from treadle.actors.properties import Check, Field, Properties, watched_in
from treadle.actors.run import ActorRun
from treadle.actors.shared import SHARED, SharedVariables
from treadle.actors.swapped import remark_on
from treadle.actors.watchdog import Watchdog
from treadle.actors.world import MUTABLE, TESTED, TESTING
from treadle.analyses.constraint_list import listed
from treadle.core import program as core
from treadle.core.constraints import Constraint, Declarations, Declared, Independent, finding_in
from treadle.core.errors import TreadleError
from treadle.core.events import Mode, Vocabulary, code
from treadle.core.failure import Failure
from treadle.core.listed import Constrained, Untranslated
from treadle.core.options import declared_in, find_option
from treadle.core.program import FindingError

OPTIONS = declared_in(ActorOptions)
LEVELS: dict[str, Callable[[Program], ActorLevel]] = {
    "actor": lambda _: ActorLevel(),
    "field": FieldLevel,
    "access": AccessLevel,
    "entry": EntryLevel,
}


class Program(core.Program):
    """Actors, and the main function that makes them: it is the first task.

    Make one with `@program`, or of a function and its arguments:

    >>> from treadle.actors import Actor, Program
    >>> import treadle
    >>> class Cell(Actor):
    ...     def __init__(self):
    ...         self.value = 0
    ...     async def set(self, value):
    ...         self.value = value
    >>> def writers(n):
    ...     cell = Cell()
    ...     for i in range(n):
    ...         cell.set.send(i)
    >>> treadle.explore(Program(writers, 3)).executions
    6
    >>> treadle.explore(Program(writers, 3, order="sender")).executions
    1
    """

    front_end = "actors"
    counts_states = True
    guide: Guide | None = None
    """Cuts executions that do not lead to a deadlock cycle, if one is looked for."""
    compares_newborn = True

    def __init__(
        self, main: Callable[..., Any], /, *args: Any, **options: Unpack[ActorOptions]
    ) -> None:
        if not callable(main):
            raise TreadleError(f"a program needs a main function, and was given {main!r}")
        self._set_up(main, args, {}, options, Properties(), [])

    def _set_up(
        self,
        main: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: Mapping[str, Any],
        properties: Properties,
        declared: list[Declared],
    ) -> None:
        self.main = main
        self.args = args
        self.kwargs = kwargs
        self.properties = properties
        self._options = {name: find_option(OPTIONS, name).read(v) for name, v in options.items()}
        self.max_tasks: int = self._option("max_tasks")
        self.always_release: bool = self._option("always_release")
        self._watchdog = Watchdog(self._option("watchdog"))
        self.stops_early: bool = self._option("early_stop")
        self.ordering = ORDERINGS[self._option("order")]
        self._is_outdated = False
        self.tested: frozenset[str] = frozenset()
        """Methods of which it matters to somebody who did not wait whether a task has ended."""
        self.testing: frozenset[str] = frozenset()
        """Methods of those to whom it matters."""
        self.sending: frozenset[str] = frozenset()
        """Methods that send messages whose order matters."""
        self.varying: frozenset[str] = frozenset()
        """Methods whose steps may access one thing or another."""
        self.watched: dict[int, set[Field]] = {}
        """The fields that invariants, by index, look at."""
        self.mutable: frozenset[str] = frozenset()
        """Classes whose fields hold what can be changed."""
        self.shared: frozenset[str] = frozenset()
        """Variables besides fields that methods write: with any, all steps are dependent."""
        self.remembers = False
        """Whether runs take down what tasks saw, so that states can be compared."""
        self._variables: SharedVariables | None = None
        self._known: frozenset[str] = frozenset()
        self._learned: set[str] = set()
        self.name = getattr(main, "__name__", "main")
        self.vocabulary = Vocabulary()
        self.main_names = TaskNames(self.vocabulary, "main", self.name)
        self.main_group = GroupNames(self.vocabulary, "main")
        shared = self.vocabulary.location(("shared", ""), "what actors share")
        self.writes_shared = code(shared, Mode.WRITE)
        self.level = LEVELS[self._option("dependency")](self)
        self.constraints = Constraints(self, declared)
        self._wants_constraints = self._uses_constraints = False
        functools.update_wrapper(self, main)

    def _option(self, name: str) -> Any:
        return self._options.get(name, OPTIONS[name].default)

    def __call__(self, *args: Any, **kwargs: Any) -> Program:
        """Return the program with arguments for its main function."""
        made = Program.__new__(Program)
        declared = self.constraints.declared
        made._set_up(self.main, args, kwargs, self._options, self.properties, declared)
        return made

    def with_options(self, options: Mapping[str, Any]) -> Program:
        """Return the program with other options."""
        made = Program.__new__(Program)
        changed = {**self._options, **options}
        declared = self.constraints.declared
        made._set_up(self.main, self.args, self.kwargs, changed, self.properties, declared)
        return made

    def guided_by(self, guide: Guide) -> Program:
        """Return the program with executions cut that cannot end in a deadlock cycle."""
        made = self.with_options({"early_stop": True})
        made.guide = guide
        made.is_guided = True
        return made

    @property
    def options(self) -> dict[str, object]:
        """Options that it takes to run the program in the same way again."""
        return {
            name: value
            for name, value in self._options.items()
            if OPTIONS[name].in_tokens and value != OPTIONS[name].default
        }

    # What has to hold

    def invariant(self, check: Check) -> Check:
        """Have a function called after every step, once main has ended: it fails by `assert`.

        It is given what main returned, a tuple as several arguments, and may read fields of all
        actors. Steps that change what it looks at are dependent then, which costs reduction.
        """
        self.properties.invariants.append(check)
        return check

    def finally_(self, check: Check) -> Check:
        """Have a function called in every final state in which main has ended: as `invariant`."""
        self.properties.finals.append(check)
        return check

    def independent(self, first: str, second: str, holds: Constraint | None = None) -> Independent:
        """Say that two methods are independent: in every state, or where a function says so.

        A method is named `method`, or `Class.method` if several classes have it; one that waits has
        several blocks, `method:1`, `method:2`, ... As a decorator it takes a function of the actor,
        which it may only read, and of the parameters and local names of the two tasks. For the
        algorithms `optimal-constrained` and `constrained`.

        >>> from treadle.actors import Actor, program
        >>> import treadle
        >>> class Account(Actor):
        ...     def __init__(self):
        ...         self.balance = 0
        ...     async def deposit(self, amount):
        ...         self.balance += amount
        >>> @program
        ... def deposits(n):
        ...     account = Account()
        ...     for i in range(n):
        ...         account.deposit.send(i)
        >>> treadle.explore(deposits(4)).executions
        24
        >>> _ = deposits.independent("deposit", "deposit")
        >>> treadle.explore(deposits(4), "optimal-constrained").executions
        1
        """
        return Independent(self.constraints, first, second, holds)

    # Running

    def start(self, *, detail: bool = False) -> ActorRun:
        """Begin an execution; with `detail`, each step is also recorded in words."""
        if detail:
            return DetailedRun(self)
        return ConstrainedRun(self) if self._uses_constraints else ActorRun(self)

    @property
    def declarations(self) -> Declarations:
        """What was declared of methods that are independent by what they do."""
        return self.constraints

    def use_constraints(self, wanted: bool) -> None:
        """Let steps of such methods say which one they are, or not, from now on."""
        self._wants_constraints = wanted
        self._uses_constraints = wanted and self.has_constraints

    @property
    def orders_messages(self) -> bool:
        """Whether it can be seen in which order messages were sent."""
        return bool(self._option("order") != "any")

    def list_constraints(self, constraints: str) -> Iterator[Constrained | Untranslated]:
        """Yield what is known of each two blocks that conflict, and blocks not understood."""
        self.constraints.choose(constraints)
        return listed(self.constraints)

    def finding_in(self, processes: Sequence[int]) -> FindingError | None:
        """Return a constraint that does not hold of the last two steps of a schedule, if any."""
        return finding_in(lambda: ConstrainedRun(self), processes) if self.has_constraints else None

    @contextmanager
    def controlled(self) -> Iterator[None]:
        """Be the program that is explored: what tasks print is kept from the output."""
        if control.program is self:
            yield
            return
        if control.program is not None:
            raise TreadleError(
                f"{control.program.name} is being explored: explorations cannot be nested"
            )
        self._refuse_missing_arguments()
        control.program = self
        self.fibers = Fibers()
        self._variables = SharedVariables(self)
        self.know(self.knowledge())
        try:
            with silenced(), self._watchdog.watching():
                yield
        finally:
            control.program = None

    def go_on(self) -> None:
        """Watch again in a copy of this process, which has no timers."""
        self._watchdog.again()

    @contextmanager
    def borrowed(self) -> Iterator[None]:
        """Be the program that is explored in the place of the one that is."""
        before, control.program = control.program, None
        try:
            with self.controlled():
                yield
        finally:
            control.program = before

    def _refuse_missing_arguments(self) -> None:
        try:
            inspect.signature(self.main).bind(*self.args, **self.kwargs)
        except TypeError as error:
            raise TreadleError(
                f"the main function of {self.name} cannot be called: {error}; give arguments, as "
                f"in {self.name}(3)"
            ) from None

    # What it learns

    def learn(self, what: str) -> None:
        """Take note of something that decides what steps access, for the next executions."""
        self._learned.add(what)

    def begin_anew(self) -> None:
        """Take note that what was said of steps is not true any more."""
        self._is_outdated = True

    def has_learned(self) -> bool:
        """Tell whether something was learned, and know it from now on."""
        learned, self._learned = self._learned, set()
        outdated, self._is_outdated = self._is_outdated, False
        if learned <= self._known:
            return outdated
        self.know([*self._known, *learned])
        return True

    @property
    def names_containers(self) -> bool:
        """Whether there are lists and the like that methods can name."""
        return self._variables is not None and self._variables.has_containers

    def look_at_variables(self, *, at_first: bool) -> None:
        """Learn which variables besides fields a step changed; main's first one sets them up."""
        assert self._variables is not None
        if at_first:
            self._variables.keep()
            return
        for name in self._variables.changed():
            self.learn(f"{SHARED}{name}")

    def knowledge(self) -> tuple[str, ...]:
        """Return what was learned."""
        return tuple(sorted(self._known))

    def know(self, knowledge: Sequence[str]) -> None:
        """Know what an earlier exploration had learned, and nothing else."""
        self._known = frozenset(knowledge)
        self.watched = watched_in(knowledge)
        self.tested = _beginning_with(TESTED, knowledge)
        self.testing = _beginning_with(TESTING, knowledge)
        self.sending = _beginning_with(SENDING, knowledge)
        self.varying = self.testing | self.sending
        assigned = self._variables.assigned if self._variables is not None else ()
        self.shared = _beginning_with(SHARED, knowledge).union(assigned)
        self.mutable = _beginning_with(MUTABLE, knowledge)

    def remarks(self, failure: Failure) -> list[str]:
        """Return what else there is to say about a failure."""
        said = remark_on(self, failure) if self._option("order") == "any" else ""
        return [said] if said else []

    def notes(self, *, has_ended: bool) -> list[str]:
        """Return what users should know about how steps were told apart."""
        del has_ended
        notes = self.level.notes()
        if self.shared:
            notes.append(
                f"all steps are dependent: actors share {', '.join(sorted(self.shared))}, which "
                f"is no field; fields and messages would need fewer executions"
            )
        if self.constraints.mode == "synthesised" and self._wants_constraints:
            notes += [why.in_words for why in self.constraints.synthesis.untranslated()]
        return notes


def _beginning_with(word: str, knowledge: Iterable[str]) -> frozenset[str]:
    return frozenset(one.removeprefix(word) for one in knowledge if one.startswith(word))


@overload
def program(function: Callable[..., Any], /) -> Program: ...
@overload
def program(**options: Unpack[ActorOptions]) -> Callable[[Callable[..., Any]], Program]: ...
def program(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a program of its main function; `@program` and `@program(order="sender")` both do.

    Called with arguments, it is the program whose main function gets these.
    """
    if function is not None:
        return Program(function)
    return lambda main: Program(main, **options)
