"""Random small concurrent programs, as data: shared variables, arrays, conditionals on read values,
locks, semaphores, awaits, mailboxes, spawn and join, assertions, atomic blocks.

A program is a list of process bodies; a body is a list of instructions, each one step:

    ("write", x, value)  ("read", x)            x: name of a shared variable; reads go to `acc`
    ("store", x)  ("increment", x)              store acc; read and write in one step
    ("put", value)  ("get", index)              array element `acc % 3`; fixed element
    ("cas", x, old, new)  ("add", amount)  ("total",)
    ("if", value, then, otherwise)              on acc; branches are bodies; no step
    ("locked", lock, body)  ("down",)  ("up",)  lock and semaphore
    ("await", x, value)  ("either", value)      wait for one variable, or for one of two
    ("try", lock)                               acquire and release if it is free, in one step
    ("swap", x, old, new)  ("exchange", index, old, new)  compare and swap; acc tells whether it did
    ("next",)                                   increment the counter and see its value
    ("copy-if", value, new)                     if x == value: y = new, in one step
    ("send", value)  ("receive",)  ("poll",)  ("select", parity)
    ("spawn", body)  ("join",)                  join the last process spawned, if any
    ("branch", x, y, value, z)                  if x: y = value; else: acc = z; z = value
    ("check", value)                            assert acc != value; part of the next step
    ("atomic", body)                            all in one step
"""

from __future__ import annotations

import functools
import itertools
import linecache
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from treadle.model import Counter, Lock, Mailbox, Program, Semaphore
from treadle.model.mailbox import TIMEOUT

Body = list[tuple[Any, ...]]

VARIABLES = ("x", "y", "z")


def build(bodies: list[Body]) -> Program:
    """Return the program that a description stands for."""
    program = Program(
        "random",
        x=0,
        y=0,
        z=0,
        array=[0, 0, 0],
        count=Counter(0),
        locks=[Lock(), Lock()],
        semaphore=Semaphore(1),
        box=Mailbox(),
    )
    for index, body in enumerate(bodies):
        program.process(process, body, name=f"p{index}")
    return program


def process(s: Any, body: Body) -> Iterator[Any]:
    """Run a body: a step ends before each instruction that begins one."""
    frame = {"acc": 0, "child": None}
    yield from execute(s, body, frame)


def execute(s: Any, body: Body, frame: dict[str, Any]) -> Iterator[Any]:
    for operation, *args in body:
        if operation == "if":
            yield from execute(s, args[1] if frame["acc"] == args[0] else args[2], frame)
        elif operation == "check":
            assert frame["acc"] != args[0], f"acc is {args[0]}"
        elif operation == "locked":
            yield s.locks[args[0]].acquire()
            yield from execute(s, args[1], frame)
            yield
            s.locks[args[0]].release()
        elif operation == "await":
            yield s.until(lambda name=args[0], wanted=args[1]: getattr(s, name) == wanted)
        elif operation == "either":
            yield s.until(lambda wanted=args[0]: s.x == wanted or s.y == wanted)
        elif operation == "down":
            yield s.semaphore.acquire()
        elif operation == "join":
            if frame["child"] is not None:
                yield s.join(frame["child"])
        elif operation == "receive":
            frame["acc"] = yield s.box.receive()
        elif operation == "select":
            frame["acc"] = yield s.box.receive(lambda m, parity=args[0]: m % 2 == parity)
        elif operation == "poll":
            message = yield s.box.receive(timeout=True)
            frame["acc"] = -1 if message is TIMEOUT else message
        elif operation == "atomic":
            yield
            for instruction in args[0]:
                act(s, instruction, frame)
        else:
            yield
            act(s, (operation, *args), frame)


def act(s: Any, instruction: tuple[Any, ...], frame: dict[str, Any]) -> None:
    """Do one instruction that never blocks."""
    operation, *args = instruction
    match operation:
        case "write":
            setattr(s, args[0], args[1])
        case "read":
            frame["acc"] = getattr(s, args[0])
        case "store":
            setattr(s, args[0], frame["acc"])
        case "increment":
            setattr(s, args[0], getattr(s, args[0]) + 1)
        case "put":
            s.array[frame["acc"] % 3] = args[0]
        case "get":
            frame["acc"] = s.array[args[0]]
        case "cas":
            if getattr(s, args[0]) == args[1]:
                setattr(s, args[0], args[2])
        case "copy-if":  # a data-dependent step: what it writes depends on what it reads
            if s.x == args[0]:
                s.y = args[1]
        case "branch":
            if getattr(s, args[0]):
                setattr(s, args[1], args[2])
            else:
                frame["acc"] = getattr(s, args[3])
                setattr(s, args[3], args[2])
        case "swap":
            frame["acc"] = int(s.cas(*args))
        case "exchange":
            frame["acc"] = int(s.array.cas(*args))
        case "add":
            s.count.add(args[0])
        case "next":
            frame["acc"] = int(s.count.next())
        case "total":
            frame["acc"] = int(s.count.value)
        case "up":
            s.semaphore.release()
        case "send":
            s.box.send(args[0])
        case "spawn":
            frame["child"] = s.spawn(process, args[0])
        case "try":
            frame["acc"] = int(s.locks[args[0]].try_acquire())
            if frame["acc"]:
                s.locks[args[0]].release()
        case _:
            raise AssertionError(f"unknown instruction {instruction}")


T = TypeVar("T")


class Source(Protocol):
    """Where random choices come from: a `random.Random`, or Hypothesis."""

    def choice(self, options: Sequence[T], /) -> T: ...

    def randint(self, low: int, high: int, /) -> int: ...


SIMPLE = ("write", "read", "store", "increment", "put", "get", "cas", "add", "total", "next")
ALL = (*SIMPLE, "if", "check", "locked", "await", "either", "down", "up", "send", "receive", "poll",
       "select", "spawn", "join", "atomic", "try", "copy-if", "swap", "exchange")  # fmt: skip


def draw_body(rng: Source, kinds: tuple[str, ...], level: int) -> Body:
    """Draw a nested body."""
    return [draw_instruction(rng, kinds, level) for _ in range(rng.randint(1, 2))]


def draw_instruction(rng: Source, kinds: tuple[str, ...], level: int) -> tuple[Any, ...]:
    operation = rng.choice(kinds)
    value = rng.randint(0, 2)
    if operation in ("if", "locked", "spawn", "atomic") and level > 1:
        operation = "read"
    match operation:
        case "write":
            return (operation, rng.choice(VARIABLES), value)
        case "read" | "store" | "increment":
            return (operation, rng.choice(VARIABLES))
        case "await":
            return (operation, rng.choice(VARIABLES), value)
        case "cas" | "swap":
            return (operation, rng.choice(VARIABLES), rng.randint(0, 1), value)
        case "exchange":
            return (operation, rng.randint(0, 1), rng.randint(0, 1), value)
        case "if":
            inner = [draw_body(rng, kinds, level + 1) for _ in range(2)]
            return (operation, rng.randint(0, 1), *inner)
        case "locked":
            return (operation, rng.randint(0, 1), draw_body(rng, kinds, level + 1))
        case "spawn":
            return (operation, draw_body(rng, kinds, level + 1))
        case "atomic":
            fixed = tuple(kind for kind in kinds if kind in ("write", "read", "store", "increment",
                                                            "get", "add", "copy-if"))  # fmt: skip
            return (operation, [draw_instruction(rng, fixed, 2) for _ in range(rng.randint(2, 3))])
        case "put" | "send" | "add" | "either" | "get":
            return (operation, value)
        case "copy-if":
            return (operation, value, rng.randint(1, 2))
        case "branch":
            names = [rng.choice(VARIABLES) for _ in range(3)]
            return (operation, names[0], names[1], value, names[2])
        case "check":
            return (operation, rng.randint(1, 2))
        case "select" | "try":
            return (operation, rng.randint(0, 1))
        case _:
            return (operation,)


def draw_program(rng: Source, kinds: tuple[str, ...], lengths: Sequence[int]) -> list[Body]:
    """Draw a program with one process of each length."""
    return [[draw_instruction(rng, kinds, 0) for _ in range(length)] for length in lengths]


def build_from_source(bodies: list[Body]) -> Program:
    """Return the same program with each process written out as Python source.

    `build` interprets a body, which the kit's source analysis cannot see through; here it can, so
    that steps count as rigid wherever they are.
    """
    program = build([])
    for index, body in enumerate(bodies):
        name = f"p{index}"
        program.process(compile_process(name, ["acc, child = 0, None", *_lines(body)]), name=name)
    return program


_serial = itertools.count()


KNOWN: dict[str, Any] = {}
"""Functions that processes compiled from now on may name."""


def compile_process(name: str, lines: list[str]) -> Any:
    """Compile a process, with its source where `inspect` finds it."""
    return _compiled(name, tuple(lines))


@functools.cache
def _compiled(name: str, lines: tuple[str, ...]) -> Any:
    source = f"def {name}(s):\n    yield\n" + "".join(f"    {line}\n" for line in lines)
    filename = f"<random program {next(_serial)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"_compile": compile_process, "TIMEOUT": TIMEOUT, **KNOWN}
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]


def _lines(body: Body) -> list[str]:
    """Return a body as source lines; like `execute`."""
    lines: list[str] = []
    for operation, *args in body:
        if operation == "if":
            lines.append(f"if acc == {args[0]}:")
            lines += [*_indented(_lines(args[1])), "else:", *_indented(_lines(args[2]))]
        elif operation == "check":
            lines.append(f"assert acc != {args[0]}, 'acc is {args[0]}'")
        elif operation == "locked":
            lines += [f"yield s.locks[{args[0]}].acquire()", *_lines(args[1])]
            lines += ["yield", f"s.locks[{args[0]}].release()"]
        elif operation == "atomic":
            lines += ["yield", *itertools.chain.from_iterable(map(_act_lines, args[0]))]
        elif operation == "join":
            lines += ["if child is not None:", "    yield s.join(child)"]
        elif operation in _BLOCKING:
            lines += [line.format(*args) for line in _BLOCKING[operation]]
        else:
            lines += ["yield", *_act_lines((operation, *args))]
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines or ["pass"]]


_BLOCKING = {
    "await": ["yield s.until(lambda: s.{0} == {1})"],
    "either": ["yield s.until(lambda: s.x == {0} or s.y == {0})"],
    "down": ["yield s.semaphore.acquire()"],
    "receive": ["acc = yield s.box.receive()"],
    "select": ["acc = yield s.box.receive(lambda m: m % 2 == {0})"],
    "poll": ["acc = yield s.box.receive(timeout=True)", "if acc is TIMEOUT:", "    acc = -1"],
}


def _act_lines(instruction: tuple[Any, ...]) -> list[str]:
    """Return one instruction that never blocks as source lines; like `act`."""
    operation, *args = instruction
    if operation == "spawn":
        inner = ["acc, child = 0, None", *_lines(args[0])]
        return [f"child = s.spawn(_compile('child', {inner!r}))"]
    return [line.format(*args) for line in _ACTIONS[operation]]


_ACTIONS = {
    "write": ["s.{0} = {1}"],
    "read": ["acc = s.{0}"],
    "store": ["s.{0} = acc"],
    "increment": ["s.{0} += 1"],
    "put": ["s.array[acc % 3] = {0}"],
    "get": ["acc = s.array[{0}]"],
    "cas": ["if s.{0} == {1}:", "    s.{0} = {2}"],
    "copy-if": ["if s.x == {0}:", "    s.y = {1}"],
    "branch": ["if s.{0}:", "    s.{1} = {2}", "else:", "    acc = s.{3}", "    s.{3} = {2}"],
    "swap": ["acc = int(s.cas('{0}', {1}, {2}))"],
    "exchange": ["acc = int(s.array.cas({0}, {1}, {2}))"],
    "add": ["s.count.add({0})"],
    "next": ["acc = int(s.count.next())"],
    "total": ["acc = int(s.count.value)"],
    "up": ["s.semaphore.release()"],
    "send": ["s.box.send({0})"],
    "try": ["acc = int(s.locks[{0}].try_acquire())", "if acc:", "    s.locks[{0}].release()"],
}
