"""What a review of the model kit found: failures that were missed, and false alarms."""

from __future__ import annotations

import functools
import itertools
import linecache
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import pytest

import treadle
from algorithms import covering, reducing
from treadle import TreadleError, cli
from treadle.model import TIMEOUT, Counter, Lock, Mailbox, Program, Semaphore
from treadle.report.comparison import findings_of

COUNTERS = {"counters": [Counter(), Counter(), Counter()]}

Process = Callable[..., Any]


def program_of(*processes: Process | tuple[Any, ...], **shared: Any) -> Program:
    """Return a program of processes, with arguments in a tuple; `daemon` is one."""
    program = Program(**shared)
    for one in processes:
        given = one if isinstance(one, tuple) else (one,)
        program.process(*given, daemon=given[0].__name__ == "daemon")
    return program


def orders(*processes: Process | tuple[Any, ...], **shared: Any) -> Iterator[Callable[[], Program]]:
    """Yield what makes the same program with its processes declared in every order."""
    for order in itertools.permutations(processes):
        yield functools.partial(program_of, *order, **shared)


def check_all(make: Callable[[], Program], executions: int, kinds: str = "") -> None:
    """Check that every algorithm covers the program, and finds what the exhaustive one finds.

    `kinds` are the initials of the kinds of the failures, sorted.
    """
    results = {name: treadle.explore(make(), name, stop_on_failure=False) for name in covering()}
    found = findings_of(results["exhaustive"])
    assert "".join(sorted({kind[0] for kind, _ in found})) == kinds
    for name, result in results.items():
        assert (name, result.complete, findings_of(result)) == (name, True, found)
        if name in reducing():
            assert (name, result.executions) == (name, executions)
    assert results["optimal"].blocked == 0


# F1: steps that were taken for rigid though they are open

SOURCE_MISSED = (((1, 0, 0),), ((1, 1, 0), (1, 0, 1)), ((0, 1, 2), (0, 1, 2)))
OPTIMAL_MISSED = (((0, 0, 1), (2, 1, 2)), ((0, 1, 2), (0, 0, 0)), ((1, 0, 2),))
"""For each process its steps `(i, value, j)`: if counter i is that value, increment counter j."""

TEMPLATE = """
def make(s, steps):
    def process({parameters}):
        seen = ()
        for i, value, j in steps:
            yield
            read = {counters}[i].value
            seen = seen + (read,)
            if read == value:
                {counters}[j].next(1)
        raise ValueError(seen)
    return process
"""


def compiled(source: str) -> dict[str, Any]:
    """Return what source defines, the source where `inspect` finds it."""
    file = f"<review {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"TIMEOUT": TIMEOUT}
    exec(compile(source, file, "exec"), namespace)
    return namespace


def made(parameters: str, counters: str, *given: Any) -> Process:
    return compiled(TEMPLATE.format(parameters=parameters, counters=counters))["make"](*given)


def process(name: str, *lines: str) -> Process:
    return compiled("\n    ".join([f"def {name}(s):", *lines, ""]))[name]


writes_x = process("writes_x", "yield", "s.x = 1")
writes_y = process("writes_y", "yield", "s.y = 1")
writes_key = process("writes_key", "yield", "s.d['k'] = 1")

DECLARED = {
    "positional only": lambda steps: made("s, /, unused=0", "s.counters", None, steps),
    "method": lambda steps: MethodType(made("self, s", "s.counters", None, steps), object()),
    "wrapper": lambda steps: functools.wraps(writes_x)(made("s", "s.counters", None, steps)),
}
CHILDREN = {
    "argument": lambda s, steps: (made("s, given", "given", s, steps), s.counters),
    "in a list": lambda s, steps: (made("s, given", "given[0]", s, steps), [s.counters]),
    "closure": lambda s, steps: (made("_", "s.counters", s, steps),),
    "default": lambda s, steps: (made("_, given=s.counters", "given", s, steps),),
    "keyword": lambda s, steps: (made("_, *, given=s", "given.counters", s, steps),),
}


@pytest.mark.parametrize("steps", [SOURCE_MISSED, OPTIMAL_MISSED], ids=["source", "optimal"])
@pytest.mark.parametrize("way", [*DECLARED, *CHILDREN])
def test_no_way_to_reach_shared_state_hides_an_access(way, steps):
    def parent(s):
        for part in steps:
            s.spawn(*CHILDREN[way](s, part))
        yield

    def make():
        processes = [DECLARED[way](part) for part in steps] if way in DECLARED else [parent]
        return program_of(*processes, **COUNTERS)

    check_all(make, 4, "e")


says_more = process("says_more", "yield", "assert s.x == 1, f'y is {s.y}'")
misses_key = process("misses_key", "yield", "value = s.d['k']", "s.y = value")


@pytest.mark.parametrize(
    ("processes", "kinds"),
    [((says_more, writes_x, writes_y), "a"), ((misses_key, writes_key, writes_y), "e")],
)
def test_a_failure_amid_a_step_decides_about_the_rest(processes, kinds):
    for make in orders(*processes, x=0, y=0, d={}):
        check_all(make, 3, kinds)


# F2: what a process does before its first yield


def test_a_process_knows_itself_before_its_first_yield():
    def p(s, me):
        before = s.me
        if before.endswith("b"):
            s.x = 1
        yield
        s.x = 2
        assert before == me

    def parent(s):
        s.spawn(p, "parent.1:b", name="b")
        yield
        s.x = 3

    program = Program(x=0)
    for me in "ab":
        program.process(p, me, name=me)
    check_all(lambda: program, 3)
    check_all(lambda: program_of(parent, x=0), 3)


def begins_otherwise(s, begun, limit, raises):
    if next(begun) >= limit:
        if raises:
            raise ValueError("only now and then")
        s.x = 1
    yield
    s.x = 2


def spawns(s, *given):
    yield
    s.spawn(*given)


@pytest.mark.parametrize("algorithm", covering())
@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("spawned", [False, True])
def test_a_process_that_begins_otherwise_is_nondeterministic(spawned, raises, algorithm):
    for limit in (1, 2, 3):  # once when it is tried, once in the first execution, once again
        given = (begins_otherwise, itertools.count(), limit, raises)
        program = program_of((spawns, *given) if spawned else given, writes_x, x=0)
        result = treadle.explore(program, algorithm, stop_on_failure=False)
        assert [failure.kind for failure in result.failures] == ["nondeterminism"]
        assert not result.complete


def test_an_exception_before_the_first_yield_is_a_finding():
    p = process("p", "raise ValueError('at once')", "yield")
    for one in (p, (spawns, p)):
        check_all(functools.partial(program_of, one, writes_x, x=0), 1, "e")


# F3: conditions that reach shared state by detours


def holds(s: Any) -> bool:
    return s.a == 1 and s.b == 0


class Door:
    def is_open(self, s):
        return s.a == 1 and s.b == 0

    __call__ = is_open


DOOR = Door()
CONDITIONS = {
    "direct": lambda s: lambda: s.a == 1 and s.b == 0,
    "function": lambda s: lambda: holds(s),
    "method": lambda s: lambda: DOOR.is_open(s),
    "callable": lambda s: lambda: DOOR(s),
    "partial": lambda s: functools.partial(DOOR, s),
    "default": lambda s: lambda check=DOOR.is_open: check(s),
    "keyword": lambda s: lambda *, check=holds: check(s),
    "list": lambda s: lambda checks=[DOOR.is_open]: checks[0](s),
    "getattr": lambda s: lambda: getattr(s, "a") == 1 and getattr(s, "b") == 0,  # noqa: B009
    "names": lambda s: lambda: [getattr(s, name) for name in "ab"] == [1, 0],
}


@pytest.mark.parametrize("way", CONDITIONS)
def test_a_condition_may_reach_the_state_by_detours(way):
    def daemon(s):
        yield s.until(CONDITIONS[way](s))
        raise AssertionError("through")

    opens = process("opens", "yield", "s.a = 1", "yield", "s.b = 1")
    closes = process("closes", "yield", "s.b = 2", "yield", "s.a = 0")
    for make in orders(daemon, opens, closes, a=0, b=0):
        check_all(make, 5, "a")


def test_a_condition_may_name_what_is_not_there_yet():
    def p(s):
        yield s.until(lambda: s.x == 1 or later)
        later = 1

    check_all(lambda: program_of(writes_x, p, x=1), 2)


# F4, F5: messages and matches that have no name


@pytest.mark.parametrize("message", [list, lambda values: {0: values[0]}, bytearray])
def test_messages_without_a_hash_may_differ(message):
    def sends(s):
        yield
        value = s.x
        yield
        s.box.send(message([value]))

    def receives(s):
        taken = yield s.box.receive(lambda content: content[0] == 1, timeout=True)
        assert taken is TIMEOUT, "taken"

    for make in orders(sends, receives, writes_x, box=Mailbox(), x=0):
        check_all(make, 4, "a")


class Wanted:
    def __init__(self, value):
        self.value = value

    def matches(self, message):
        return message == self.value

    __call__ = matches


MATCHES = {
    "method": (5, lambda value: Wanted(value).matches),
    "callable": (5, Wanted),
    "partial": (5, lambda value: functools.partial(Wanted.matches, Wanted(value))),
    "default": (3, lambda value: lambda message, value=value: message == value),
    "keyword": (3, lambda value: lambda message, *, value=value: message == value),
    "closure": (3, lambda value: lambda message: message == value),
    "content": (5, lambda value: lambda message, values=[value]: message in values),
    "type": (3, lambda value: lambda message: (message, type(value)) == (2, bool)),
}


@pytest.mark.parametrize("way", MATCHES)
def test_matches_that_look_alike_are_kept_apart(way):
    executions, match = MATCHES[way]
    values = (1, True) if way == "type" else (1, 2)

    def receives(s, value):
        yield
        taken = yield s.box.receive(match(value), timeout=True)
        assert taken is TIMEOUT, "taken"

    sends = process("sends", "yield", "s.box.send(2)")
    for make in orders(*((receives, value) for value in values), sends, box=Mailbox()):
        check_all(make, executions, "a")


# F6, F7, F12: misuse is refused, and the message says what to do


def refused(says: str, make: Callable[[], Program]) -> None:
    """Check that every algorithm refuses a program."""
    for algorithm in covering():
        with pytest.raises(TreadleError, match=says):
            treadle.explore(make(), algorithm, stop_on_failure=False)


def test_a_declared_process_cannot_be_called_like_a_spawned_one():
    program = Program(x=0)
    program.process(spawns, writes_x, name="p")
    program.process(writes_x, name="p.1")
    refused(r"two processes are called 'p\.1'.*: choose another name", lambda: program)


FORGOTTEN = {
    "acquire": lambda s: s.lock.acquire(),
    "until": lambda s: s.until(lambda: s.x == 1),
    "receive": lambda s: s.box.receive(),
    "timed": lambda s: s.box.receive(timeout=True),
    "join": lambda s: s.join("writes_x"),
    "semaphore": lambda s: s.free.acquire(),
}


def careless(s, ask, then):
    if then != "start":
        yield
    ask(s)
    if then == "fail":
        raise ValueError("on the way")
    if then == "ask again":
        yield s.other.acquire()
    elif then != "end":
        yield


@pytest.mark.parametrize("ask", FORGOTTEN.values(), ids=FORGOTTEN)
@pytest.mark.parametrize("then", ["start", "go on", "end", "ask again", "fail"])
def test_a_forgotten_yield_is_noticed(then, ask):
    shared = {"lock": Lock(), "other": Lock(), "box": Mailbox(), "free": Semaphore(1), "x": 0}
    make = functools.partial(program_of, (careless, ask, then), writes_x, **shared)
    refused("process careless.* asks for .* but does not yield it: write `yield ", make)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"a": Lock()}, "holds a Lock in a dict: use a list of nothing but such objects"),
        ((Lock(), Lock()), "holds a Lock in a tuple: use a list"),
        ([Lock(), 0], "holds a Lock in a list: use a list of nothing but"),
        (Lock, r"is a class: write Lock\(\)"),
        (Mailbox, r"is a class: write Mailbox\(\)"),
    ],
)
def test_shared_objects_where_they_would_not_be_seen_are_refused(value, says):
    with pytest.raises(TreadleError, match=f"shared variable 'l' {says}"):
        Program(l=value)


def test_a_check_that_ends_early_does_not_pass():
    @treadle.check(max_executions=1)
    def small_budget():
        return program_of(writes_x, lambda s: (yield from writes_x(s)), x=0)

    with pytest.raises(treadle.CheckFailed, match="max_executions = 1") as caught:
        small_budget()
    assert not caught.value.result.failures


@pytest.mark.parametrize("line", ["s.a[0:2] = [1, 2]", "s.y = s.a[:2]"])
def test_slices_of_shared_arrays_are_refused(line):
    p = process("p", "yield", line)
    refused("'a' has no slices: access its elements", lambda: program_of(p, a=[0, 0, 0], y=0))


# F8, F9, F11: who fails, and as whom


def test_conditions_and_matches_are_evaluated_as_their_process():
    takes_turns = process("p", "yield s.until(lambda: s.turn == s.me)", "s.turn = 'b'")
    receives = process("p", "m = yield s.box.receive(lambda m: m == s.me)", "assert m == s.me")
    sends = process("sends", "yield", "s.box.send('b')", "yield", "s.box.send('a')")
    for one, executions in ((takes_turns, 1), (receives, 2)):
        program = program_of(sends, turn="a", box=Mailbox())
        program.process(one, name="a")
        program.process(one, name="b")
        check_all(lambda program=program: program, executions)


@pytest.mark.parametrize(
    ("condition", "executions"),
    [
        (lambda s: s.until(lambda: s.d["k"]), 2),
        (lambda s: s.until(lambda: next(value for value in s.a if value)), 1),
        (lambda s: s.box.receive(lambda message: message[0]), 1),
        (lambda s: s.box.receive(lambda message: message[0], timeout=True), 2),
        (lambda s: s.box.receive(lambda message: next(iter([]))), 1),  # noqa: ARG005
    ],
)
def test_a_condition_that_raises_is_a_finding(condition, executions):
    def waits(s):
        yield condition(s)

    goes_on = process("goes_on", "yield", "s.d['k'] = 1", "s.box.send(1)")
    for make in orders(waits, goes_on, a=[0, 0], box=Mailbox(), d={}):
        check_all(make, executions, "e")


ADDRESS = """
import treadle
program = treadle.model.Program(x=0)
def reads(s):
    yield
    assert s.x == 1, object()
def writes(s):
    yield
    s.x = 1
for name, process in ("p", reads), ("q", reads), ("w", writes):
    program.process(process, name=name)
"""


def test_the_same_message_of_two_processes_and_with_addresses(tmp_path, capsys, monkeypatch):
    (tmp_path / "address.py").write_text(ADDRESS)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", "address.py::program"])
    out = capsys.readouterr().out
    assert ended.value.code == 1
    covering = sum(algorithm.covers for algorithm in treadle.ALGORITHMS.values())
    assert f"All {covering} algorithms that covered the space agree:" in out
    for name in "pq":
        assert f"  assertion: {name}: AssertionError: <object object>\n" in out


# F13: random programs that ended in an error of Treadle


def test_open_steps_behind_a_semaphore():
    attempt = "if s.lock.try_acquire(): s.lock.release()"
    first = ("if s.x: s.y = 1", "s.counters[0].add(1)")
    tries = process("tries", "yield s.free.acquire()", attempt)
    then = (attempt, "if 0 in s.d: del s.d[1]")
    fails = process("fails", "yield", *first, "yield s.free.acquire()", *then)
    shared = {"x": 0, "y": 0, "d": {0: 0}, "free": Semaphore(1), "lock": Lock(), **COUNTERS}
    for make in orders(tries, fails, **shared):
        check_all(make, 2, "de")
