"""Symbolic executions agree with concrete ones: every path, run for real, ends where it says.

Random programs without their main function: contexts of their classes are executed symbolically,
whatever fields and arguments are, and each path gives concrete values and a schedule.
"""

from __future__ import annotations

from typing import Any

import pytest
from executing import Execution, context_of
from hypothesis import given, settings
from hypothesis import strategies as st
from random_actors import main_of, sources

MOST = 12
"""Paths of a context that are run for real."""
contexts = st.lists(
    st.tuples(
        st.sampled_from(("One", "Two")),
        st.lists(st.sampled_from(("m0", "m1", "m2", "m3")), min_size=1, max_size=2),
    ),
    min_size=1,
    max_size=2,
)


def check(source: str, chosen: list[tuple[str, list[str]]]) -> int:
    main = main_of(source)
    classes = {name: main.__globals__[name] for name in ("One", "Two")}
    context = context_of(*((classes[name], tasks) for name, tasks in chosen))
    execution = Execution(
        context, list(classes.values()), MOST, steps=14, fresh=2, iterations=2, switches=12
    )
    return execution.check_for_real()


@given(source=sources(), chosen=contexts)
@settings(max_examples=25, deadline=None)
def test_every_path_ends_where_it_says(source: str, chosen: Any) -> None:
    check(source, chosen)


@pytest.mark.minutes
@given(source=sources(), chosen=contexts)
@settings(max_examples=1500, deadline=None)
def test_every_path_of_many_programs_ends_where_it_says(source: str, chosen: Any) -> None:
    check(source, chosen)


def _literals(n: int) -> st.SearchStrategy[str]:
    return st.sampled_from([str(at) for at in range(-n, n + 1)])


atoms = st.one_of(
    st.sampled_from(("self.x", "self.y", "n", "self.flag", "k")),
    _literals(3),
)
numbers = st.one_of(
    atoms,
    st.builds("({} {} {})".format, atoms, st.sampled_from(("+", "-", "*")), atoms),
    st.builds("({} {} {})".format, atoms, st.sampled_from(("//", "%")), st.sampled_from("234")),
    st.builds("({} // -2)".format, atoms),
    st.builds("({} % -3)".format, atoms),
    st.builds("min({}, {})".format, atoms, atoms),
    st.builds("max({}, {})".format, atoms, atoms),
    st.builds("abs({})".format, atoms),
    st.builds("({} if self.flag else {})".format, atoms, atoms),
    st.builds("({} ** 2)".format, atoms),
)
tests = st.one_of(
    st.builds(
        "{} {} {}".format, numbers, st.sampled_from(("<", "<=", "==", "!=", ">", ">=")), numbers
    ),
    st.just("self.flag"),
    st.just("not self.flag"),
    st.builds("{} < n <= {}".format, _literals(3), numbers),
    st.builds("n > {} and self.x != {}".format, _literals(3), numbers),
    st.builds("n > {} or self.y == {}".format, _literals(3), numbers),
)
assignments = st.builds(
    "{} {} {}".format,
    st.sampled_from(("self.x", "self.y", "k")),
    st.sampled_from(("=", "+=", "-=")),
    numbers,
)


@st.composite
def computations(draw: Any) -> str:
    """The source of one class whose methods compute with numbers."""
    text = "from treadle.actors import Actor, pause, until\n\n\nclass Sums(Actor):\n"
    text += "    def __init__(self):\n        self.x = self.y = 0\n        self.flag = False\n\n"
    for method in ("one", "two"):
        text += f"    async def {method}(self, n):\n        k = n + 0\n"
        for _ in range(draw(st.integers(1, 3))):
            if draw(st.booleans()):
                text += f"        {draw(assignments)}\n"
            else:
                text += f"        if {draw(tests)}:\n            {draw(assignments)}\n"
                text += f"        else:\n            {draw(assignments)}\n"
        if draw(st.booleans()):
            text += f"        await until(lambda: {draw(tests)})\n"
        if draw(st.booleans()):
            text += f"        assert {draw(tests)}\n"
        text += "        return k\n\n"
    return f"{text}\ndef main():\n    Sums().one.send(1)\n"


def check_sums(source: str) -> int:
    cls = main_of(source).__globals__["Sums"]
    context = context_of((cls, ["one", "two"]))
    return Execution(context, [cls], 20, steps=12).check_for_real()


@given(source=computations())
@settings(max_examples=20, deadline=None)
def test_numbers_are_what_python_computes(source: str) -> None:
    check_sums(source)


@pytest.mark.minutes
@given(source=computations())
@settings(max_examples=250, deadline=None)
def test_numbers_of_many_programs_are_what_python_computes(source: str) -> None:
    check_sums(source)
