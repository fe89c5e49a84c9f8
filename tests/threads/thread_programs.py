"""Random programs with threads: as data, and as the source of a module that Treadle explores.

`thread_oracle` interprets the same data without Treadle. A program is a list of bodies, one for
each thread; a body is a list of instructions:

    ("do", statement)                     one of `STATEMENTS`: source text and its atomic steps
    ("if", value, then, otherwise)        on `acc`, the thread's own variable; no step
    ("check", value)                      assert acc != value; no step
    ("locked", i, body)  ("try", i, body)  ("timed", i, body)   a lock; blocking, not, or for a time
    ("down",)  ("up",)                    a semaphore
    ("spawn", body)  ("join",)  ("timed join",)   the last thread that this thread started
    ("atomic", [statement, ...])          treadle.atomic(): one step
    ("iterate", name, form)               count the elements of a container that are not zero
"""

from __future__ import annotations

import itertools
import linecache
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from treadle.python.runtime.patience import Patience
from treadle.threads.program import ThreadProgram

Body = list[tuple[Any, ...]]


# Statements: the source, and what it does step by step. `g` and `cell` live in `s` for the oracle.


def _place(place: str, in_oracle: str = "") -> dict[str, tuple[str, ...]]:
    other = in_oracle or place
    return {
        f"acc = {place}": (f"acc = {other}",),
        f"{place} = 1": (f"{other} = 1",),
        f"{place} = acc + 2": (f"{other} = acc + 2",),
        f"{place} += 1": (f"_ = {other}", f"{other} = _ + 1"),
    }


def _atomic(*statements: str) -> dict[str, tuple[str, ...]]:
    return {statement: (statement,) for statement in statements}


ATTRIBUTES = {
    **_place("box.x"),
    **_place("box.y"),
    **_atomic("del box.y", "acc = getattr(box, 'y', 5)", "setattr(box, 'x', 3)"),
    **_atomic("acc = hasattr(box, 'y')"),
    "box.x, box.y = 4, 5": ("box.x = 4", "box.y = 5"),
    "acc = box.x + box.y": ("_ = box.x", "acc = _ + box.y"),
}
CLASS_ATTRIBUTES = {**_place("Box.c"), **_place("box.c"), **_atomic("del Box.c", "del box.c")}
ITEMS = {**_place("items[0]"), **_place("items[1]"), **_place("items[-1]")}
KEYS = {**_place("keys['a']"), **_place("keys['b']"), **_atomic("del keys['b']")}
GLOBALS = _place("g", "s.g")
CLOSURES = _place("cell", "s.cell")
LISTS = _atomic(
    "items.append(1)", "acc = items.pop()", "acc = items.pop(0)", "items.insert(0, 2)",
    "acc = len(items)", "acc = 1 in items", "acc = sum(items)", "acc = items[2]", "del items[0]",
    "acc = items == [0, 1]", "acc = len(items[:])", "items.remove(0)", "items.clear()",
    "items.reverse()", "items.extend((1, 2))", "acc = bool(items)", "acc = max(items)",
    "items[:1] = []", "acc = items.index(1)", "acc = items[acc % 2]", "items[acc % 2] = 3",
    "acc = sum(items[1:])", "items[5] = 1",
)  # fmt: skip
DICTS = _atomic(
    "acc = keys.get('a', 5)", "acc = keys.get('b', 5)", "acc = keys.setdefault('b', 3)",
    "acc = keys.pop('b', 7)", "acc = 'b' in keys", "acc = len(keys)", "acc = len(list(keys))",
    "acc = sum(keys.values())", "keys.update(b=1)", "keys.update({'a': 2, 'c': 1})", "keys.clear()",
    "acc = keys.pop('a')", "acc = keys.popitem()[1]", "acc = 'b' not in keys",
    "acc = keys == {'a': 1}",
)  # fmt: skip
SETS = _atomic(
    "members.add(1)", "members.add(2)", "members.discard(1)", "acc = 1 in members",
    "acc = len(members)", "members.remove(0)", "acc = sum(members)", "members.clear()",
    "acc = members.pop()", "members.update((1, 3))",
)  # fmt: skip
DEQUES = _atomic(
    "line.append(1)", "line.appendleft(2)", "acc = line.popleft()", "acc = line.pop()",
    "acc = len(line)", "acc = 1 in line", "acc = line[0]", "acc = sum(line)", "line[0] = 5",
    "line.rotate(1)",
)  # fmt: skip
REFERENCES = {
    **_atomic("box.ref = Box(1)", "mine = box.ref", "nodes.append(Box(2))", "mine = nodes[-1]"),
    **_atomic("mine = nodes[0]", "mine = nodes.pop()", "box.ref = mine", "nodes.append(mine)"),
    "acc = mine.x": ("acc = mine.x",),
    "mine.x = 3": ("mine.x = 3",),
    "mine.x += 1": ("_ = mine.x", "mine.x = _ + 1"),
    "acc = box.ref.x": ("_ = box.ref", "acc = _.x"),
    "box.ref.x += 1": ("there = box.ref", "_ = there.x", "there.x = _ + 1"),
    "acc = nodes[0].x": ("_ = nodes[0]", "acc = _.x"),
    "mine = Box(4); mine.x += 1": ("mine = Box(4); mine.x += 1",),
    "acc = mine is box.ref": ("acc = mine is box.ref",),
}
CALLS = {
    **_atomic(
        "acc = sorted(items)[-1]", "acc = len(str(items))", "acc = len(items + [1])",
        "acc = len([*items])", "acc = tuple(items).count(1)", "acc, *_ = items", "acc, _ = items",
        "acc = list(map(abs, items))[0]", "acc = any(items)", "acc = len(f'{items}')",
        "acc = operator.itemgetter(0)(items)", "acc = operator.attrgetter('x')(box)",
        "acc = vars(box)['x']", "vars(box)['x'] = 6", "box.__dict__.update(x=7)",
        "acc = box.__dict__.get('y', 8)", "operator.setitem(items, 0, 9)",
    ),
    "push = items.append; push(4)": ("items.append(4)",),
    "acc = items.copy() == items": ("_ = items.copy()", "acc = _ == items"),
    "acc = items[box.x]": ("_ = box.x", "acc = items[_]"),
    "items[0], items[1] = items[1], items[0]": (
        "a = items[1]", "b = items[0]", "items[0] = a", "items[1] = b",
    ),
    "box.bump()": ("_ = box.x", "box.x = _ + 1"),
    "acc = box.double": ("acc = 2 * box.x",),
    "box.double = 8": ("box.x = 4",),
    "box.double += 2": ("_ = box.x", "box.x = _ + 1"),
}  # fmt: skip
MAPPINGS = {
    **_atomic(
        "acc = dict(keys).get('b', 9)", "acc = {**keys}.get('a', 9)", "acc = min(keys.values())",
        "acc = [*keys.items()][0][1]", "keys[0, 1] = 2", "acc = keys.get((0, 1), 4)", "keys[1] = 5",
        "acc = keys.get(True, 6)", "acc = counts['a']", "counts['a'] = 3", "acc = len(counts)",
        "acc = counts.get('a', 7)", "acc = 'a' in counts", "log.append(1)", "acc = len(log)",
        "log[:] = []", "Box.tags['a'] = 1", "acc = len(box.tags)", "acc = box.tags.get('a', 3)",
    ),
    **_place("slot.x"),
    "acc = keys['b'] if 'b' in keys else 8": ("_ = 'b' in keys", "acc = keys['b'] if _ else 8"),
    "counts['a'] += 1": ("_ = counts['a']", "counts['a'] = _ + 1"),
    "view = keys.keys(); acc = len(view)": ("acc = len(keys)",),
    "acc = sum(keys[key] for key in ('a', 'b') if key in keys)": (
        "_ = 'a' in keys", "acc = keys['a'] if _ else 0",
        "_ = 'b' in keys", "acc += keys['b'] if _ else 0",
    ),
}  # fmt: skip
STATEMENTS: dict[str, tuple[str, ...]] = {
    **CALLS, **MAPPINGS, **ATTRIBUTES,
    **CLASS_ATTRIBUTES, **ITEMS, **KEYS, **GLOBALS, **CLOSURES, **LISTS, **DICTS,
    **SETS, **DEQUES, **REFERENCES,
}  # fmt: skip

FAMILIES: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "attributes": (list(ATTRIBUTES), ("if", "check")),
    "classes": (list(CLASS_ATTRIBUTES), ("check",)),
    "items": ([*ITEMS, *KEYS], ("if", "check")),
    "variables": ([*GLOBALS, *CLOSURES], ("if", "check")),
    "lists": ([*LISTS, *ITEMS], ("iterate", "check")),
    "dictionaries": ([*DICTS, *KEYS], ("iterate", "check")),
    "sets": ([*SETS, *DEQUES], ("iterate", "check")),
    "calls": (list(CALLS), ("iterate", "check")),
    "mappings": (list(MAPPINGS), ("iterate", "check")),
    "references": (list(REFERENCES), ("if",)),
    "locks": (list(_place("box.x")), ("locked", "locked", "try", "timed", "check")),
    "semaphores": (list(_place("box.x")), ("up", "down", "check")),
    "threads": (list(_place("box.x")), ("spawn", "spawn", "join", "timed join", "check")),
    "atomic": ([*_place("box.x"), *_place("items[0]")], ("atomic", "atomic", "if")),
    "everything": (
        list(STATEMENTS),
        ("if", "check", "locked", "try", "timed", "up", "down", "spawn", "join", "atomic",
         "iterate"),
    ),
}  # fmt: skip
"""Statements to draw from, and other instructions."""


# Drawing

T = TypeVar("T")


class Source(Protocol):
    """Where random choices come from: a `random.Random`, or Hypothesis."""

    def choice(self, options: Sequence[T], /) -> T: ...

    def randint(self, low: int, high: int, /) -> int: ...


def draw_program(rng: Source, family: str, lengths: Sequence[int], variety: int = 4) -> list[Body]:
    """Draw one thread of each length, from few statements, so that they meet."""
    statements, others = FAMILIES[family]
    few = [rng.choice(statements) for _ in range(variety)]
    return [[draw_instruction(rng, few, others, 0) for _ in range(length)] for length in lengths]


def draw_instruction(
    rng: Source, statements: Sequence[str], others: Sequence[str], level: int
) -> tuple[Any, ...]:
    operation = rng.choice(("do", "do", "do", *others)) if level < 2 else "do"

    def body() -> Body:
        length = rng.randint(1, 2)
        return [draw_instruction(rng, statements, others, level + 1) for _ in range(length)]

    match operation:
        case "do":
            return ("do", rng.choice(statements))
        case "if":
            return ("if", rng.randint(0, 1), body(), body())
        case "check":
            return ("check", rng.randint(0, 2))
        case "locked" | "try" | "timed":
            return (operation, rng.randint(0, 1), body())
        case "spawn":
            return ("spawn", body())
        case "atomic":
            return ("atomic", [rng.choice(statements) for _ in range(rng.randint(1, 3))])
        case "iterate":
            used = [name for name in ("items", "keys", "members", "line")
                    if any(name in statement for statement in statements)]  # fmt: skip
            return ("iterate", rng.choice(used or ["items"]), rng.choice(list(FORMS)))
        case _:
            return (operation,)


# As source

FORMS = {
    "loop": "for element in {0}:\n    acc += element != 0",
    "list": "acc += len([element for element in {0} if element != 0])",
    "generator": "acc += sum(element != 0 for element in {0})",
    "enumerate": "for _, element in enumerate({0}):\n    acc += element != 0",
    "next": (
        "elements = iter({0})\n"
        "while (element := next(elements, None)) is not None:\n"
        "    acc += element != 0"
    ),
}
"""Ways to go through a container, all with the same steps."""

HEADER = """\
import operator
import threading
from collections import defaultdict, deque
import treadle

class Box:
    c = 0
    tags = {}
    def __init__(self, x):
        self.x = x
        self.y = 0
        self.ref = None

    def bump(self):
        self.x += 1

    @property
    def double(self):
        return 2 * self.x

    @double.setter
    def double(self, value):
        self.x = value // 2

class Slotted:
    __slots__ = ("x",)

g = 0
log = []

def test():
    global g
    g = 0
    log.clear()
    Box.c = 0
    Box.tags.clear()
    box = Box(0)
    slot = Slotted()
    slot.x = 0
    counts = defaultdict(int)
    items = [0, 0]
    keys = {"a": 0}
    members = {0}
    line = deque([0])
    nodes = [Box(0)]
    cell = 0
    locks = [threading.Lock(), threading.Lock()]
    semaphore = threading.Semaphore(1)
    hold(
        box, Box, items, keys, members, line, nodes, slot, counts, globals(),
        (lambda: cell).__closure__[0],
    )
"""
FOOTER = """\
    threads = [threading.Thread(target=target) for target in ({targets},)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def source_of(bodies: list[Body]) -> str:
    """Return a program as the source of a module with a function `test`."""
    numbers = itertools.count()
    text = HEADER
    names = []
    for body in bodies:
        name = f"thread{next(numbers)}"
        names.append(name)
        text += "".join(f"    {line}\n" for line in _function(name, body, numbers))
    return text + FOOTER.format(targets=", ".join(names))


def _function(name: str, body: Body, numbers: Iterator[int]) -> list[str]:
    lines = ["nonlocal cell", "global g", "acc, child, mine = 0, None, box"]
    lines += [*_lines(body, numbers), f"done('{name}', acc)"]
    return [f"def {name}():", *_indented(lines)]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _lines(body: Body, numbers: Iterator[int]) -> list[str]:
    lines: list[str] = []
    for operation, *args in body:
        match operation:
            case "do":
                lines.append(args[0])
            case "if":
                lines += [f"if acc == {args[0]}:", *_indented(_lines(args[1], numbers))]
                lines += ["else:", *_indented(_lines(args[2], numbers))]
            case "check":
                lines.append(f"assert acc != {args[0]}, 'acc is {args[0]}'")
            case "locked":
                lines += [f"with locks[{args[0]}]:", *_indented(_lines(args[1], numbers))]
            case "try" | "timed":
                how = "blocking=False" if operation == "try" else "timeout=1"
                lines += [f"if locks[{args[0]}].acquire({how}):", "    try:"]
                lines += _indented(_indented(_lines(args[1], numbers)))
                lines += ["    finally:", f"        locks[{args[0]}].release()"]
                lines += ["else:", "    acc = -1"]
            case "down":
                lines.append("semaphore.acquire()")
            case "up":
                lines.append("semaphore.release()")
            case "spawn":
                name = f"thread{next(numbers)}"
                lines += _function(name, args[0], numbers)
                lines += [f"child = threading.Thread(target={name})", "child.start()"]
            case "join":
                lines += ["if child is not None:", "    child.join()"]
            case "timed join":
                lines += ["if child is not None:", "    child.join(1)"]
                lines += ["    acc = int(child.is_alive())"]
            case "atomic":
                lines += ["with treadle.atomic():", *_indented(args[0])]
            case "iterate":
                lines += FORMS[args[1]].format(args[0]).splitlines()
            case _:
                raise AssertionError(f"unknown instruction {operation}")
    return lines


class Module:
    """The source of a program as a module that Treadle instruments, and what its test shares."""

    _serial = itertools.count()

    def __init__(self, source: str) -> None:
        self.source = source
        self._name = f"random_threads_{next(self._serial)}"
        filename = f"/random/{self._name}.py"
        lines = source.splitlines(keepends=True)
        linecache.cache[filename] = (len(source), None, lines, filename)
        self._module = types.ModuleType(self._name)
        self._module.__file__ = filename
        held: dict[str, Any] = {}
        self.space = space = self._module.__dict__
        space["hold"] = _outside(_hold, held=held)
        space["done"] = _outside(_done, held=held)
        sys.modules[self._name] = self._module
        exec(compile(source, filename, "exec"), space)
        self.final_state: Callable[[], object] = _outside(
            _final_state, held=held, final_state_of=_outside(final_state_of)
        )

    @property
    def test(self) -> Callable[[], None]:
        """The function that the module is about."""
        test: Callable[[], None] = self.space["test"]
        return test

    def program(self) -> ThreadProgram:
        """Return the test as a program; of all modules, only this one is instrumented.

        Timeouts may expire whenever they like: so they do for the oracle.
        """
        program: Any = ThreadProgram(self.test, "test", patience=Patience(timeouts="explore"))
        program._instrumentation.is_instrumented = lambda name, _: name == self._name
        return program

    def close(self) -> None:
        """Forget the module."""
        del sys.modules[self._name]


def _outside(function: types.FunctionType, **names: Any) -> Any:
    """Return the function with globals of no module, so that it is no code under test."""
    return types.FunctionType(function.__code__, {"__builtins__": __builtins__, **names})


def _hold(*objects: Any) -> None:
    held.clear()  # type: ignore[name-defined]  # noqa: F821
    held["shared"] = objects  # type: ignore[name-defined]  # noqa: F821


def _done(name: str, acc: object) -> None:
    held[name] = acc  # type: ignore[name-defined]  # noqa: F821


def _final_state() -> object:
    return final_state_of(held)  # type: ignore[name-defined]  # noqa: F821


def final_state_of(known: dict[str, Any]) -> object:
    """Return what the shared objects look like now, and what the threads had in hand at the end."""
    box, kind, items, keys, members, line, nodes, slot, counts, variables, cell = known["shared"]

    boxes: list[object] = []
    described: list[object] = []
    todo = [box, *nodes]
    while todo:
        one = todo.pop(0)
        if one is not None and not any(one is other for other in boxes):
            boxes.append(one)
            todo.append(one.__dict__.get("ref"))
    for one in boxes:
        reference = one.__dict__.get("ref")
        number = [i for i, other in enumerate(boxes) if other is reference]
        attributes = sorted((k, v) for k, v in one.__dict__.items() if k != "ref")
        described.append((tuple(attributes), tuple(number)))
    order = tuple(next((i for i, other in enumerate(boxes) if other is one), -1) for one in nodes)
    by_key = tuple(sorted(keys.items(), key=str))  # only who goes through it can see the order
    in_hand = tuple(sorted((k, int(v)) for k, v in known.items() if k != "shared"))
    return (
        tuple(described), order, kind.__dict__.get("c"), tuple(items), by_key,
        tuple(sorted(members)), tuple(line), slot.x, tuple(counts.items()), variables["g"],
        tuple(variables["log"]), tuple(kind.tags.items()), cell.cell_contents, in_hand,
    )  # fmt: skip
