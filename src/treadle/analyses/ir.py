"""The one intermediate representation of actors' code: what analyses read, and nobody runs.

A method is a list of instructions; a position is an index into it. Effects (a new actor, a message,
a wait, a change of a field or of a collection) are instructions of their own; expressions have
none: they are trees over constants, local names, fields of `this`, operators, constructors and
functions. What the lowering does not know is a `Havoc`: an analysis that meets one may report what
it finds, but it proves nothing, and names the line that is to blame.

Each instruction has the span of the expression or statement that it comes from. A wait has the span
of the blocking expression, which is what a suspended frame tells (`co_positions`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """Where something is in the source: lines from 1, columns in bytes from 0, as in `ast`."""

    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"L{self.line}"


# Expressions


@dataclass(frozen=True, slots=True)
class Constant:
    """A value known before the program runs: a literal, or a class or atom of the module."""

    value: object

    def __str__(self) -> str:
        return self.value.__name__ if isinstance(self.value, type) else repr(self.value)


@dataclass(frozen=True, slots=True)
class Local:
    """A parameter, a local name, or a temporary (which begins with `%`)."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Field:
    """A field of `this`."""

    name: str

    def __str__(self) -> str:
        return f"this.{self.name}"


@dataclass(frozen=True, slots=True)
class This:
    """The actor itself."""

    def __str__(self) -> str:
        return "this"


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator: `+`, `==`, `and`, `not`, `index`, `slice`, `.name` for an attribute of a value.

    `+=` is `+` that changes its left side in place if that is a list.
    """

    operator: str
    operands: tuple[Expression, ...]

    def __str__(self) -> str:
        if len(self.operands) == 2 and not self.operator.isalpha():
            return f"({self.operands[0]} {self.operator} {self.operands[1]})"
        return f"{self.operator}({_listed(self.operands)})"


@dataclass(frozen=True, slots=True)
class Make:
    """A new value that holds its operands: `tuple`, `list`, `dict`, or a data constructor.

    `callee` is the class of a data constructor; `keywords` name the last of its operands. A `dict`
    has its keys first, and then its values.
    """

    constructor: str
    operands: tuple[Expression, ...]
    callee: object = None
    keywords: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.constructor}[{_listed(self.operands)}]"


@dataclass(frozen=True, slots=True)
class Apply:
    """A function without effects, which waits for nothing and keeps nothing that it is given.

    `callee` is the function itself; None for a method of a value, whose name begins with a dot.
    `keywords` name the last of the operands.
    """

    function: str
    operands: tuple[Expression, ...]
    callee: object = None
    keywords: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.function}({_listed(self.operands)})"


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then` if the test holds, else `other`."""

    test: Expression
    then: Expression
    other: Expression

    def __str__(self) -> str:
        return f"({self.then} if {self.test} else {self.other})"


@dataclass(frozen=True, slots=True)
class Anything:
    """Some value that the source does not tell; a branch on it may go either way."""

    def __str__(self) -> str:
        return "?"


Expression = Constant | Local | Field | This | Operation | Make | Apply | Conditional | Anything


def _listed(operands: tuple[Expression, ...]) -> str:
    return ", ".join(map(str, operands))


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all that it is made of."""
    yield expression
    match expression:
        case Operation(_, operands) | Make(_, operands) | Apply(_, operands):
            below = operands
        case Conditional(test, then, other):
            below = (test, then, other)
        case _:
            below = ()
    for each in below:
        yield from parts(each)


def fields_of(expression: Expression) -> frozenset[str]:
    """Return the fields of `this` that an expression reads."""
    return frozenset(part.name for part in parts(expression) if isinstance(part, Field))


# Instructions


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """What all instructions have: where they come from."""

    span: Span


@dataclass(frozen=True, slots=True)
class Assign(Located):
    """`target = value` for a local name."""

    target: str
    value: Expression


@dataclass(frozen=True, slots=True)
class SetField(Located):
    """`this.field = value`."""

    field: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Evaluate(Located):
    """An expression for its own sake, such as what is printed."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Update(Located):
    """`target = container.operation(operands)`, which may change the container in place.

    The container holds the operands from then on, or less than before; the result is part of it.
    """

    target: str
    container: Expression
    operation: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Assert(Located):
    """Fails unless the expression holds."""

    value: Expression


@dataclass(frozen=True, slots=True)
class New(Located):
    """A new actor of a class, in the group of `this` if `local`; its initialiser runs at once."""

    target: str
    type: type
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]
    local: bool


@dataclass(frozen=True, slots=True)
class Send(Located):
    """An asynchronous call: the target holds the future of a new task."""

    target: str
    receiver: Expression
    method: str
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True, slots=True)
class Call(Located):
    """A synchronous call: in the same task if the receiver is of this group (`this` is).

    If it is not, and `crosses`, the call is sent and waited for without releasing; else it is an
    error. A receiver of None: a function of the module, which is `function` then.
    """

    target: str
    receiver: Expression | None
    method: str
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...] = ()
    crosses: bool = False
    function: object = None
    is_awaited: bool = False
    """Whether what it returns is awaited at once: else an `async` callee runs when it is."""


@dataclass(frozen=True, slots=True)
class Await(Located):
    """Waits for a future, and releases the actor meanwhile, unless it is there already."""

    target: str | None
    future: Expression


@dataclass(frozen=True, slots=True)
class Get(Located):
    """Waits for a future without releasing."""

    target: str | None
    future: Expression


@dataclass(frozen=True, slots=True)
class Until(Located):
    """Waits until a condition holds, and releases the actor meanwhile, unless it does already."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Pause(Located):
    """Releases the actor once."""


@dataclass(frozen=True, slots=True)
class Branch(Located):
    """Goes on at `then` if the test holds, else at `other`."""

    test: Expression
    then: int
    other: int


@dataclass(frozen=True, slots=True)
class Jump(Located):
    """Goes on elsewhere; a loop is a jump back."""

    to: int


@dataclass(frozen=True, slots=True)
class Return(Located):
    """The end, with a result."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Raise(Located):
    """An exception: on to a handler, if one is around it, else the end."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Havoc(Located):
    """Something that the lowering does not know: it may do anything, and its value be anything."""

    why: str
    target: str | None = None


Instruction = (
    Assign | SetField | Evaluate | Update | Assert | New | Send | Call | Await | Get | Until | Pause
    | Branch | Jump | Return | Raise | Havoc
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Handler:
    """Where an exception leads that arises at positions from `first` to before `end`."""

    first: int
    end: int
    target: int


@dataclass(frozen=True, slots=True)
class Method:
    """The instructions of one method or function; `parameters` without `this`."""

    name: str
    file: str
    parameters: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    handlers: tuple[Handler, ...] = ()
    defaults: tuple[tuple[str, Expression], ...] = ()
    """Values of parameters that need not be given."""
    is_method: bool = True
    """Whether it has a `this`."""

    def successors(self, at: int) -> tuple[int, ...]:
        """Return the positions that may come next without an exception; none at an end."""
        match self.instructions[at]:
            case Branch(_, then, other):
                return (then, other)
            case Jump(to):
                return (to,)
            case Return() | Raise():
                return ()
            case _:
                return (at + 1,)

    def handled_at(self, at: int) -> tuple[int, ...]:
        """Return where an exception at a position may lead."""
        return tuple(each.target for each in self.handlers if each.first <= at < each.end)

    def reachable(self) -> list[int]:
        """Return the positions that can be reached from the beginning, in order."""
        return sorted(self.ahead_of(0) | {0})

    def ahead_of(self, at: int) -> set[int]:
        """Return the positions that may come after one: itself, if it is in a loop."""
        ahead: set[int] = set()
        work = [*self.successors(at), *self.handled_at(at)]
        while work:
            position = work.pop()
            if position not in ahead:
                ahead.add(position)
                work += [*self.successors(position), *self.handled_at(position)]
        return ahead

    def havocs(self) -> Iterator[Havoc]:
        """Yield what is unknown in it."""
        return (each for each in self.instructions if isinstance(each, Havoc))

    def __str__(self) -> str:
        lines = [f"{self.name}({', '.join(self.parameters)}):"]
        for at, instruction in enumerate(self.instructions):
            lines.append(f"  {at:3} {instruction_in_words(instruction)}")
        return "\n".join(lines)


def used(instruction: Instruction) -> tuple[Expression, ...]:
    """Return the expressions that an instruction evaluates."""
    match instruction:
        case Assign(_, value) | SetField(_, value) | Evaluate(value) | Assert(value):
            return (value,)
        case Return(value) | Raise(value):
            return (value,)
        case Update(_, container, _, operands):
            return (container, *operands)
        case New(_, _, arguments, keywords, _):
            return (*arguments, *_values(keywords))
        case Send(_, receiver, _, arguments, keywords):
            return (receiver, *arguments, *_values(keywords))
        case Call(_, receiver, _, arguments, keywords):
            return (*(() if receiver is None else (receiver,)), *arguments, *_values(keywords))
        case Await(_, future) | Get(_, future):
            return (future,)
        case Until(test) | Branch(test):
            return (test,)
        case _:
            return ()


def assigned(instruction: Instruction) -> str | None:
    """Return the local name that an instruction gives a value, if any."""
    match instruction:
        case Assign() | Update() | New() | Send() | Call() | Await() | Get() | Havoc():
            return instruction.target
        case _:
            return None


def _values(keywords: tuple[tuple[str, Expression], ...]) -> tuple[Expression, ...]:
    return tuple(value for _, value in keywords)


def instruction_in_words(instruction: Instruction) -> str:
    """Print an instruction on a line, as the tests and `treadle` people read it."""
    match instruction:
        case Assign(target, value):
            return f"{target} = {value}"
        case SetField(name, value):
            return f"this.{name} = {value}"
        case Evaluate(value):
            return f"eval {value}"
        case Update(target, container, operation, operands):
            return f"{target} = update {container}.{operation}({_listed(operands)})"
        case Assert(value):
            return f"assert {value}"
        case New(target, kind, local=local):
            how = "new local" if local else "new"
            return f"{target} = {how} {kind.__name__}({_listed(used(instruction))})"
        case Send(target, receiver, method):
            return f"{target} = {receiver}!{method}({_listed(used(instruction)[1:])})"
        case Call(target, None, method):
            return f"{target} = call {method}({_listed(used(instruction))})"
        case Call(target, receiver, method):
            return f"{target} = call {receiver}.{method}({_listed(used(instruction)[1:])})"
        case _:
            return _control_in_words(instruction)


def _control_in_words(instruction: Instruction) -> str:
    match instruction:
        case Await(target, future):
            return f"{_to(target)}await {future}"
        case Get(target, future):
            return f"{_to(target)}get {future}"
        case Until(condition):
            return f"until {condition}"
        case Branch(test, then, other):
            return f"br {test} {then} {other}"
        case Jump(to):
            return f"jmp {to}"
        case Return(value):
            return f"ret {value}"
        case Raise(value):
            return f"raise {value}"
        case Havoc(why):
            return f"havoc {instruction.span}: {why}"
        case _:
            return "pause"


def _to(target: str | None) -> str:
    return "" if target is None else f"{target} = "
