"""A trace alone: happens-before masks, races, undoing, and the paper's worked examples."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle
from brute import Dependence
from treadle.core.events import OPEN, Codes, Footprint, Mode, Vocabulary, code, location_of, mode_of
from treadle.core.happens_before import Trace, bits
from treadle.core.program import Run
from treadle.explore.budget import Budget
from treadle.explore.choosers import stay
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.explore.source_sets.planned import Planned
from treadle.explore.source_sets.valid_tree import leaves
from treadle.explore.source_sets.wakeup_tree import Branch, insert
from treadle.model import Program

Step = tuple[str, str]
"""A process, and its accesses: `read x, write y`."""


def codes_of(vocabulary: Vocabulary, accesses: str) -> Codes:
    """Return access codes from words."""
    found = []
    for words in filter(None, accesses.split(", ")):
        mode, _, name = words.partition(" ")
        if mode == "open":
            found.append(OPEN)
        elif mode in ("spawn", "join"):
            found.append(code(vocabulary.process(name), Mode[mode.upper()]))
        elif mode == "watch":
            found.append(code(vocabulary.watch_set(name, {name}), Mode.WATCH))
        else:
            found.append(code(vocabulary.location(name, name), Mode[mode.upper()]))
    return tuple(found)


def append(trace: Trace, *steps: Step) -> None:
    for process, accesses in steps:
        trace.append(trace.vocabulary.process(process), codes_of(trace.vocabulary, accesses))


def trace_of(*steps: Step) -> tuple[Trace, list[tuple[int, int]]]:
    """Return a trace with its reversible races."""
    trace = Trace(Vocabulary())
    append(trace, *steps)
    trace.extend()
    return trace, list(trace.races)


def retakes(trace: Trace) -> list[tuple[int, int]]:
    """Return the races whose second event is another one when it comes first."""
    return [(first, second) for first, second, _ in trace.altered]


def past(trace: Trace, event: int) -> list[int]:
    """Return what happens before an event, without itself."""
    return bits(trace.before[event] ^ 1 << event)


def contents(trace: Trace) -> dict[str, Any]:
    """Return everything that a trace knows, without traces of what it forgot."""
    return {
        "processes": list(trace.processes),
        "codes": list(trace.codes),
        "footprints": list(trace.footprints),
        "before": list(trace.before),
        "previous": [trace.previous(event) for event in range(len(trace.before))],
        "created": dict(trace.created),
        "of_process": tuple(trace.of_process),
        "touched": {key: mask for key, mask in enumerate(trace.touched) if mask},
    }


# Happens-before


def test_nothing_is_ordered_but_by_processes_and_conflicts() -> None:
    trace, races = trace_of(("p", "write x"), ("q", "write y"), ("p", "read z"), ("q", "read x"))
    assert [past(trace, event) for event in range(4)] == [[], [], [0], [0, 1]]
    assert races == [(0, 3)]


def test_happens_before_is_transitive() -> None:
    trace, races = trace_of(("p", "write x"), ("q", "read x, write y"), ("r", "read y"))
    assert past(trace, 2) == [0, 1]
    assert races == [(0, 1), (1, 2)]


def test_a_conflict_that_is_already_ordered_is_no_race() -> None:
    _, races = trace_of(("p", "write x"), ("q", "write x"), ("r", "write x"))
    assert races == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("first", "second", "dependent"),
    [
        ("read", "read", False),
        ("read", "write", True),
        ("write", "read", True),
        ("write", "write", True),
        ("add", "add", False),
        ("add", "read", True),
        ("read", "add", True),
        ("add", "write", True),
        ("give", "give", False),
        ("give", "read", True),
        ("need", "read", False),
        ("await", "read", False),
        ("await", "need", False),
        ("read", "take", True),
        ("take", "spare", True),
        ("add", "give", False),
    ],
)
def test_which_accesses_conflict(first: str, second: str, dependent: bool) -> None:
    trace, _ = trace_of(("p", f"{first} x"), ("q", f"{second} x"))
    assert bool(past(trace, 1)) is dependent
    assert trace.footprints[0].conflicts_with(trace.footprints[1]) is dependent
    assert trace.footprints[1].conflicts_with(trace.footprints[0]) is dependent


def test_accesses_of_different_locations_do_not_conflict_unless_linked() -> None:
    vocabulary = Vocabulary()
    trace = Trace(vocabulary)
    append(trace, ("p", "write message"), ("q", "read timeout"))
    trace.extend()
    assert past(trace, 1) == []
    vocabulary.link(trace.codes[1][0], trace.codes[0][0])
    trace.truncate(1)
    append(trace, ("q", "read timeout"))
    trace.extend()
    assert trace.races == [(0, 1)]


def test_a_link_also_holds_for_what_is_seen_later() -> None:
    vocabulary = Vocabulary()
    a, b = (
        code(vocabulary.location(name, name), mode) for name, mode in zip("ab", Mode, strict=False)
    )
    vocabulary.link(a, b)
    assert vocabulary.footprint((a,)).conflicts_with(vocabulary.footprint((b, OPEN)))


def test_a_write_subsumes_the_reads_of_its_location() -> None:
    vocabulary = Vocabulary()
    both = vocabulary.footprint(codes_of(vocabulary, "read x, write x"))
    assert both.own == vocabulary.footprint(codes_of(vocabulary, "write x")).own


def test_a_footprint_in_words() -> None:
    assert repr(Footprint((code(3, Mode.READ), code(4, Mode.TAKE)))) == "Footprint(READ 3, TAKE 4)"


def test_codes_pack_location_and_mode() -> None:
    for mode in Mode:
        assert (location_of(code(77, mode)), mode_of(code(77, mode))) == (77, mode)


def test_spawning_orders_and_is_no_race() -> None:
    trace, races = trace_of(("p", "write x"), ("p", "spawn q"), ("q", "write x"))
    assert past(trace, 2) == [0, 1]
    assert races == []


def test_joining_orders_and_is_no_race() -> None:
    trace, races = trace_of(("q", "write x"), ("p", "write y"), ("p", "join q"), ("p", "write x"))
    assert past(trace, 2) == [0, 1]
    assert races == []


def test_joining_a_process_that_took_no_step_orders_nothing() -> None:
    trace, races = trace_of(("p", "write x"), ("r", "join q"))
    assert (past(trace, 1), races) == ([], [])


# Steps that can be disabled


def test_a_release_and_the_next_acquire_are_no_race_but_two_acquires_are_reversed() -> None:
    trace, races = trace_of(("p", "take l"), ("p", "give l"), ("q", "take l"))
    assert past(trace, 2) == [0, 1]
    assert races == []
    assert retakes(trace) == [(0, 2)]


def test_only_the_latest_acquire_is_reversed() -> None:
    trace, _ = trace_of(
        ("p", "take l"), ("p", "give l"), ("q", "take l"), ("q", "give l"), ("r", "take l")
    )
    assert retakes(trace) == [(0, 2), (2, 4)]


def test_an_acquire_that_happens_before_is_not_reversed() -> None:
    trace, races = trace_of(("p", "take l"), ("p", "give l"), ("p", "spawn q"), ("q", "take l"))
    assert (races, retakes(trace)) == ([], [])


def test_a_process_does_not_race_with_its_own_acquire() -> None:
    trace, races = trace_of(("p", "take l"), ("p", "give l"), ("p", "take l"))
    assert (races, retakes(trace)) == ([], [])


def test_takes_with_units_to_spare_race_with_each_other_and_with_a_give() -> None:
    trace, races = trace_of(("p", "spare l"), ("q", "take l"))
    assert (races, retakes(trace)) == ([(0, 1)], [])
    _, races = trace_of(("p", "give l"), ("q", "spare l"))
    assert races == [(0, 1)]


def test_a_needed_write_cannot_come_second() -> None:
    trace, races = trace_of(("p", "write m"), ("q", "take head, need m"))
    assert past(trace, 1) == [0]
    assert (races, retakes(trace), trace.undecided) == ([], [], [])


def test_two_receives_are_left_to_a_run() -> None:
    trace, races = trace_of(
        ("p", "write m1"), ("p", "write m2"), ("q", "take h, need m1"), ("r", "take h, need m2")
    )
    assert (races, retakes(trace)) == ([], [])
    assert trace.undecided == [(2, 3)]


def test_races_of_an_open_step_are_left_to_a_run() -> None:
    trace, races = trace_of(("p", "write x"), ("q", "open, read x"))
    assert (races, trace.undecided) == ([], [(0, 1)])


def test_every_writer_of_what_a_condition_may_read_is_left_to_a_run() -> None:
    trace, races = trace_of(
        ("p", "write x"), ("r", "write y"), ("q", "await x, watch x, watch y"), ("r", "read z")
    )
    assert races == []
    assert sorted(trace.undecided) == [(0, 2), (1, 2)]
    assert past(trace, 2) == [0]  # it did not read y


def test_what_the_process_did_itself_does_not_wake_it() -> None:
    trace, _ = trace_of(("q", "write x"), ("p", "write x"), ("q", "await x, watch x"))
    assert trace.undecided == [(1, 2)]


def test_a_watch_set_of_everything_holds_every_location() -> None:
    vocabulary = Vocabulary()
    x, y = (vocabulary.location(name, name) for name in "xy")
    everything = vocabulary.watch_set("any", None)
    assert vocabulary.watch_set("any", set()) == everything
    footprint = vocabulary.footprint((code(everything, Mode.WATCH),))
    assert vocabulary.awaited_locations(footprint) == {x, y}


def test_a_watch_set_holds_the_elements_of_a_shared_name() -> None:
    vocabulary = Vocabulary()
    names = ["a[0]", "a[1]", "ab", "b"]
    locations = {name: vocabulary.location(name, name) for name in names}
    footprint = vocabulary.footprint((code(vocabulary.watch_set("k", {"a"}), Mode.WATCH),))
    expected = {locations["a[0]"], locations["a[1]"]}
    assert vocabulary.awaited_locations(footprint) == expected


def test_races_are_found_once_and_forgotten_with_their_second_event() -> None:
    trace, races = trace_of(("p", "write x"), ("q", "write x"))
    assert races == [(0, 1)]
    append(trace, ("r", "read x"))
    trace.extend()
    trace.extend()
    assert trace.races == [(0, 1), (1, 2)]
    trace.truncate(2)
    assert trace.races == [(0, 1)]


# Undoing, against brute force

plain_steps = st.lists(
    st.tuples(
        st.sampled_from("pqr"),
        st.lists(
            st.builds(
                "{} {}".format, st.sampled_from(["read", "write", "add"]), st.sampled_from("xyz")
            ),
            max_size=2,
        ).map(", ".join),
    ),
    max_size=9,
)
ACCESSES = [
    "", "read x", "write x", "take l", "give l", "spare l", "open, write y", "join q", "spawn r",
    "await x, watch x", "take h, need x", "add y, write x",
]  # fmt: skip
all_steps = st.lists(
    st.tuples(st.sampled_from("pqr"), st.sampled_from(ACCESSES)), max_size=9
).filter(lambda steps: sum(words == "spawn r" for _, words in steps) < 2)  # as in a real run


@given(steps=all_steps, tail=plain_steps, kept=st.integers(0, 9))
def test_a_trace_cut_and_grown_again_is_like_a_new_one(
    steps: list[Step], tail: list[Step], kept: int
) -> None:
    kept = min(kept, len(steps))
    trace, _ = trace_of(*steps)
    trace.truncate(kept)
    append(trace, *tail)
    trace.extend()

    fresh = Trace(trace.vocabulary)
    append(fresh, *steps[:kept])
    fresh.extend()
    append(fresh, *tail)
    fresh.extend()
    assert fresh.races == trace.races
    assert contents(fresh) == contents(trace)
    assert (fresh.altered, fresh.undecided) == (trace.altered, trace.undecided)


@given(steps=all_steps)
def test_what_was_appended_but_not_analysed_can_be_cut(steps: list[Step]) -> None:
    trace, _ = trace_of(("p", "write x"))
    before = contents(trace)
    append(trace, *steps)
    trace.truncate(1)
    assert contents(trace) == before


@given(steps=plain_steps)
def test_masks_and_races_are_those_of_the_definition(steps: list[Step]) -> None:
    trace, races = trace_of(*steps)
    program = Program()
    program.vocabulary = trace.vocabulary
    ordered = Dependence(program).ordered
    named = [(process, codes) for (process, _), codes in zip(steps, trace.codes, strict=True)]
    closure: list[set[int]] = []
    expected = []
    for j, step in enumerate(named):
        direct = {i for i in range(j) if ordered(named[i], step)}
        closure.append(direct.union(*(closure[i] for i in direct)))
        expected += [
            (i, j)
            for i in reversed(range(j))
            if i in direct
            and named[i][0] != step[0]
            and not any(i in closure[k] for k in closure[j])
        ]
    assert [set(past(trace, event)) for event in range(len(steps))] == closure
    assert races == expected


@given(steps=all_steps)
def test_after_is_before_turned_round(steps: list[Step]) -> None:
    trace, _ = trace_of(*steps)
    after = trace.after()
    for event in range(len(steps)):
        expected = [later for later in range(event + 1, len(steps)) if event in past(trace, later)]
        later = set(range(event + 1, len(trace)))
        assert bits(after[event]) == sorted(later - set(bits(trace.notdep(event)))) == expected
        assert trace.after(event)[event:] == after[event:]


def test_a_foretold_event_may_happen_otherwise_if_others_cannot_tell() -> None:
    trace, _ = trace_of(("p", "write x"))
    vocabulary = trace.vocabulary
    taken, spared, read = (codes_of(vocabulary, f"{mode} x") for mode in ("take", "spare", "read"))
    trace.foretell([1], [vocabulary.footprint(taken)])
    assert trace.codes[1] == taken
    assert not trace.happened_otherwise(1)  # it did what was foretold, or nothing at all
    trace.codes[1] = read
    assert not trace.happened_otherwise(1)
    assert trace.footprints[1].codes == taken
    trace.codes[1] = spared
    assert trace.happened_otherwise(1)
    assert trace.footprints[1].codes == spared


@given(steps=all_steps, imagined=all_steps.filter(bool))
def test_imagined_events_leave_no_residue(steps: list[Step], imagined: list[Step]) -> None:
    trace, _ = trace_of(*steps)
    vocabulary = trace.vocabulary
    footprints = [
        (vocabulary.process(process), vocabulary.footprint(codes_of(vocabulary, words)))
        for process, words in imagined
    ]
    trace.extend()  # room for what only the imagined events touch
    before = contents(trace)
    for process, footprint in footprints:
        trace.push_imagined(process, footprint, 0, (1 << len(trace.before)) - 1)
    for _ in footprints:
        trace.pop_imagined()
    assert contents(trace) == before


def test_an_imagined_event_sees_only_what_it_comes_after() -> None:
    trace, _ = trace_of(("p", "write x"), ("q", "write y"), ("q", "write x"))
    footprint = trace.vocabulary.footprint(codes_of(trace.vocabulary, "read x"))
    r = trace.vocabulary.process("r")
    assert past(trace, trace.push_imagined(r, footprint, 0, 0b001)) == [0]
    trace.pop_imagined()
    assert past(trace, trace.push_imagined(r, footprint, 0b010, 0b010)) == [1]
    trace.pop_imagined()
    assert past(trace, trace.push_imagined(r, footprint, 0, 0b111)) == [0, 1, 2]


# The worked examples of "Source Sets" (J. ACM 2017)

FIGURE_4 = [("p", "write x"), ("q", "read y"), ("q", "read x"), ("r", "read z"), ("r", "read x")]


def initials(trace: Trace, w: list[int]) -> set[str]:
    """I[E](w), by lemma 4.2: the first event of the process has no predecessor in w."""
    mask = sum(1 << event for event in w)
    return {
        trace.vocabulary.process_names[trace.processes[event]]
        for event in w
        if trace.before[event] & mask == 1 << event
    }


def weak_initials(trace: Trace, w: list[int], first_steps: dict[str, str]) -> set[str]:
    """WI[E](w), by lemma 4.2: initials, and processes whose step after E is independent of w."""
    found = initials(trace, w)
    names = trace.vocabulary.process_names
    in_w = {names[trace.processes[event]] for event in w}
    for process, words in first_steps.items():
        step = trace.vocabulary.footprint(codes_of(trace.vocabulary, words))
        if process not in in_w and not any(step.conflicts_with(trace.footprints[i]) for i in w):
            found.add(process)
    return found


def test_figure_4_has_two_reversible_races() -> None:
    _, races = trace_of(*FIGURE_4)
    assert races == [(0, 2), (0, 4)]


def test_figure_4_initials_and_weak_initials() -> None:
    trace, _ = trace_of(*FIGURE_4)
    assert initials(trace, [1, 2]) == {"q"}
    assert weak_initials(trace, [1, 2], {"r": "read z"}) == {"q", "r"}
    assert initials(trace, [1, 2, 3, 4]) == {"q", "r"}
    assert initials(trace, [0, 1, 2]) == {"p", "q"}
    assert weak_initials(trace, [1, 2], {"p": "write x"}) == {"q"}


def test_figure_4_notdep() -> None:
    trace, _ = trace_of(*FIGURE_4)
    after = trace.after()
    assert bits(after[0]) == [2, 4]  # so notdep(p) is q's and r's first step


def figure_1(names: str = "pqr") -> Program:
    """A write, and processes that read it after something of their own."""
    program = Program("figure 1", x=0, own=[0] * len(names))

    def write(s: Any) -> Any:
        yield
        s.x = 1

    def read(s: Any, i: int) -> Any:
        yield
        s.own[i]
        yield
        s.x  # noqa: B018

    for i, name in enumerate(names):
        if name == "p":
            program.process(write, name=name)
        else:
            program.process(read, i, name=name)
    return program


def first_tree(program: Program) -> list[list[str]]:
    """Return the leaves of the wakeup tree at the root after the first execution."""
    seen: list[list[list[str]]] = []
    names = program.vocabulary.process_names

    class Watched(ALGORITHMS["optimal"]):  # type: ignore[misc]
        def analyse(self, run: Run, outcome: int) -> None:
            super().analyse(run, outcome)
            tree = self.wut.trees[0] or []
            seen.append([[names[p] for p, _ in leaf] for branch in tree for leaf in leaves(branch)])

    Search(program, Watched, "optimal", budget=Budget(), choose=stay).explore()
    return seen[0]


def test_notdep_initials_and_weak_initials_of_figure_4() -> None:
    trace, _ = trace_of(
        ("p", "write x"), ("q", "read y"), ("q", "read x"), ("r", "read z"), ("r", "read x")
    )
    read_x, read_z = trace.footprints[2], trace.footprints[3]
    write_x = trace.footprints[0]
    p, q, r = (trace.vocabulary.process(name) for name in "pqr")
    v = trace.notdep(0)
    assert bits(v) == trace.initials(v) == [1, 3]
    w = 0b00110  # q.q
    assert trace.initials(w) == [1]
    assert not trace.obstacles(q, trace.footprints[1], w)
    assert not trace.obstacles(r, read_z, w)  # independent of all: a weak initial
    assert bits(trace.obstacles(p, write_x, w)) == [2]
    assert trace.left_of(w, q, trace.footprints[1]) == 0b00100
    assert trace.left_of(w, r, read_x) == w
    assert trace.left_of(w, p, write_x) is None


def test_who_waits_for_a_process_is_no_weak_initial_of_its_end() -> None:
    trace, _ = trace_of(("p", "write x"), ("q", "join p"))
    p, q = (trace.vocabulary.process(name) for name in "pq")
    assert bits(trace.obstacles(q, trace.footprints[1], 0b11)) == [1]
    assert not trace.obstacles(p, trace.footprints[0], 0b11)


def test_a_short_leaf_keeps_what_wakes_a_sleeping_process() -> None:
    trace, _ = trace_of(("p", "write x"), ("r", "write y"), ("q", "read x"))
    asleep = {trace.vocabulary.process("s"): Footprint(codes_of(trace.vocabulary, "read y"))}
    trace.append(trace.vocabulary.process("s"), ())
    trace.extend()
    planned = Planned(trace, 0b110, 0b100, 2)
    assert not planned.begins_with_any(asleep)
    assert planned.leaf() == [1, 2]


RESTING: list[tuple[str, str, bool]] = [
    ("q", "read x", False),  # an initial that was seen
    ("s", "read z", True),  # an initial, but who knows what else comes before it
    ("t", "read w", True),  # independent of all that there is so far
    ("t", "write x", False),  # dependent with what was seen
    ("t", "read y", True),  # dependent only with what came later
]
"""Steps, and whether it takes more than the events up to `e'` to tell if they come first."""


def reversed_race() -> Planned:
    """Return `v` of a race whose second event `e'` is not the last of the trace."""
    trace, _ = trace_of(
        ("p", "write x"), ("q", "read x"), ("r", "write y"), ("s", "read z"), ("t", "read w")
    )
    return Planned(trace, 0b01110, 0b00010, 1)


@pytest.mark.parametrize(("process", "does", "more"), RESTING)
def test_a_race_is_settled_if_the_events_up_to_it_say_who_begins(
    process: str, does: str, more: bool
) -> None:
    planned = reversed_race()
    vocabulary = planned.order.vocabulary
    step = Footprint(codes_of(vocabulary, does))
    planned.begins_with_any({vocabulary.process(process): step})
    assert bool((planned.keep | planned.rests_on) & ~0b11) == more


@pytest.mark.parametrize(("process", "does", "more"), RESTING)
def test_a_race_is_settled_if_the_events_up_to_it_say_what_it_follows(
    process: str, does: str, more: bool
) -> None:
    planned = reversed_race()
    vocabulary = planned.order.vocabulary
    step = Footprint(codes_of(vocabulary, does))
    insert([Branch((vocabulary.process(process),), (step,), [])], planned)
    assert bool((planned.keep | planned.rests_on) & ~0b11) == more


def test_section_6_2_inserts_q_q_and_then_leaves_the_tree_as_it_is() -> None:
    assert first_tree(figure_1("pq")) == [["q", "q"]]
    assert first_tree(figure_1("pqr")) == [["q", "q"]]  # r.r is consistent with it


@pytest.mark.parametrize(("algorithm", "blocked"), [("optimal", 0), ("source", 0), ("classic", 1)])
def test_section_2_a_source_set_is_smaller_than_a_persistent_set(
    algorithm: str, blocked: int
) -> None:
    result = treadle.explore(figure_1(), algorithm)
    assert (result.executions, result.blocked) == (4, blocked)
