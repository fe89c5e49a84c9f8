"""Paths, what the solver says of conditions, and prime cubes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import z3

from treadle.smt.cubes import Cubes
from treadle.smt.paths import Leaf, Path, TooManyPathsError, explore
from treadle.smt.solver import Encoder
from treadle.smt.terms import (
    Atom,
    Constant,
    Cube,
    IsA,
    IsSame,
    IsTrue,
    Poly,
    Var,
    at_least_zero,
    in_python,
    is_zero,
)

SMALL = range(-3, 4)
X, Y = (Var(f"s.{name}", "int", shared=frozenset({name})) for name in "xy")
K = Var("first.k", "int")
FLAGS = [Var(f"first.b{i}", "bool") for i in range(4)]


def at_least(var: Var, number: int) -> tuple[Atom, bool]:
    found = at_least_zero(Poly.var(var).plus(-number))
    assert not isinstance(found, bool)
    return found


def equal(var: Var, other: Var) -> tuple[Atom, bool]:
    found = is_zero(Poly.var(var) - Poly.var(other))
    assert not isinstance(found, bool)
    return found


# The solver


def is_possible(*literals: tuple[Atom, bool]) -> bool:
    encoder = Encoder()
    return bool(encoder.solver().check(*encoder.literals(literals)) == z3.sat)


def opposite(literal: tuple[Atom, bool]) -> tuple[Atom, bool]:
    return literal[0], not literal[1]


def test_numbers_are_whole() -> None:
    assert is_possible(at_least(X, 1), opposite(at_least(X, 2)))
    assert not is_possible(at_least(X, 2), opposite(at_least(X, 1)))
    assert not is_possible(at_least(X, 1), opposite(at_least(X, 1)))


@pytest.mark.parametrize("divisor", [2, 3])
@pytest.mark.parametrize("dividend", SMALL)
def test_division_rounds_down_as_python_does(dividend: int, divisor: int) -> None:
    for form, expected in (("//", dividend // divisor), ("%", dividend % divisor)):
        parts = (Poly.var(X), Poly.constant(divisor))
        var = Var(f"(s.x {form} {divisor})", "int", form, parts)  # type: ignore[arg-type]
        for claimed in SMALL:
            is_x = is_zero(Poly.var(X).plus(-dividend))
            is_claimed = is_zero(Poly.var(var).plus(-claimed))
            assert not isinstance(is_x, bool)
            assert not isinstance(is_claimed, bool)
            assert is_possible(is_x, is_claimed) == (claimed == expected)


def test_constants_differ_and_variables_need_not() -> None:
    word, other = Var("s.t", "str"), Var("first.t", "str")
    on, off = (IsSame(word, Constant("str", text)) for text in ("on", "off"))
    assert not is_possible((on, True), (off, True))
    assert is_possible((on, False), (off, False))
    assert is_possible((IsSame(word, other), True), (on, True))
    assert not is_possible(
        (IsSame(word, other), True), (on, True), (IsSame(other, Constant("str", "off")), True)
    )


def test_a_part_of_the_state_is_of_one_kind() -> None:
    assert not is_possible((IsA(X, "none"), True), (IsA(X, "int"), True))
    assert is_possible((IsA(X, "none"), True), (IsA(Y, "int"), True))


def test_equal_indices_mean_the_same_element() -> None:
    cells = [Var(f"s.a[{v.text}]", "int", "cell", ("a", Poly.var(v))) for v in (X, Y)]
    differ = opposite(equal(*cells))
    assert is_possible(differ)
    assert not is_possible(differ, equal(X, Y))
    others = [Var(f"s.b[{X.text}]", "int", "cell", ("b", Poly.var(X))), cells[0]]
    assert is_possible(opposite(equal(*others)))


def test_a_function_makes_the_same_of_the_same() -> None:
    calls = [Var(f"f({v.text})", "result", "call", ("f", Poly.var(v))) for v in (X, Y)]
    same = IsSame(calls[0], calls[1])
    assert is_possible((same, False))
    assert not is_possible((same, False), equal(X, Y))
    assert is_possible((same, True), opposite(equal(X, Y)))


# Paths


def test_every_path_is_run_once() -> None:
    def run(path: Path) -> tuple[bool, ...]:
        return tuple(path.decide((IsTrue(flag), True)) for flag in FLAGS[:3])

    leaves = explore(Encoder(), run, 100)
    assert sorted(leaf.result for leaf in leaves) == sorted(
        itertools.product((False, True), repeat=3)
    )
    assert all(len(leaf.decided) == 3 for leaf in leaves)


def test_what_follows_is_not_decided_again() -> None:
    def run(path: Path) -> list[bool]:
        return [path.decide(at_least(X, bound)) for bound in (0, 1, 0, -1)]

    leaves = explore(Encoder(), run, 100)
    assert sorted(leaf.result for leaf in leaves) == [
        [False, False, False, False],
        [False, False, False, True],
        [True, False, True, True],
        [True, True, True, True],
    ]
    assert sorted(len(leaf.decided) for leaf in leaves) == [2, 2, 2, 2]


def test_what_is_clear_needs_no_path() -> None:
    def run(path: Path) -> tuple[bool, bool]:
        return path.decide(True), path.decide(False)

    assert [leaf.result for leaf in explore(Encoder(), run, 1)] == [(True, False)]


def test_too_many_paths() -> None:
    def run(path: Path) -> None:
        for flag in FLAGS:
            path.decide((IsTrue(flag), True))

    assert len(explore(Encoder(), run, 16)) == 16
    with pytest.raises(TooManyPathsError):
        explore(Encoder(), run, 15)


# Cubes


def primes_of(commute: Callable[[Path], bool | None]) -> tuple[set[str], bool]:
    encoder = Encoder()
    cubes = Cubes(encoder, explore(encoder, commute, 512))
    is_exact = cubes.look()
    return {in_python(cube) for cube in cubes.found}, is_exact


def test_everywhere_and_nowhere() -> None:
    assert primes_of(lambda _: True) == ({"True"}, True)
    assert primes_of(lambda _: False) == (set(), True)
    assert primes_of(lambda _: None) == (set(), False)


def test_alternatives_overlap() -> None:
    def commute(path: Path) -> bool:
        return path.decide(at_least(X, 1)) or path.decide(equal(X, Y))

    assert primes_of(commute) == ({"s.x > 0", "s.x == s.y"}, True)


def test_what_does_not_matter_is_left_out() -> None:
    def commute(path: Path) -> bool:
        path.decide(at_least(Y, 0))
        return path.decide(at_least(X, 1)) and path.decide(at_least(K, 3))

    assert primes_of(commute) == ({"s.x > 0 and first.k > 2"}, True)


def test_what_nobody_can_tell_is_not_claimed() -> None:
    def commute(path: Path) -> bool | None:
        return True if path.decide(at_least(X, 1)) else None

    assert primes_of(commute) == ({"s.x > 0"}, False)


def test_what_cannot_be_evaluated_is_in_no_cube() -> None:
    hidden = IsTrue(Var("next", "bool", is_known=False))

    def commute(path: Path) -> bool:
        return path.decide((hidden, True)) or path.decide(at_least(X, 1))

    assert primes_of(commute) == ({"s.x > 0"}, False)


def test_a_special_case_is_left_out_unless_it_reads_less() -> None:
    def narrower(path: Path) -> bool:
        return path.decide(at_least(X, 5)) or path.decide(at_least(X, 1))

    assert primes_of(narrower) == ({"s.x > 0"}, True)

    def cheaper(path: Path) -> bool:
        return path.decide(at_least(K, 5)) or path.decide(equal(X, Y))

    assert primes_of(cheaper) == ({"first.k > 4", "s.x == s.y"}, True)


Truth = Callable[[dict[Var, bool]], bool]


@pytest.mark.parametrize("number", range(0, 256, 7))
def test_all_functions_of_three_conditions_are_covered(number: int) -> None:
    """Each function of three truth values: its cubes hold exactly where it does, and are prime."""
    flags = FLAGS[:3]
    table = {
        values: bool(number >> index & 1)
        for index, values in enumerate(itertools.product((False, True), repeat=3))
    }

    def commute(path: Path) -> bool:
        return table[tuple(path.decide((IsTrue(flag), True)) for flag in flags)]  # type: ignore[index]

    encoder = Encoder()
    leaves: list[Leaf[Any]] = explore(encoder, commute, 64)
    cubes = Cubes(encoder, leaves)
    assert cubes.look()
    for values, expected in table.items():
        state = dict(zip(flags, values, strict=True))
        assert any(_holds(cube, state) for cube in cubes.found) == expected
    for cube in cubes.found:
        for shorter in _shorter(cube):
            assert not all(
                table[values]
                for values in table
                if _holds(shorter, dict(zip(flags, values, strict=True)))
            )


def _holds(cube: Cube, state: dict[Var, bool]) -> bool:
    return all(state[next(iter(atom.variables()))] == wanted for atom, wanted in cube)


def _shorter(cube: Cube) -> Iterable[Cube]:
    for position in range(len(cube)):
        yield (*cube[:position], *cube[position + 1 :])
