"""Services that people write with actors: every algorithm sees every outcome that there is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import treadle
from treadle.actors import Actor, Program, until

Outcomes = set[object]


class Bank(Actor):
    """Moves money between accounts, and looks before it does."""

    def __init__(self, **balances: int) -> None:
        self.balances = tuple(sorted(balances.items()))

    async def move(self, source, target, amount):
        balances = dict(self.balances)
        if balances[source] < amount:
            return False
        balances[source] -= amount
        balances[target] += amount
        self.balances = tuple(sorted(balances.items()))
        return True


class Voter(Actor):
    """Votes once, and then hears what was decided."""

    def __init__(self, vote: bool) -> None:
        self.vote, self.decided = vote, None

    async def ask(self):
        return self.vote

    async def tell(self, decision):
        self.decided = decision


class Coordinator(Actor):
    """Asks all voters at once, and tells them the result."""

    def __init__(self) -> None:
        self.log = ()

    async def decide(self, voters):
        asked = [voter.ask.send() for voter in voters]
        answers = [await answer for answer in asked]
        self.log += (all(answers),)
        for voter in voters:
            voter.tell.send(all(answers))


class Pool(Actor):
    """Lends what it has; who comes when there is nothing waits."""

    def __init__(self, free: int) -> None:
        self.free, self.lent = free, ()

    async def borrow(self, who):
        await until(lambda: self.free > 0)
        self.free -= 1
        self.lent += (who,)

    async def give_back(self):
        self.free += 1


def transfers(seen: Outcomes) -> Program:
    def main():
        bank = Bank(a=2, b=0)
        bank.move.send("a", "b", 2)
        bank.move.send("a", "b", 1)
        bank.move.send("b", "a", 1)
        return bank

    return _noting(main, seen, lambda bank: bank.balances)


def votes(seen: Outcomes) -> Program:
    def main():
        voters = (Voter(True), Voter(False))
        coordinator = Coordinator()
        coordinator.decide.send(voters)
        coordinator.decide.send(voters[:1])
        return coordinator, *voters

    return _noting(main, seen, lambda c, *voters: (c.log, *(v.decided for v in voters)))


def loans(seen: Outcomes) -> Program:
    def main():
        pool = Pool(1)
        for who in "xyz":
            pool.borrow.send(who)
        pool.give_back.send()
        return pool

    return _noting(main, seen, lambda pool: (pool.free, pool.lent))


def _noting(main: Callable[[], object], seen: Outcomes, look: Callable[..., object]) -> Program:
    program = Program(main)
    program.finally_(lambda *actors: seen.add(look(*actors)))
    return program


TRANSFERS = {(("a", a), ("b", 2 - a)) for a in (0, 1, 2)}
VOTES = {
    ((first, not first), told, False) for first in (False, True) for told in (False, True)
}  # both decisions reach the first voter, in any order
LOANS = {(0, (one, two)) for one in "xyz" for two in "xyz" if one != two}


@pytest.mark.parametrize("level", ["actor", "field", "access", "entry"])
@pytest.mark.parametrize(
    "algorithm", [name for name, kind in treadle.ALGORITHMS.items() if kind.covers]
)
@pytest.mark.parametrize(
    ("make", "outcomes"), [(transfers, TRANSFERS), (votes, VOTES), (loans, LOANS)]
)
def test_every_algorithm_sees_every_outcome(make, outcomes, algorithm, level):
    seen: Outcomes = set()
    result = treadle.explore(make(seen), algorithm, dependency=level, stop_on_failure=False)
    assert result.complete
    assert seen == outcomes
    assert {failure.kind for failure in result.failures} == ({"stuck"} if make is loans else set())
