"""Context-sensitive independence and observers: the examples of seed 000 and of seed 003.

Counts and trees are the papers', except where a comment says why not.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import treadle
from brute import Dependence, Observed, brute_force, explored
from treadle.api import ALGORITHMS
from treadle.bench import jss23
from treadle.errors import TreadleError
from treadle.explore.algorithm import BLOCKED
from treadle.explore.budget import Budget
from treadle.explore.context import Context
from treadle.explore.contexts import Contexts
from treadle.explore.dontdo import DontDoSets
from treadle.explore.optimal_context import OptimalContext
from treadle.explore.optimal_context_observers import OptimalContextObservers
from treadle.explore.schedule import SCHEDULES, Choices, Chooser, stay
from treadle.explore.search import Search
from treadle.explore.wakeup import Tree
from treadle.model import Program
from treadle.program import Run

FOUR = ("observers", "context", "optimal-context", "optimal-context-observers")


def counts(make: Callable[[], Program], algorithm: str, **options: Any) -> tuple[int, int]:
    """Return complete and blocked executions."""
    result = treadle.explore(make(), algorithm, stop_on_failure=False, **options)
    assert result.complete
    return result.executions, result.blocked


@dataclass
class Logbook:
    """What an exploration did: each execution, and the sets at each state after it."""

    runs: list[str] = field(default_factory=list)
    """Complete ones; blocked ones with the forbidden step behind a dash."""
    wut: list[dict[str, str]] = field(default_factory=list)
    """Wakeup trees by state, `v + w` as in the paper."""
    dnd: list[dict[str, set[str]]] = field(default_factory=list)


def logbook(
    program: Program, algorithm: type[Any], choose: Chooser = stay, *, refined: bool = True
) -> Logbook:
    """Explore with an algorithm, one letter per process, and note what it does."""
    names = program.vocabulary.process_names
    found = Logbook()

    def written(processes: Any) -> str:
        return "".join(names[process][-1] for process in processes)

    def leaves(tree: Tree) -> list[str]:
        return [
            written(branch.processes) + leaf
            for branch in tree
            for leaf in (leaves(branch.children) or [""])
        ]

    class Watched(algorithm):  # type: ignore[misc]
        def analyse(self, run: Run, outcome: int) -> None:
            trace = self.search.trace
            steps = written(trace.processes)
            stopped = written(getattr(self, "_stopped", {}))
            found.runs.append(f"{steps}-{stopped}" if outcome == BLOCKED else steps)
            super().analyse(run, outcome)
            found.wut.append(
                {
                    steps[:depth]: " + ".join(leaves(tree))
                    for depth, tree in enumerate(getattr(self, "wut", []))
                    if tree
                }
            )
            found.dnd.append(
                {
                    steps[:depth]: {written(p for p, _ in one) for one in dnd}
                    for depth, dnd in enumerate(getattr(self, "dnd", []))
                    if dnd
                }
            )

    search = Search(
        program,
        Watched,
        "watched",
        budget=Budget(),
        choose=choose,
        stop_on_failure=False,
        refined=refined,
    )
    assert search.explore().complete
    return found


# The running example: figures 1, 2 and 4. The default schedule stays with a process, the paper's
# picks others in two places, so some branches come in another order.


def test_example_4_optimal_explores_the_12_orders_of_figure_1() -> None:
    assert brute_force(jss23.running_example(), 100).interleavings == 30
    seen = logbook(jss23.running_example(), ALGORITHMS["optimal"])
    assert seen.runs == [
        "qpprr", "qprrp", "qprpr", "ppqrr", "pprrq", "pprqr",
        "prrqp", "prrpq", "prqpr", "prqrp", "prpqr", "prprq",
    ]  # fmt: skip
    assert seen.wut[0] == {"": "pp", "qp": "r"}  # state 5
    assert seen.wut[1] == {"": "pp + pr", "qpr": "p"}  # state 10, figure 3
    assert seen.wut[3] == {"p": "r", "pp": "r"}  # state 15: q is not added to wut(p)


def test_example_5_and_6_context_sensitive_dpor_prunes_p1_to_p4() -> None:
    complete = ["qpprr", "qprrp", "ppqrr", "pprrq", "prrqp", "prrpq"]
    assert logbook(jss23.running_example(), Context).runs == complete
    seen = logbook(jss23.running_example(), OptimalContext)
    assert [run for run in seen.runs if "-" not in run] == complete
    after = dict(zip(seen.runs, zip(seen.wut, seen.dnd, strict=True), strict=True))
    # State 5: r.p joins dnd(q.p), and nothing dnd(empty), for q and p differ.
    assert after["qpprr"] == ({"": "pp", "qp": "r"}, {"qp": {"rp"}})
    # P1: p is forbidden behind q.p.r. State 10: q and r commute; the paper's p.r.q has a p before
    # them that section 3.3 takes out.
    wut, dnd = after["qprrp"]
    assert wut == {"": "pp + pr", "qpr": "p"}
    assert dnd == {"": {"rq"}, "qp": {"rp"}, "qpr": {"p"}}
    # p is in wut(q.p.r) and forbidden: the races of q.p.r.p are detected, with no new plan.
    assert after["qpr-p"][0] == {"": "pp + pr"}
    # State 15 and P2, state 20 and P3, P4.
    assert after["ppqrr"][1]["pp"] == {"rq"}
    assert after["pprrq"][1]["ppr"] == {"q"}
    assert after["pprrq"][1]["p"] == {"rq", "rp"}
    assert after["prrqp"][1]["pr"] == {"p", "q"}


def test_example_8_and_9_observers_prune_p5() -> None:
    seen = logbook(jss23.running_example(), ALGORITHMS["observers"])
    assert len(seen.runs) == 11
    assert [run for run in seen.runs if run.startswith("prr")] == ["prrqp"]
    # The race of q and p is reversed with its observer.
    assert seen.wut[0] == {"": "ppqr", "qp": "r"}


class LetterOfThePaper(OptimalContextObservers):
    """Compares what observers do, and leaves out what the racing steps wrote (section 4.3)."""

    def prepare(self) -> None:
        super().prepare()

        class Careless(Contexts):
            def is_over(self, run: Run) -> bool:
                return True

        self.contexts = Careless(self.search)


def test_example_10_and_11_the_union_and_what_the_paper_prunes_beyond_it() -> None:
    seen = logbook(jss23.running_example(), LetterOfThePaper)
    complete = [run for run in seen.runs if "-" not in run]
    assert complete == ["qpprr", "qprrp", "pprrq", "prrqp"]  # P1 to P6
    assert "ppqr" in seen.dnd[0][""]
    assert "ppq-r" in seen.runs
    # P6 is not safe (see the next test): here the second assertion may still look at x.
    ours = logbook(jss23.running_example(), OptimalContextObservers)
    assert [run for run in ours.runs if "-" not in run] == [
        "qpprr", "qprrp", "ppqrr", "pprrq", "prrqp",
    ]  # fmt: skip


def hidden_behind_an_observer() -> Program:
    """Only the second assertion can fail; the first one is the observer of the race of q and p."""
    program = Program("hidden_behind_an_observer", x=0, z=0)

    @program.process
    def q(s: Any) -> Any:
        yield
        s.x = 2

    @program.process
    def p(s: Any) -> Any:
        yield
        s.x = 1
        yield
        s.z = 1

    @program.process
    def r(s: Any) -> Any:
        yield
        assert s.x < 3
        yield
        assert not (s.x == 2 and s.z == 1), "p was first, and r was last"

    return program


def test_the_check_of_section_4_3_to_the_letter_misses_a_failure() -> None:
    expected = brute_force(hidden_behind_an_observer(), 1000).failures
    assert len(expected) == 1
    for algorithm in FOUR:
        assert explored(hidden_behind_an_observer(), algorithm).failures == expected
    letter = Search(
        hidden_behind_an_observer(),
        LetterOfThePaper,
        "letter",
        budget=Budget(),
        choose=SCHEDULES["stay"],
    )
    result = letter.explore()
    assert (result.complete, result.failures) == (True, [])


def overwritten_before_the_race_closes() -> Program:
    """`e` is `y = x`, which the process overwrites before x is written: g comes between."""
    program = Program("overwritten", x=0, y=0)

    @program.process
    def p(s: Any) -> Any:
        yield
        s.y = s.x
        yield
        s.y = 0

    @program.process
    def q(s: Any) -> Any:
        yield
        s.x = 2

    @program.process
    def g(s: Any) -> Any:
        yield
        assert s.y != 2, "seen in between"

    return program


@pytest.mark.parametrize("algorithm", FOUR)
def test_what_a_later_step_hides_is_seen_before_it(algorithm: str) -> None:
    found = treadle.explore(overwritten_before_the_race_closes(), algorithm)
    assert [failure.kind for failure in found.failures] == ["assertion"]


# Section 3.3 and example 12


def test_challenge_2_plans_no_unrelated_steps_before_the_race() -> None:
    program = Program("challenge", x=0, y=0, z=0)

    def writer(s: Any, *writes: tuple[str, int]) -> Any:
        for name, value in writes:
            yield
            setattr(s, name, value)

    program.process(writer, ("z", 1), name="t")
    program.process(writer, ("z", 1), name="u")
    program.process(writer, ("y", 1), ("x", 1), name="p")
    program.process(writer, ("x", 2), name="q")
    seen = logbook(program, OptimalContext)
    assert seen.runs[0] == "tuppq"
    assert seen.wut[0] == {"": "up", "tup": "q"}
    assert seen.dnd[0] == {"": {"ut"}}  # the paper's t'.p.t; that t' and t commute says it all
    assert [run for run in seen.runs if "-" not in run] == ["tuppq", "tupqp"]


def test_example_12_a_dont_do_sequence_finds_its_way_into_an_equivalent_plan() -> None:
    program = Program("example 12", x=0, y=0, o=0)

    @program.process
    def p(s: Any) -> Any:
        yield
        s.y = 1
        yield
        s.x = 1

    def two(s: Any) -> Any:
        yield
        s.x = 2

    program.process(two, name="q")
    program.process(two, name="v")

    @program.process
    def r(s: Any) -> Any:
        yield
        s.o = s.x

    class OldInheritance(OptimalContextObservers):
        inherited = DontDoSets.inherited

    def as_in_the_paper(choices: Choices, last: int) -> int:
        """Begin with p, go on with q and q' (here v), and let r be the last."""
        enabled = choices.enabled()
        order = (0, 1, 2, 3) if last < 0 else (1, 2, 0, 3)
        return next((process for process in order if process in enabled), -1)

    assert len(brute_force(program, 1000).classes) == 24
    assert treadle.explore(program, "observers").executions == 13
    refined = logbook(program, OptimalContextObservers, as_in_the_paper)
    old = logbook(program, OldInheritance, as_in_the_paper)
    assert refined.runs[0] == old.runs[0] == "pqvpr"  # E1
    assert refined.wut[0]["p"] == "vpqr"
    assert len([run for run in old.runs if "-" not in run]) == 12
    # p.q'.q.r is found, and passed on to q' as p.q.r, which stops the plan.
    assert set(old.runs) - set(refined.runs) == {"pvpqr"}
    assert set(refined.runs) - set(old.runs) == {"pvpq-r"}


# Worked examples of seed 003 (thesis-digest, section 2.3)


def three(p: int, q: int, check: Callable[[int], bool]) -> Program:
    """Return `x = p`, `x = q` and an assertion on x, side by side."""
    program = Program("three", x=0)

    def write(s: Any, value: int) -> Any:
        yield
        s.x = value

    def look(s: Any) -> Any:
        yield
        assert check(s.x)

    program.process(write, p, name="p")
    program.process(write, q, name="q")
    program.process(look, name="r")
    return program


@pytest.mark.parametrize(
    ("algorithm", "example_8", "running"),
    [
        ("optimal", 6, 6),
        ("observers", 5, 5),
        ("context", 4, 2),
        ("optimal-context", 4, 2),
        ("optimal-context-observers", 2, 1),
    ],
)
def test_worked_examples(algorithm: str, example_8: int, running: int) -> None:
    assert counts(lambda: three(5, 4, lambda x: x > 0), algorithm)[0] == example_8
    assert counts(lambda: three(1, 2, lambda x: x < 3), algorithm)[0] == running


def test_example_8_with_equal_values_cuts_one_more() -> None:
    assert counts(lambda: three(5, 5, lambda x: x > 0), "context")[0] == 3


def test_every_observer_is_asked() -> None:
    """Section 4.1 of seed 003: with r alone, the check would pass wrongly."""
    program = Program("observers", x=0)

    def write(s: Any, value: int) -> Any:
        yield
        s.x = value

    def look(s: Any, limit: int) -> Any:
        yield
        assert s.x < limit

    for value, name in ((1, "p"), (2, "q")):
        program.process(write, value, name=name)
    for limit, name in ((3, "r"), (2, "s")):
        program.process(look, limit, name=name)
    expected = brute_force(program, 1000).failures
    assert explored(program, "optimal-context-observers").failures == expected != set()


# Tables: every program of seed 000 at a size that takes a moment

SMALL = [
    (benchmark, n)
    for benchmark in jss23.PAPER.benchmarks.values()
    for n in (2, 3, 4)
    if benchmark.classes(n) <= 600
]


@pytest.mark.parametrize(("benchmark", "n"), SMALL, ids=[f"{b.name}({n})" for b, n in SMALL])
def test_the_exact_counts_of_the_tables(benchmark: Any, n: int) -> None:
    schedule = benchmark.schedule or "stay"
    found = {
        algorithm: counts(lambda: benchmark.make(n), algorithm, schedule=schedule)[0]
        for algorithm in FOUR
    }
    assert found | {a: count(n) for a, count in benchmark.fewer.items()} == found
    assert found["context"] == found["optimal-context"]


def test_the_closed_forms_are_what_the_paper_prints() -> None:
    first, second, _ = jss23.PAPER.tables
    differing = {
        (row.name, algorithm)
        for row in (*first.rows, *second.rows)
        for algorithm, printed in row.printed.items()
        if printed.executions is not None
        and printed.executions
        != (row.expected if algorithm == "optimal" else row.fewer(algorithm) or printed.executions)
    }
    both = "optimal-context-observers"
    assert differing == {
        ("pipesort(3)", "optimal"),  # another program
        ("mergesort(6)", "optimal"),  # the paper's splits into more parts
        ("mergesort(6)", "observers"),
        *((f"quicksort({n})", both) for n in (2, 3, 5)),  # here nothing is explored twice
        ("mergesort(5)", both),
        ("fib(4)", both),
        ("fib(5)", both),
    }


@pytest.mark.parametrize("n", [4, 6, 8])
def test_dont_do_blocked_runs_of_lastwrite(n: int) -> None:
    assert counts(lambda: jss23.lastwrite(n), "optimal-context-observers") == (1, n - 1)


def test_dont_do_blocked_runs_of_pi() -> None:
    assert counts(lambda: jss23.pi(7), "optimal-context-observers") == (272, 750)


def test_bounded_buffer() -> None:
    found = counts(lambda: jss23.boundedbuffer(7), "context", schedule="round-robin")
    assert found[0] == 550


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize(("n", "printed"), [(8, 1487), (9, 4036), (10, 10981)])
def test_larger_bounded_buffers(n: int, printed: int) -> None:
    for algorithm in ("context", "optimal-context", "optimal-context-observers"):
        found = counts(lambda: jss23.boundedbuffer(n), algorithm, schedule="round-robin")
        assert found[0] == printed


# The refined check, and what makes no sense


@pytest.mark.parametrize("algorithm", [Context, OptimalContext, OptimalContextObservers])
def test_the_refined_check_decides_like_the_comparison_of_whole_states(
    algorithm: type[Any],
) -> None:
    for make in (jss23.running_example, lambda: jss23.arraywrite(4), lambda: jss23.abs_(3)):
        whole = logbook(make(), algorithm, refined=False)
        assert whole.runs == logbook(make(), algorithm).runs


def test_without_the_refinement_everything_has_to_be_comparable() -> None:
    def make() -> Program:
        program = Program("make", x=0, unrelated=Node())

        def write(s: Any) -> Any:
            yield
            s.x = 1

        program.process(write, name="p")
        program.process(write, name="q")
        return program

    assert counts(make, "optimal-context") == (1, 1)
    assert counts(make, "optimal-context", refined=False) == (2, 0)


@pytest.mark.parametrize("algorithm", FOUR)
def test_data_races_need_every_order(algorithm: str) -> None:
    with pytest.raises(TreadleError, match="races=True needs an algorithm that sees every order"):
        treadle.explore(jss23.running_example(), algorithm, races=True)


def test_a_forbidden_run_is_stopped_before_its_step() -> None:
    assert issubclass(OptimalContext, DontDoSets)
    blocked = [run for run in logbook(jss23.abs_(3), OptimalContext).runs if "-" in run]
    assert len(blocked) == 10


def test_no_algorithm_completes_two_executions_of_one_class() -> None:
    for make in (jss23.running_example, lambda: jss23.floatingread(4, same=False)):
        for algorithm in FOUR:
            order = Observed if "observers" in algorithm else Dependence
            classes = explored(make(), algorithm, order=order).classes
            assert len(set(classes)) == len(classes)


# What the checks take for equal


class Node:
    """A value like any other of its kind, but not the same."""

    def __init__(self) -> None:
        self.value = 1


class Private:
    """Has a slot whose name is mangled."""

    __slots__ = ("__v", "a")

    def __init__(self, v: int) -> None:
        self.a, self.__v = 0, v

    def get(self) -> int:
        """Return what the slot holds."""
        return self.__v


def class_with(v: int) -> type[Any]:
    """Return a class that has the name of others that this returns."""

    class Constant:
        def __init__(self) -> None:
            self.a = 0

        def get(self) -> int:
            return v

    return Constant


class Anything(int):
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Tagged(str):
    """A string with a slot."""

    __slots__ = ("tag",)
    tag: int

    def __new__(cls, tag: int) -> Tagged:
        made = super().__new__(cls, "a")
        made.tag = tag
        return made


def tagged_function(v: int) -> Any:
    """Return a function with an attribute."""

    def function() -> None:
        pass

    function.tag = v  # type: ignore[attr-defined]
    return function


ONE, TWO = class_with(1), class_with(2)
Make = Callable[[], Any]


def last_value(p: Make, q: Make, check: Callable[[Any], bool]) -> Program:
    """Return two processes that assign, and one that looks at what was assigned last."""
    program = Program("last_value", x=None)

    def assign(s: Any, make: Make) -> Any:
        yield
        s.x = make()

    program.process(assign, p, name="p")
    program.process(assign, q, name="q")

    @program.process
    def r(s: Any) -> Any:
        yield s.join("p")
        yield s.join("q")
        assert check(s.x)

    return program


@pytest.mark.parametrize("algorithm", FOUR)
@pytest.mark.parametrize(
    ("p", "q", "check"),
    [
        (lambda: Private(1), lambda: Private(2), lambda x: x.get() == 2),
        (ONE, TWO, lambda x: x.get() == 2),
        (lambda: Anything(1), lambda: Anything(2), lambda x: int(x) == 2),
        (lambda: Tagged(1), lambda: Tagged(2), lambda x: x.tag == 2),
        (lambda: tagged_function(1), lambda: tagged_function(2), lambda x: x.tag == 2),
        (lambda: 1, lambda: True, lambda x: x is True),
        (lambda: (0.0,), lambda: (-0.0,), lambda x: str(x[0]) == "0.0"),
        (lambda: range(0), lambda: range(5, 5), lambda x: x.start == 0),
        (
            lambda: frozenset([0]) | frozenset([8]),
            lambda: frozenset([8]) | frozenset([0]),
            lambda x: list(x) == [0, 8],
        ),
    ],
    ids=[
        "slots", "class names", "own eq", "slots of a string", "attributes of a function",
        "1 and True", "signs of zero", "empty ranges", "order of a set",
    ],
)  # fmt: skip
def test_values_that_look_equal_are_told_apart(
    p: Make, q: Make, check: Callable[[Any], bool], algorithm: str
) -> None:
    same_as_exhaustive(lambda: last_value(p, q, check), algorithm)


def same_as_exhaustive(make: Callable[[], Any], algorithm: str, **options: Any) -> None:
    """Compare the failures of an algorithm with all that there are; there must be one."""
    found, expected = (
        treadle.explore(make(), name, stop_on_failure=False, **options)
        for name in (algorithm, "exhaustive")
    )
    assert found.complete
    assert expected.complete
    # Not by their messages, in which addresses stand.
    assert {(f.kind, f.process) for f in found.failures} == {
        (f.kind, f.process) for f in expected.failures
    }
    assert expected.failures


def own_node() -> Program:
    """Looks whether the last node is the own one."""
    program = Program("own_node", head=None)

    @program.process
    def p(s: Any) -> Any:
        node = Node()
        yield
        s.head = node
        yield
        assert s.head is node

    @program.process
    def q(s: Any) -> Any:
        yield
        s.head = Node()

    return program


def aliases() -> Program:
    """Looks whether two variables have the same value."""
    program = Program("aliases", x=None, y=None)

    @program.process
    def p(s: Any) -> Any:
        both: Any = (0, [])
        yield
        s.x = both
        yield
        s.y = both

    @program.process
    def q(s: Any) -> Any:
        yield
        s.x = (0, [])

    @program.process
    def r(s: Any) -> Any:
        yield s.join("p")
        yield s.join("q")
        assert s.x is s.y

    return program


def set_in_two_orders() -> Program:
    """Looks at the first element of a set that is built in two orders."""
    program = Program("set_in_two_orders", x=frozenset())

    def add(s: Any, value: int) -> Any:
        yield
        s.x = s.x | {value}

    program.process(add, 0, name="p")
    program.process(add, 8, name="q")

    @program.process
    def r(s: Any) -> Any:
        yield s.until(lambda: len(s.x) == 2)
        assert next(iter(s.x)) == 0

    return program


@pytest.mark.parametrize("algorithm", FOUR)
@pytest.mark.parametrize("make", [own_node, aliases, set_in_two_orders])
def test_identity_and_order_of_values_can_be_seen(
    make: Callable[[], Program], algorithm: str
) -> None:
    same_as_exhaustive(make, algorithm)


# Observers that look at more, or not at all, when they come at another time

ORDERS = list(itertools.permutations(range(3)))


def open_observer(order: Sequence[int]) -> Program:
    """What `c` reads after a depends on a."""
    program = Program("open_observer", a=0, x=0)

    def a(s: Any) -> Any:
        yield
        s.a = 0

    def b(s: Any) -> Any:
        yield
        s.a = 2
        yield
        s.x = 1

    def c(s: Any) -> Any:
        yield
        assert not (s.a == 0 and s.x == 1)

    for index in order:
        program.process((a, b, c)[index])
    return program


@pytest.mark.parametrize("algorithm", FOUR)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_open_observer_comes_behind_what_it_was_probed_behind(
    schedule: str, algorithm: str
) -> None:
    for order in ORDERS:
        same_as_exhaustive(functools.partial(open_observer, order), algorithm, schedule=schedule)


def waiting_observer(order: Sequence[int]) -> Program:
    """`c` waits in vain if `a` is the last."""
    program = Program("waiting_observer", y=0)

    def a(s: Any) -> Any:
        yield
        s.y = 2

    def b(s: Any) -> Any:
        yield
        s.y = 0
        yield
        s.y = 0

    def c(s: Any) -> Any:
        yield s.until(lambda: s.y == 0)

    for index in order:
        program.process((a, b, c)[index])
    return program


@pytest.mark.parametrize("algorithm", FOUR)
def test_an_observer_that_cannot_look_is_not_planned(algorithm: str) -> None:
    for order in ORDERS:
        same_as_exhaustive(functools.partial(waiting_observer, order), algorithm)


# Threads


class Plain:
    """Attributes in a dictionary."""

    kind = 1
    x: Any
    ok: bool


class Other(Plain):
    """Has another class attribute."""

    kind = 2


class WithSlot:
    """Has a slot."""

    __slots__ = ("v",)
    v: int


class SlotAndMore(WithSlot):
    """Has a slot and a dictionary."""


def in_threads(*bodies: Callable[[], None]) -> None:
    """Run functions side by side."""
    threads = [threading.Thread(target=body, name=body.__name__) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def slot_is_assigned() -> None:
    o = SlotAndMore()
    o.v = 0

    def p() -> None:
        o.v = 1

    def q() -> None:
        o.v = 2

    in_threads(p, q)
    assert o.v == 2


def class_is_assigned() -> None:
    o = Plain()

    def p() -> None:
        o.__class__ = Other

    def q() -> None:
        o.__class__ = Plain

    in_threads(p, q)
    assert o.kind == 1


def class_is_looked_at() -> None:
    o = Plain()

    def p() -> None:
        o.__class__ = Other

    def q() -> None:
        assert o.kind == 1

    in_threads(p, q)


def own_tuple() -> None:
    o = Plain()
    o.x, o.ok = None, True

    def p() -> None:
        o.x = (1,)

    def q() -> None:
        mine = (1, int("0"))[:1]
        o.x = mine
        o.ok = o.x is mine

    in_threads(p, q)
    assert o.ok


@pytest.mark.parametrize("algorithm", FOUR)
@pytest.mark.parametrize(
    "test", [slot_is_assigned, class_is_assigned, class_is_looked_at, own_tuple]
)
def test_threads_tell_values_apart(test: Callable[[], None], algorithm: str) -> None:
    same_as_exhaustive(lambda: test, algorithm)
