"""Which steps the source analysis takes for open: everything that it does not understand."""

from __future__ import annotations

import itertools
import linecache
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import assume, given, seed, settings

import treadle
from brute import TooMany
from random_programs import Body, build_from_source
from test_coarser import FAMILIES
from test_properties import programs
from treadle.core.events import OPEN, Codes, Mode, mode_of
from treadle.model import Counter, Lock, Mailbox, Program, RLock, Semaphore

Process = Iterator[Any]


def program_of(*bodies: str, **names: Any) -> Program:
    """Return a program of processes given as source, where `inspect` finds it."""
    program = Program(
        x=0, y=0, a=[0, 1, 2], grid=[[0, 1], [2, 3]], d={"k": 0}, n=Counter(), lock=Lock(),
        locks=[Lock(), Lock()], rlock=RLock(), semaphore=Semaphore(2), box=Mailbox(),
    )  # fmt: skip
    for number, body in enumerate(bodies):
        name = f"p{number}"
        source = f"def {name}(s):\n" + textwrap.indent(textwrap.dedent(body), "    ")
        filename = f"<snippet {hash(source)}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        namespace = dict(names)
        exec(compile(source, filename, "exec"), namespace)
        program.process(namespace[name], name=name)
    return program


def openness(program: Program) -> str:
    """Run a process alone: `o` for each open step, `.` for each rigid one."""
    run = program.start()
    steps = ""
    while run.is_enabled(0):
        steps += "o" if OPEN in run.step(0) else "."
    run.close()
    return steps


# Each line is a statement; `yield` begins a step. The string says which steps are open.
SNIPPETS = [
    # One access, or several that no value decides about.
    (".", "yield", "s.x = 1"),
    (".", "yield", "s.x"),
    (".", "yield", "s.y = s.x"),
    (".", "yield", "s.x = 1", "s.y = 2", "s.a[0] = 3"),
    (".", "yield", "s.a[-1] = s.a[0]"),
    (".", "yield", "v: int = s.x", "s.y = v"),
    (".", "yield", "w: int", "s.y = 1"),
    (".", "yield", "v, w = 1, s.x"),
    (".", "yield", "s.grid[1][0] = 5"),
    (".", "yield", "s.n.add(1)"),
    (".", "yield", "v = s.n.value", "s.n.add(2)"),
    (".", "yield", "return s.x"),
    (".", "yield", "pass"),
    ("..", "s.x = 1", "yield", "s.y = 1"),
    # The end of a step decides nothing.
    (".", "yield", "assert s.x == 0"),
    (".", "yield", "if s.x == 1: v = 1", "else: v = 2"),
    ("..", "yield", "v = s.x", "yield", "if v == 0: s.y = 1"),
    ("..", "yield", "v = s.x", "yield", "s.a[v] = 1"),
    ("..", "yield", "v = s.x", "yield", "s.y = v + 1"),
    ("..", "yield", "if s.x == 0: v = 1", "yield", "s.y = 1"),
    ("..", "yield", "v = [s.x, s.y]", "yield", "s.a[v[0]] = 1"),
    # A value that decides about an access.
    ("o", "yield", "if s.x == 0: s.y = 1"),
    ("o", "yield", "if s.x == 1: pass", "else: s.y = 1"),
    ("o", "yield", "v = s.x", "if v: pass", "s.y = 1"),
    ("o", "yield", "while s.x > 0: s.y = 1"),
    ("o", "yield", "assert s.x == 0", "s.y = 1"),
    ("o", "yield", "v = 1 if s.x else s.y"),
    ("o", "yield", "v = s.x and s.y"),
    ("o", "yield", "v = s.x or s.y"),
    ("o", "yield", "v = 1", "w = s.x if v else s.y"),  # only one is read; taken for a decision
    ("o", "yield", "v = not s.x", "if v: s.y = 1"),
    ("o", "yield", "v = f'{s.x}'", "if v == '0': s.y = 1"),
    (".", "yield", "for i in [0, 1]: s.a[i] = i"),
    ("o", "yield", "for i in range(s.x): pass", "s.y = 1"),
    ("o", "yield", "for i in [s.x]: s.a[i] = 1"),
    ("o", "yield", "v = 0 == s.x == s.y"),  # y is read only if x is 0
    # Shared objects as values: what is done with them reads them.
    ("o", "yield", "for v in s.a:", "    if v: s.x = 1"),
    ("o", "yield", "for k in s.d: s.d[k]"),
    ("o", "yield", "if len(s.box) == 0: s.x = 1"),
    ("o", "yield", "if s.box: s.x = 1"),
    ("o", "yield", "if not s.d: s.x = 1", "else: s.y = 1"),
    ("o", "yield", "if sum(s.a) == 3: s.x = 1"),
    ("o", "yield", "t = (s.a, 1)", "if t[0][0] == 0: s.x = 1"),
    ("o", "yield", "t, u = s.a, s.d", "if t[0] == 0: s.x = 1"),
    ("o", "yield", "t = s.a if 1 else s.d", "if t[0] == 0: s.x = 1"),
    ("o", "yield", "t = [s.n]", "if t[0].value == 0: s.x = 1"),
    # A location that is computed from one.
    ("o", "yield", "s.a[s.x] = 1"),
    ("o", "yield", "v = s.x", "w = (v, 1)", "s.a[w[0]] = 1"),
    ("o", "yield", "s.grid[s.x][0] = 1"),
    ("o", "yield", "s.locks[s.x].try_acquire()"),
    ("o", "yield", "v = s.x", "s.grid[v][0]"),
    ("o", "yield", "v = s.x", "s.locks[v].locked"),
    ("o.", "yield", "if s.y == 0: yield s.locks[s.x].acquire()"),
    ("o.", "yield", "if s.y == 0: yield s.until(lambda v=s.x: v == 0)"),
    ("..", "yield", "s.x", "yield s.locks[s.x].acquire()"),
    ("o", "yield", "s.x in s.d"),
    (".", "yield", "'k' in s.d"),
    (".", "yield", "v = s.x", "v = 1", "s.a[v] = 1"),
    ("o", "l = []", "m = l", "yield", "l += [s.x]", "s.a[m[0]] = 1"),
    # An operation that may raise.
    ("o", "yield", "v = 1 / (1 + s.x)", "s.y = 1"),
    ("o", "yield", "v = s.x < 1", "s.y = 1"),
    ("o", "yield", "v = s.x == 1", "s.y = 1"),
    ("o", "yield", "v = not s.x", "s.y = 1"),
    ("o", "yield", "v = f'{s.x}'", "s.y = 1"),
    (".", "yield", "v = s.x is None", "s.y = 1"),
    ("o", "yield", "v, w = s.a[0], 1", "(v, w) = (s.x, v)", "s.y = 1"),
    ("o", "yield", "v = -s.x", "s.y = 1"),
    ("o", "yield", "v = int(s.x)", "s.y = 1"),
    ("o", "yield", "v = s.x.real", "s.y = 1"),
    ("o", "yield", "v = f'{s.x:d}'", "s.y = 1"),
    # Operations that are yielded.
    ("..", "yield s.lock.acquire()", "s.x = 1", "yield", "s.lock.release()"),
    (".", "yield s.semaphore.acquire()", "s.x"),
    (".", "yield s.until(lambda: s.x == 0)", "s.y = 1"),
    ("..", "s.box.send(1)", "m = yield s.box.receive()", "s.x = m"),
    (".o", "s.box.send(1)", "m = yield s.box.receive()", "s.a[m] = 1"),
    (".o", "s.box.send(1)", "m = yield s.box.receive()", "if m: s.x = 1"),
    ("...", "s.box.send(1)", "m = yield s.box.receive()", "yield", "if m: s.x = 1"),
    ("..", "yield s.locks[0].acquire()", "yield", "s.locks[0].release()"),
    # Loops and branches around steps.
    ("....", "for i in range(2):", "    yield", "    s.x", "    yield", "    s.y = 1"),
    (".oo", "v = s.x", "while v < 2:", "    yield", "    v += 1", "    if s.x == 0: s.y = v"),
    ("..", "for i in range(5):", "    yield", "    s.x", "    if i == 1: break"),
    ("..", "for i in range(2):", "    yield", "    if i: continue", "    s.x"),
    ("..", "for i in range(2):", "    yield", "    s.x", "else:", "    s.y = 1"),
    ("o", "while True:", "    yield", "    if s.x == 0: break", "s.y = 1"),
    ("..", "for i in [1, 2]:", "    yield", "    v = s.x", "    if v == 0: continue", "    v = 1"),
    (".", "yield", "v = s.x", "if v: raise ValueError(v)"),
    ("o", "yield", "if s.x: raise ValueError(s.x)"),
    ("o", "yield", "if s.x: raise ValueError", "s.y = 1"),
    ("o", "yield", "if s.x: return", "s.y = 1"),
    # The beginning.
    ("o.", "if s.x == 0: s.y = 1", "yield", "s.x = 1"),
    ("..", "v = s.x", "yield", "s.a[v] = 1"),
]


@pytest.mark.parametrize(
    ("expected", "body"), [(first, "\n".join(rest)) for first, *rest in SNIPPETS]
)
def test_which_steps_are_open(expected: str, body: str) -> None:
    assert openness(program_of(body)) == expected


# What the analysis does not follow makes every step of the process open.
OPAQUE = [
    ("yield", "helper(s)"),
    ("yield", "t = s", "t.x = 1"),
    ("yield", "t = s.a", "t[0] = 1"),
    ("yield", "t = s.grid[0]", "t[0] = 1"),
    ("yield", "t = s.locks", "s.x = 1"),
    ("yield", "try: s.x = 1", "except ValueError: pass"),
    ("yield", "with manager: s.x = 1"),
    ("yield", "v = [s.x for _ in range(1)]"),
    ("yield", "v = {s.x}"),
    ("yield", "v = (w := s.x)"),
    ("yield", "v = lambda: s.x"),
    ("yield", "v = s.a[0:1] if False else 1"),
    ("yield", "match s.x:", "    case 0: s.y = 1"),
    ("yield", "del s.d['k']"),
    ("yield", "global g", "s.x = 1"),
    ("yield from helper_steps(s)",),
    ("yield", "other.value = s.x"),
    ("yield", "import math", "s.x = 1"),
    ("yield", "def inner(): return 1", "s.x = 1"),
]


class Other:
    """Something that the model changes besides its state."""

    value = 0


class Manager:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def helper(s: Any) -> None:
    s.x = 1


def helper_steps(s: Any) -> Process:
    yield
    s.x = 1


@pytest.mark.parametrize("lines", OPAQUE, ids=lambda lines: lines[-1])
def test_what_is_not_understood_is_open(lines: tuple[str, ...]) -> None:
    names = {"helper": helper, "helper_steps": helper_steps, "other": Other(), "manager": Manager()}
    program = program_of("\n".join(lines), **names)
    assert openness(program) == "o"


def test_a_process_without_source_is_open() -> None:
    namespace: dict[str, Any] = {}
    exec("def p(s):\n    yield\n    s.x = 1\n", namespace)
    program = Program(x=0)
    program.process(namespace["p"])
    assert openness(program) == "o"


def test_a_process_that_takes_its_state_otherwise_is_open() -> None:
    def p(*arguments: Any) -> Process:
        yield
        arguments[0].x = 1

    program = Program(x=0)
    program.process(p)
    assert openness(program) == "o"


def test_a_lambda_is_open() -> None:
    program = Program(x=0)
    program.process(lambda s: (yield s.until(lambda: s.x == 0)), name="p")
    assert openness(program) == "o"


def test_two_processes_in_one_line_of_source_keep_apart() -> None:
    def p(s: Any) -> Process: yield; s.x = 1  # noqa: E702  # fmt: skip

    program = Program(x=0)
    program.process(p)
    assert openness(program) == "."


def test_nested_methods_and_decorators_are_found() -> None:
    class Model:
        def p(self, s: Any) -> Process:
            yield
            s.x = 1

    def same(function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    @same
    def q(s: Any) -> Process:
        yield
        s.x = 1
        yield
        if s.x == 1:
            s.y = 1

    program = Program(x=0, y=0)
    program.process(q)
    assert openness(program) == ".o"
    # The first parameter of a bound method is not the state, as far as the analysis knows.
    methods = Program(x=0)
    methods.process(Model().p)
    assert openness(methods) in ("o", ".")


def test_rigid_steps_need_no_probes() -> None:
    rigid = program_of("yield\ns.x = 1", "yield\nv = s.x\nyield\nif v: s.y = 1", "yield\ns.y = 2")
    assert treadle.explore(rigid).probes == 0
    jumping = program_of("yield\ns.x = 1", "yield\nif s.x: s.y = 1", "yield\ns.y = 2")
    assert treadle.explore(jumping).probes > 0


# The property: with the same past of its own, a rigid step always accesses the same locations


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("examples", "limit"),
    [
        pytest.param(25, 60, id="few"),
        pytest.param(1000, 300, id="more", marks=[pytest.mark.slow, pytest.mark.minutes]),
    ],
)
def test_a_rigid_step_does_the_same_in_every_order(family: str, examples: int, limit: int) -> None:
    @seed(examples)
    @settings(max_examples=examples)
    @given(bodies=programs(family))
    def agree(bodies: list[Body]) -> None:
        try:
            seen = steps_by_local_state(build_from_source(bodies), limit)
        except TooMany:
            assume(False)
        changing = {state: steps for state, steps in seen.items() if len(steps) > 1}
        assert all(may_change(codes) for steps in changing.values() for codes in steps)

    agree()


def steps_by_local_state(program: Program, limit: int) -> dict[object, set[Codes]]:
    """Run every prefix of every interleaving; return what processes did in each state of their own.

    A process's own state is its generator: where it stands and what its locals are.
    """
    seen: dict[object, set[Codes]] = {}
    schedules: list[list[int]] = [[]]
    for count in itertools.count():
        if not schedules:
            return seen
        if count > 4 * limit:
            raise TooMany
        schedule = schedules.pop()
        run = after(program, schedule)
        schedules += [[*schedule, process] for process in run.enabled()]
        run.close()
        if schedule:
            note_last_step(program, schedule, seen)
    return seen


def note_last_step(program: Program, schedule: list[int], seen: dict[object, set[Codes]]) -> None:
    run = after(program, schedule[:-1])
    name = program.vocabulary.process_names[schedule[-1]]
    _, continuations, *_ = run.fingerprint()
    codes = run.step(schedule[-1])
    run.close()
    # What a blocking operation takes is no business of the analysis.
    chosen = tuple(access for access in codes if mode_of(access) in CHOSEN)
    seen.setdefault((name, dict(continuations)[name]), set()).add(chosen)


def may_change(codes: Codes) -> bool:
    """Tell whether a step says that it is open, or which value it compares with."""
    return any(mode_of(access) in (Mode.OPEN, Mode.SWAP) for access in codes)


CHOSEN = (Mode.READ, Mode.WRITE, Mode.ADD, Mode.GIVE, Mode.SPAWN, Mode.OPEN, Mode.SWAP)


def after(program: Program, schedule: list[int]) -> Any:
    """Run some steps."""
    run = program.start()
    for process in schedule:
        run.step(process)
    return run
