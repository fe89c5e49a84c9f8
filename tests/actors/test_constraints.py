"""Constraints of actors: declared by method, asked on one actor, checked wherever they are used."""

from __future__ import annotations

import math
from typing import Any

import pytest

import treadle
from treadle.actors import Actor, Program, pause, program, until

BOTH = ("constrained", "optimal-constrained")
LEVELS = ("actor", "field", "access", "entry")
by_both = pytest.mark.parametrize("algorithm", BOTH)
at_every_level = pytest.mark.parametrize("dependency", LEVELS)


def counts(test: Program, algorithm: str) -> tuple[int, int]:
    result = treadle.explore(test, algorithm, stop_on_failure=False)
    assert result.complete
    assert result.ok
    return result.executions, result.blocked


class Account(Actor):
    def __init__(self) -> None:
        self.balance = 0
        self.log: tuple[int, ...] = ()

    async def deposit(self, amount: int) -> None:
        self.balance += amount

    async def double(self) -> None:
        self.balance *= 2

    async def note(self, amount: int) -> None:
        self.log = (*self.log, amount)


def deposits(n: int, **options: Any) -> Program:
    def main() -> None:
        account = Account()
        for i in range(n):
            account.deposit.send(i + 1)  # type: ignore[attr-defined]

    made = Program(main, **options)
    made.independent("deposit", "deposit")
    return made


@at_every_level
@by_both
def test_deposits_commute(algorithm: str, dependency: str) -> None:
    assert counts(deposits(4, dependency=dependency), algorithm) == (1, 0)
    assert treadle.explore(deposits(4, dependency=dependency)).executions == 24
    none = treadle.explore(deposits(3, dependency=dependency), algorithm, constraints="none")
    assert none.executions == (6 if algorithm == "optimal-constrained" else none.executions)


class Buffer(Actor):
    def __init__(self, size: int) -> None:
        self.size = size
        self.count = 0

    async def put(self, k: int) -> None:
        if self.count < self.size:
            self.count += 1
        if k:
            self.put.send(k - 1)  # type: ignore[attr-defined]

    async def get(self, k: int) -> None:
        if self.count > 0:
            self.count -= 1
        if k:
            self.get.send(k - 1)  # type: ignore[attr-defined]


def buffer(n: int, **options: Any) -> Program:
    def main() -> None:
        made = Buffer(n)
        made.put.send(n - 1)  # type: ignore[attr-defined]
        made.get.send(n - 1)  # type: ignore[attr-defined]

    test = Program(main, **options)
    test.independent("put", "get")(lambda s, _first, _second: 0 < s.count < s.size)
    return test


@at_every_level
@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_bounded_buffer(n: int, dependency: str) -> None:
    """As many as the paper's program has as a model."""
    assert counts(buffer(n, dependency=dependency), "constrained") == (2**n, 0)
    assert counts(buffer(n, dependency=dependency), "optimal-constrained") == (2**n, 0)
    assert treadle.explore(buffer(n, dependency=dependency)).executions == math.comb(2 * n, n)


class Registry(Actor):
    def __init__(self, free: int) -> None:
        self.free = free

    async def register(self, user: User) -> None:
        if self.free > 0:
            self.free -= 1
            user.confirm.send(1)  # type: ignore[attr-defined]
        else:
            user.confirm.send(0)  # type: ignore[attr-defined]


class User(Actor):
    async def apply(self, registry: Any) -> None:
        registry.register.send(self)

    async def confirm(self, has_one: int) -> None:
        self.has_one = has_one


@program
def registration(n: int) -> None:
    registry = Registry(n)
    for _ in range(n):
        User().apply.send(registry)  # type: ignore[attr-defined]


registration.independent("register", "register")(lambda s, _first, _second: s.free > 1)
registration.independent("register", "register")(lambda s, _first, _second: s.free <= 0)


@pytest.mark.parametrize(("n", "classes"), [(2, 1), (3, 3), (4, 12)])
def test_what_others_may_write_is_not_relied_on(n: int, classes: int) -> None:
    assert counts(registration(n), "optimal-constrained") == (classes, 0)
    assert treadle.explore(registration(n)).executions == math.factorial(n)


# Blocks


class Waiting(Actor):
    def __init__(self) -> None:
        self.x = 0

    async def twice(self, amount: int) -> None:
        self.x += amount
        await pause()
        self.x += amount

    async def late(self) -> None:
        await until(lambda: self.x > 0)
        self.x += 1

    async def once(self) -> None:
        self.x += 1

    async def keeps(self, other: Any) -> None:
        self.x = other.once.send().get()

    async def strange(self) -> None:
        exec("self.x = 1")

    async def keep(self) -> None:
        seen = self.x
        await pause()
        self.x = seen


class Other(Actor):
    def __init__(self) -> None:
        self.x = 0

    async def once(self) -> None:
        self.x += 1


def waiting(*sent: tuple[Any, ...]) -> Program:
    def main() -> None:
        actor = Waiting()
        Other()
        for name, *args in sent:
            getattr(actor, name).send(*args)

    return Program(main, dependency="actor")


@by_both
def test_a_method_that_waits_has_several_blocks(algorithm: str) -> None:
    test = waiting(("twice", 1), ("twice", 2))
    for first in (1, 2):
        for second in (1, 2):
            test.independent(f"twice:{first}", f"twice:{second}")
    assert counts(test, algorithm) == (1, 0)
    assert treadle.explore(waiting(("twice", 1), ("twice", 2))).executions == 6
    half = waiting(("twice", 1), ("twice", 2))
    half.independent("twice:1", "twice:1")
    assert counts(half, algorithm)[0] > 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("once", r"several classes have 'once': say which one, Waiting.once, Other.once"),
        ("twice", r"'twice' has several blocks: say which one, twice:1, twice:2"),
        ("nobody", r"no block is called 'nobody': there are keep:1, keep:2, keeps:1"),
        ("keeps:1", r"'keeps:1' cannot be independent by a constraint: line \d+: it waits and"),
        ("strange", r"'strange' cannot be independent by a constraint: line \d+: "),
    ],
)
def test_names_that_mean_nothing(name: str, message: str) -> None:
    test = waiting(("twice", 1))
    test.independent(name, "twice:1")
    with pytest.raises(treadle.TreadleError, match=message):
        treadle.explore(test, "optimal-constrained")


@by_both
def test_the_class_may_be_named(algorithm: str) -> None:
    test = waiting(("once",), ("once",), ("once",))
    test.independent("Waiting.once", "Waiting.once")
    assert counts(test, algorithm) == (1, 0)
    other = waiting(("once",), ("once",))
    other.independent("Other.once", "Other.once")
    assert counts(other, "optimal-constrained") == (2, 0)


# Wrong declarations


def failing(test: Program, algorithm: str) -> treadle.Failure:
    result = treadle.explore(test, algorithm)
    [failure] = result.failures
    assert (failure.kind, result.complete) == ("constraint", False)
    again = treadle.replay(test, failure.token)
    assert again is not None
    assert (again.kind, again.message) == (failure.kind, failure.message)
    return failure


def account(*sent: tuple[Any, ...], **options: Any) -> Program:
    def main() -> None:
        made = Account()
        for name, *args in sent:
            getattr(made, name).send(*args)

    return Program(main, **options)


@at_every_level
@by_both
def test_a_field_that_differs(algorithm: str, dependency: str) -> None:
    test = account(("deposit", 1), ("double",), dependency=dependency)
    test.independent("deposit", "double")
    failure = failing(test, algorithm)
    assert "where Account1 has balance = 0, log = () they are not" in failure.message
    assert "Account1.balance differs when double of Account1 comes before" in failure.message
    assert failure.schedule == ("main", "main.1:deposit", "main.2:double")


@by_both
def test_a_bound_that_is_too_weak_by_one(algorithm: str) -> None:
    @program
    def narrow() -> None:
        registry = Registry(1)
        for _ in range(2):
            registry.register.send(User())  # type: ignore[attr-defined]

    narrow.independent("register", "register")(lambda s, _first, _second: s.free >= 1)
    assert "what they create differs" in failing(narrow, algorithm).message


@by_both
def test_a_local_that_differs(algorithm: str) -> None:
    test = waiting(("keep",), ("twice", 1))
    test.independent("keep:1", "twice:1")
    assert "how keep of Waiting1 goes on differs" in failing(test, algorithm).message


@by_both
def test_a_guard_that_was_left_out(algorithm: str) -> None:
    class Semaphore(Actor):
        def __init__(self) -> None:
            self.free = 1

        async def take(self) -> None:
            await until(lambda: self.free > 0)
            self.free -= 1

    def main() -> None:
        made = Semaphore()
        made.take.send()  # type: ignore[attr-defined]
        made.take.send()  # type: ignore[attr-defined]

    test = Program(main)
    test.independent("take:1", "take:1")
    assert treadle.explore(test, algorithm).failures[0].kind == "constraint"


@by_both
def test_an_assertion_that_only_one_order_fails(algorithm: str) -> None:
    class Checked(Actor):
        def __init__(self) -> None:
            self.x = 0

        async def check(self) -> None:
            assert self.x == 0

        async def write(self) -> None:
            self.x = 1

    def main() -> None:
        made = Checked()
        made.check.send()  # type: ignore[attr-defined]
        made.write.send()  # type: ignore[attr-defined]

    test = Program(main)
    test.independent("check", "write")
    assert treadle.explore(test, algorithm).failures[0].kind == "constraint"


def writes_a_field(s: Any, first: Any, second: Any) -> bool:
    del first, second
    s.balance = 1
    return True


def sends(s: Any, first: Any, second: Any) -> bool:
    del first, second
    s.deposit.send(1)
    return True


@by_both
@pytest.mark.parametrize("holds", [writes_a_field, sends])
def test_a_constraint_may_only_read(holds: Any, algorithm: str) -> None:
    test = account(("deposit", 1), ("deposit", 2))
    test.independent("deposit", "deposit")(holds)
    with pytest.raises(treadle.TreadleError, match="deposit and deposit must only read"):
        treadle.explore(test, algorithm)


def test_a_constraint_that_changes_a_list_or_raises() -> None:
    class Keeper(Actor):
        def __init__(self) -> None:
            self.items: list[int] = []

        async def keep(self) -> None:
            self.items.append(1)

    def main() -> None:
        made = Keeper()
        made.keep.send()  # type: ignore[attr-defined]
        made.keep.send()  # type: ignore[attr-defined]

    test = Program(main)
    test.independent("keep", "keep")(lambda s, _first, _second: s.items.append(1) or True)
    with pytest.raises(treadle.TreadleError, match="must only read"):
        treadle.explore(test, "constrained")
    other = Program(main)
    other.independent("keep", "keep")(lambda s, _first, _second: s.nothing)
    with pytest.raises(treadle.TreadleError, match="keep and keep raised AttributeError"):
        treadle.explore(other, "constrained")


# Parameters, invariants, actors that can be reached


@by_both
def test_parameters_decide(algorithm: str) -> None:
    class Table(Actor):
        def __init__(self) -> None:
            self.cells: tuple[int, ...] = (0, 0, 0)

        async def put(self, key: int, value: int = 1) -> None:
            cells = list(self.cells)
            cells[key] = cells[key] * 2 + value
            self.cells = tuple(cells)

    def of(*keys: int) -> Program:
        def main() -> None:
            table = Table()
            for key in keys:
                table.put.send(key)  # type: ignore[attr-defined]

        test = Program(main)
        test.independent("put", "put")(lambda _, first, second: first.key != second.key)
        test.independent("put", "put")(
            lambda _, first, second: first.key == second.key and first.value == second.value
        )
        return test

    assert counts(of(0, 1, 2), algorithm) == (1, 0)
    assert counts(of(0, 0), algorithm) == (1, 0)


def test_an_invariant_sees_both_orders() -> None:
    test = account(("deposit", 1), ("deposit", -1))
    test.independent("deposit", "deposit")

    def main() -> Account:
        made = Account()
        made.deposit.send(1)  # type: ignore[attr-defined]
        made.deposit.send(-1)  # type: ignore[attr-defined]
        return made

    with_invariant = Program(main)
    with_invariant.independent("deposit", "deposit")

    @with_invariant.invariant
    def never_below_zero(made: Account) -> None:
        assert made.balance >= 0

    for algorithm in BOTH:
        assert counts(test, algorithm) == (1, 0)
        assert treadle.explore(with_invariant, algorithm).failures[0].kind == "assertion"


def test_references_travel() -> None:
    """A third actor is told of the cell by one task, and lets another write it."""

    class Cell(Actor):
        def __init__(self) -> None:
            self.gate = 0
            self.x = 0

        async def a(self) -> None:
            if self.gate:
                self.x = 1

        async def b(self) -> None:
            if self.gate:
                self.x = 2

        async def open(self) -> None:
            self.gate = 1

    class Middle(Actor):
        def __init__(self) -> None:
            self.cell: Any = None

        async def meet(self, cell: Any) -> None:
            self.cell = cell

        async def use(self) -> None:
            if self.cell is not None:
                self.cell.open.send()

    def main() -> Cell:
        cell, middle = Cell(), Middle()
        cell.a.send()  # type: ignore[attr-defined]
        cell.b.send()  # type: ignore[attr-defined]
        middle.use.send()  # type: ignore[attr-defined]
        middle.meet.send(cell)  # type: ignore[attr-defined]
        return cell

    ends: dict[str, set[int]] = {}
    for algorithm in ("exhaustive", *BOTH):
        test = Program(main)
        test.independent("a", "b")(lambda s, _first, _second: s.gate == 0)
        seen = ends.setdefault(algorithm, set())
        test.finally_(lambda cell, seen=seen: seen.add(cell.x))
        assert treadle.explore(test, algorithm).ok
    assert ends == {name: {0, 1, 2} for name in ends}


@by_both
def test_the_length_of_a_loop_that_is_under_way(algorithm: str) -> None:
    """No local name tells it, and no field differs when the two steps have been taken."""

    class Looping(Actor):
        def __init__(self) -> None:
            self.length = 2
            self.count = 0

        async def rounds(self) -> None:
            for _ in range(self.length):
                await pause()
                self.count += 1

        async def lengthen(self) -> None:
            self.length = 3

    def main() -> None:
        made = Looping()
        made.rounds.send()  # type: ignore[attr-defined]
        made.lengthen.send()  # type: ignore[attr-defined]

    test = Program(main)
    test.independent("rounds:1", "lengthen")
    [failure] = treadle.explore(test, algorithm).failures
    assert failure.kind == "constraint"
    assert "goes on differs" in failure.message


class Strict(Actor):
    def __init__(self) -> None:
        self.total = 0

    async def add(self, amount: int) -> None:
        self.total += amount
        assert self.total > 100

    async def say(self, amount: int) -> None:
        self.total += amount
        assert self.total > 100, f"only {self.total}"


@program
def failing_both_ways() -> None:
    strict = Strict()
    strict.add.send(1)  # type: ignore[attr-defined]
    strict.add.send(2)  # type: ignore[attr-defined]


@program
def saying_something_else() -> None:
    strict = Strict()
    strict.say.send(1)  # type: ignore[attr-defined]
    strict.say.send(2)  # type: ignore[attr-defined]


@by_both
def test_what_pytest_adds_to_a_bare_assert_is_no_part_of_the_program(algorithm: str) -> None:
    failing_both_ways.independent("add", "add")
    result = treadle.explore(failing_both_ways, algorithm, stop_on_failure=False)
    assert set(result.failure_kinds) == {"assertion"}
    saying_something_else.independent("say", "say")
    result = treadle.explore(saying_something_else, algorithm, stop_on_failure=False)
    assert set(result.failure_kinds) == {"constraint"}
