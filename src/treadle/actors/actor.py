"""Actor classes: plain Python classes whose methods can be sent, and whose fields are their own.

The fields of an actor are in a dictionary that it has only while a task of its group runs. At all
other times its `__dict__` is empty, so that whoever reads a field of another actor ends up in
`__getattr__`, which says so; and the actor's own code reads its fields as fast as any object's.
"""

from __future__ import annotations

import inspect
import sys
import types
from abc import ABCMeta
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from treadle.actors import control
from treadle.actors.future import Future
from treadle.actors.messages import HANDED_OVER
from treadle.core.errors import TreadleError

if TYPE_CHECKING:
    from treadle.actors.names import GroupNames
    from treadle.actors.task import Group
    from treadle.actors.world import World

Params = ParamSpec("Params")
Result = TypeVar("Result")
Returned = TypeVar("Returned")

CLOSED: dict[str, Any] = {}
"""The fields of an actor while none of its tasks runs."""


class Body:
    """What an actor is beyond its fields."""

    __slots__ = ("fields", "group", "kind", "names", "world")

    def __init__(self, world: World, names: GroupNames, group: Group, kind: str) -> None:
        self.world = world
        self.names = names
        self.group = group
        self.kind = kind
        self.fields: dict[str, Any] = {}


class Bound(Generic[Params, Result, Returned]):
    """A method of a certain actor: `x.m.send(a)` calls it asynchronously, `self.m(a)` at once."""

    __slots__ = ("_actor", "_method")

    def __init__(self, actor: Actor, method: Method[Any, Any, Any]) -> None:
        self._actor = actor
        self._method = method

    def send(self, *args: Params.args, **kwargs: Params.kwargs) -> Future[Result]:
        """Make a task that calls the method some time; return its future at once."""
        me = control.running(f"{self._method.name} is sent")
        return me.run.send(me, self._actor, self._method, args, kwargs)

    def __call__(self, *args: Params.args, **kwargs: Params.kwargs) -> Returned:
        """Call the method in the same task, which must be of the same group."""
        if control.look is not None:
            return self._method.function(self._actor, *args, **kwargs)  # type: ignore[no-any-return]
        me = control.running(f"{self._method.name} is called")
        if not me.run.is_within(me, self._actor):
            control.refuse(
                f"{me.in_words} calls {self._method.name} of {self._actor!r}, which is another "
                f"actor: write .{self._method.name}.send(...), and .get() or await for its result"
            )
        return self._method.function(self._actor, *args, **kwargs)  # type: ignore[no-any-return]

    async def call(self, *args: Params.args, **kwargs: Params.kwargs) -> Any:
        """Call the method: at once in the same group, else send it and block (ABS: `x.m(a)`)."""
        me = control.running(f"{self._method.name} is called")
        if not me.run.is_within(me, self._actor):
            return self.send(*args, **kwargs).get()
        result = self._method.function(self._actor, *args, **kwargs)
        return await result if inspect.iscoroutine(result) else result

    def __repr__(self) -> str:
        return f"<{self._method.name} of {self._actor!r}>"


class Method(Generic[Params, Result, Returned]):
    """A function of an actor class: looked up on an actor, it is a `Bound`."""

    __slots__ = ("function", "is_plain", "name", "parameters", "signature")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = function.__name__
        self.signature = inspect.signature(function)
        plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.is_plain = all(p.kind is plain for p in self.signature.parameters.values())
        self.parameters = len(self.signature.parameters) - 1

    def __get__(self, actor: Actor | None, owner: type | None = None) -> Any:
        return self.function if actor is None else Bound(actor, self)

    @property
    def __isabstractmethod__(self) -> bool:
        """Whether a class has to define it before actors can be made."""
        return getattr(self.function, "__isabstractmethod__", False)

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise a `TypeError` if the method does not take these arguments."""
        if kwargs or not self.is_plain or len(args) != self.parameters:
            try:
                self.signature.bind(None, *args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.name}{self.signature}: {error}") from None


class _Declared(Generic[Params, Result, Returned]):
    """What type checkers take a method for that is decorated with `method`."""

    @overload
    def __get__(self, actor: None, owner: type) -> Self: ...
    @overload
    def __get__(self, actor: Any, owner: type) -> Bound[Params, Result, Returned]: ...
    def __get__(self, actor: Any, owner: type) -> Any:
        raise NotImplementedError


@overload
def method(
    function: Callable[Concatenate[Any, Params], Coroutine[Any, Any, Result]],
) -> _Declared[Params, Result, Coroutine[Any, Any, Result]]: ...
@overload
def method(
    function: Callable[Concatenate[Any, Params], Result],
) -> _Declared[Params, Result, Result]: ...
def method(function: Any) -> Any:
    """Tell type checkers that a method can be sent; it changes nothing else."""
    return function


INITIAL: dict[type, Method[Any, Any, Any] | None] = {}
"""The method `run` of classes, which is sent to new actors."""


class ActorType(ABCMeta):
    """The class of actor classes: their functions are methods, and calling them makes actors."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> ActorType:
        """Make methods of the functions."""
        if bases and "__slots__" in namespace:
            raise TreadleError(f"{name} is a class of actors: leave __slots__ out")
        methods: dict[str, Any] = {
            n: Method(value)
            for n, value in namespace.items()
            if isinstance(value, types.FunctionType) and not _is_special(n) and bases
        }
        made = super().__new__(mcs, name, bases, {**namespace, **methods}, **options)
        made._take_over_mixins()
        run = inspect.getattr_static(made, "run", None)
        INITIAL[made] = run if isinstance(run, Method) else None
        HANDED_OVER.add(made)
        return made

    def _take_over_mixins(cls) -> None:
        """Make methods of the functions that come from bases which are no actors."""
        for kind in cls.__mro__[1:-1]:
            if isinstance(kind, ActorType):
                continue
            for name, value in list(vars(kind).items()):
                is_function = isinstance(value, types.FunctionType) and not _is_special(name)
                if is_function and inspect.getattr_static(cls, name) is value:
                    super().__setattr__(name, Method(value))

    def __setattr__(cls, name: str, value: Any) -> None:
        """Take note that tasks write what all actors of the class share."""
        if control.current is not None and not _is_special(name):
            control.current.run.program.learn(f"shared {cls.__name__}.{name}")
        super().__setattr__(name, value)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an actor with a lock of its own."""
        me = control.running(f"an actor of {cls.__name__} is made")
        return me.run.make(me, cls, args, kwargs, is_local=False)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class Actor(metaclass=ActorType):
    """An object with tasks of its own: derive a class, and send its methods.

    >>> from treadle.actors import Actor, program
    >>> import treadle
    >>> class Counter(Actor):
    ...     def __init__(self):
    ...         self.n = 0
    ...     async def add(self, k):
    ...         self.n += k
    >>> @program
    ... def two():
    ...     counter = Counter()
    ...     counter.add.send(1)
    ...     counter.add.send(2)
    >>> treadle.explore(two).executions
    2
    """

    __slots__ = ("__dict__", "__weakref__", "_treadle_body")

    _treadle_body: Body

    @classmethod
    def local(cls, *args: Any, **kwargs: Any) -> Self:
        """Make an actor that shares the lock of the current one: one of them runs at a time."""
        me = control.running(f"an actor of {cls.__name__} is made")
        return me.run.make(me, cls, args, kwargs, is_local=True)  # type: ignore[return-value]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Look a field up that is not at hand: of an actor whose tasks do not run."""
            if _is_special(name):
                raise AttributeError(name)
            if control.look is not None:
                return control.look(self, name)
            me = control.running(f"{name} of an actor is read")
            return me.run.read(me, self, name)

        def __setattr__(self, name: str, value: Any) -> None:
            if control.is_evaluating:
                control.refuse(f"{name} is written in a condition of until(): it may only look")
            if self.__dict__ is CLOSED:
                references = sys.getrefcount(value)  # in a line of its own: arguments count
                me = control.running(f"{name} of an actor is written")
                me.run.write(me, self, name, value, references)
            else:
                object.__setattr__(self, name, value)

    def fingerprint_of(self) -> object:
        """Return what stands for it when states are compared: its name."""
        return self._treadle_body.names.name

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __repr__(self) -> str:
        return self._treadle_body.names.label


def body_of(actor: Actor) -> Body:
    """Return what an actor is beyond its fields."""
    return actor._treadle_body
