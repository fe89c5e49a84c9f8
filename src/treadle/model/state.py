"""Shared data of a model: scalars, arrays, dictionaries and commuting counters.

Every access appends one code to the run's log; the log of a step is what the core sees of it.
Writers append *after* they have stored, so that a detailed log can look the new value up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.events import OPEN, Mode, code
from treadle.core.stored import Stores

if TYPE_CHECKING:
    from treadle.model.run import ModelRun

Append = Callable[[int], None]


class Elements:
    """What accesses of an array's elements log, by index: from the end, too, as lists have it.

    Tables that a program makes once. With arithmetic instead, merely running readers(8) takes 1.1
    times as long.
    """

    __slots__ = ("first", "reads", "stores")

    def __init__(self, first: int, length: int) -> None:
        self.first = first
        """The location of the first element; the others follow."""
        self.reads = {index: code(first + index, Mode.READ) for index in range(length)}
        self.stores = {index: Stores(first + index) for index in range(length)}
        for index in range(length):
            self.reads[index - length] = self.reads[index]
            self.stores[index - length] = self.stores[index]


class Array:
    """A fixed number of shared elements, each a location of its own."""

    __slots__ = ("_append", "_first", "_name", "_reads", "_run", "_stores", "_values")

    def __init__(self, run: ModelRun, name: str, elements: Elements, values: list[Any]) -> None:
        self._run = run
        self._append = run.append
        self._name = name
        self._first = elements.first
        self._reads = elements.reads
        self._stores = elements.stores
        self._values = values

    def cas(self, index: int, old: Any, new: Any) -> bool:
        """Compare and swap: if an element is `old`, make it `new`, and tell whether it was."""
        swapped = bool(self._values[index] == old)
        if swapped:
            self._values[index] = new
        if index < 0:
            index += len(self._values)
        note_swap(self._run, self._first + index, old, swapped)
        return swapped

    def __getitem__(self, index: int) -> Any:
        try:
            read = self._reads[index]
        except (KeyError, TypeError):
            self._refuse(index)
        self._append(read)
        return self._values[index]

    def __setitem__(self, index: int, value: Any) -> None:
        try:
            stores = self._stores[index]
        except (KeyError, TypeError):
            self._refuse(index)
        self._values[index] = value
        run = self._run
        if run.current in run.naming:
            # As in `state_class`: the call that is saved is 4 % of a program that only stores.
            codes = stores.get(value) if type(value) is int else None
            run.extend(codes or stores.codes(value, run.vocabulary))
        else:
            self._append(stores.unnamed)

    def _refuse(self, index: object) -> NoReturn:
        """Say what is wrong with an index: as a list does, if it is nothing that lists have."""
        if not isinstance(index, slice):
            self._values[index]  # type: ignore[call-overload]
        raise TreadleError(f"shared array {self._name!r} has no slices: access its elements")

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self._values)))

    def __repr__(self) -> str:
        return f"<shared array {self._name}>"

    @property
    def content(self) -> list[Any]:
        """The values, without accessing them: for reports."""
        return self._values

    def fingerprint_of(self) -> object:
        """Return the values, for the state's fingerprint."""
        return self._name, self._values


def note_swap(run: ModelRun, location: int, old: Any, swapped: bool) -> None:
    """Log a compare-and-swap: a write if it succeeded, else a read."""
    run.append(code(location, Mode.WRITE if swapped else Mode.READ))
    if not is_plain(old):
        run.append(OPEN)
        return
    key = ("compared", location, old)
    run.append(code(run.vocabulary.location(key, "(compared)"), Mode.SWAP))


def is_plain(value: object) -> bool:
    """Tell whether a value is compared by content, so that it can be part of a stable name."""
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    return value is None or isinstance(value, int | float | str | bytes | Enum)


class Dict:
    """A shared dictionary: each key is a location, and so is the set of keys."""

    __slots__ = ("_append", "_keys", "_name", "_run", "_values")

    def __init__(self, run: ModelRun, name: str, keys: int, values: dict[Hashable, Any]) -> None:
        self._run = run
        self._append = run.append
        self._name = name
        self._keys = keys
        self._values = values

    def _location(self, key: Hashable) -> int:
        return self._run.locate(
            ("item", self._name, key), f"{self._name}[{key!r}]", lambda: self._values.get(key)
        )

    def __getitem__(self, key: Hashable) -> Any:
        self._append(code(self._location(key), Mode.READ))
        return self._values[key]

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return the value of a key, or `default`."""
        self._append(code(self._location(key), Mode.READ))
        return self._values.get(key, default)

    def __contains__(self, key: Hashable) -> bool:
        self._append(code(self._location(key), Mode.READ))
        return key in self._values

    def __setitem__(self, key: Hashable, value: Any) -> None:
        self._append(OPEN)
        is_new = key not in self._values
        self._values[key] = value
        self._append(code(self._location(key), Mode.WRITE))
        if is_new:
            self._append(code(self._keys, Mode.WRITE))

    def __delitem__(self, key: Hashable) -> None:
        self._append(OPEN)
        if key not in self._values:
            self._append(code(self._location(key), Mode.READ))
        del self._values[key]
        self._append(code(self._location(key), Mode.WRITE))
        self._append(code(self._keys, Mode.WRITE))

    def __len__(self) -> int:
        self._append(code(self._keys, Mode.READ))
        return len(self._values)

    def __iter__(self) -> Iterator[Hashable]:
        self._append(code(self._keys, Mode.READ))
        return iter(list(self._values))

    def __repr__(self) -> str:
        return f"<shared dictionary {self._name}>"

    @property
    def content(self) -> dict[Hashable, Any]:
        """The items, without accessing them: for reports."""
        return self._values

    def fingerprint_of(self) -> object:
        """Return the items, for the state's fingerprint."""
        return self._name, self._values


class Counter:
    """A shared number whose `add`s commute: two of them are independent.

    >>> import treadle
    >>> program = treadle.model.Program(hits=treadle.model.Counter(0))
    >>> @program.process
    ... def p(s):
    ...     yield
    ...     s.hits.add(1)
    >>> @program.process
    ... def q(s):
    ...     yield
    ...     s.hits.add(1)
    >>> treadle.explore(program).executions
    1
    """

    __slots__ = ("_append", "_location", "_value")

    _append: Append
    _location: int

    def __init__(self, value: float = 0) -> None:
        self._value = value

    def build(self, run: ModelRun, name: str) -> Counter:
        """Return this counter as a shared object of a run."""
        built = Counter(self._value)
        built._append = run.append
        built._location = run.locate(name, name, lambda: built._value)
        return built

    @property
    def content(self) -> float:
        """The value, without accessing it: for reports."""
        return self._value

    def add(self, amount: float) -> None:
        """Add to the counter, in an order that nobody can observe."""
        self._value += amount
        self._append(code(self._location, Mode.ADD))

    def next(self, amount: float = 1) -> float:
        """Add to the counter and return the new value, which tells the order: two are dependent."""
        self._value += amount
        self._append(code(self._location, Mode.WRITE))
        return self._value

    @property
    def value(self) -> float:
        """The counter's value; reading it depends on every `add`."""
        self._append(code(self._location, Mode.READ))
        return self._value

    def __repr__(self) -> str:
        return f"<counter {self._value}>"

    def fingerprint_of(self) -> object:
        """Return the value, for the state's fingerprint."""
        return self._location, self._value


class State:
    """What the processes of a model share; each program derives its own class from this."""

    __slots__ = ("_append", "_run")

    _run: ModelRun
    _append: Append

    def spawn(
        self, function: Callable[..., Any], *args: Any, name: str = "", daemon: bool = False
    ) -> Handle:
        """Create a process that runs `function(state, *args)`, and return a handle to join it."""
        return self._run.spawn(function, args, name, daemon)

    def join(self, process: Handle | str) -> object:
        """Block until a process has ended: `yield s.join(handle)`."""
        return self._run.join_operation(process)

    def until(self, condition: Callable[[], object]) -> object:
        """Block until a condition on shared state holds: `yield s.until(lambda: s.x > 0)`."""
        return self._run.until_operation(condition)

    def label(self, name: str) -> object:
        """Name the block that follows, for constraints: `yield s.label("put")`."""
        return self._run.label_operation(name)

    def cas(self, name: str, old: Any, new: Any) -> bool:
        """Compare and swap a shared scalar: if it is `old`, make it `new`; tell whether it was."""
        slot = f"_v_{name}"
        location = self._run.program.scalars.get(name)
        if location is None:
            raise TreadleError(f"s.cas({name!r}, ...) needs the name of a shared scalar")
        swapped = bool(getattr(self, slot) == old)
        if swapped:
            setattr(self, slot, new)
        note_swap(self._run, location, old, swapped)
        return swapped

    @property
    def me(self) -> str:
        """The name of the process that is running."""
        return self._run.current_name

    def __repr__(self) -> str:
        return "<shared state>"

    def fingerprint_of(self) -> object:
        """Stand for the shared state in a process's locals; its content is compared once."""
        return "shared state"


class Handle:
    """A process created by `spawn`."""

    __slots__ = ("name", "number")

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name

    def __repr__(self) -> str:
        return f"<process {self.name}>"

    def fingerprint_of(self) -> object:
        """Return the name, for the state's fingerprint."""
        return self.name


RESERVED = frozenset(name for name in vars(State) if not name.startswith("_"))
"""Names that a shared variable cannot have."""


def state_class(scalars: dict[str, int], objects: list[str]) -> type[State]:
    """Make the `State` class of a program: one property for each shared scalar and object.

    The accessors are compiled with their codes inside, because they are the hottest code of the
    model kit.
    """
    slots = tuple(f"_v_{name}" for name in [*scalars, *objects])
    lines = ["class ModelState(State):", f"    __slots__ = {slots!r}"]
    for name, location in scalars.items():
        lines += [
            "    @property",
            f"    def {name}(self):",
            f"        self._append({code(location, Mode.READ)})",
            f"        return self._v_{name}",
            f"    @{name}.setter",
            f"    def {name}(self, value):",
            f"        self._v_{name} = value",
            "        run = self._run",
            "        if run.current in run.naming:",
            f"            codes = stores_{name}.get(value) if type(value) is int else None",
            f"            run.extend(codes or stores_{name}.codes(value, run.vocabulary))",
            "        else:",
            f"            self._append({code(location, Mode.STORE)})",
        ]
    for name in objects:
        lines += [
            "    @property",
            f"    def {name}(self):",
            f"        return self._v_{name}",
            f"    @{name}.setter",
            f"    def {name}(self, value):",
            f"        refuse_replacement({name!r})",
        ]
    namespace: dict[str, Any] = {
        "__name__": __name__,  # the module of the class
        "State": State,
        "refuse_replacement": _refuse_replacement,
        **{f"stores_{name}": Stores(location) for name, location in scalars.items()},
    }
    exec("\n".join(lines), namespace)
    made: type[State] = namespace["ModelState"]
    return made


def _refuse_replacement(name: str) -> None:
    raise TreadleError(
        f"shared object {name!r} cannot be replaced while the model runs: change its elements, "
        f"or declare a scalar and store a tuple in it"
    )


def check_name(name: str) -> None:
    """Refuse a shared variable's name that the state object needs for itself."""
    if name in RESERVED or name.startswith("_"):
        raise TreadleError(
            f"a shared variable cannot be called {name!r}: choose a name that does not begin "
            f"with an underscore and is none of {', '.join(sorted(RESERVED))}"
        )
