"""A loop over a dictionary that another thread changes.

A scoreboard adds up its scores while a new player comes in: `RuntimeError: dictionary changed size
during iteration`. A snapshot of the values is one atomic operation, and a loop over it is safe.
"""

import threading


class Scores:
    """Scores by player."""

    def __init__(self) -> None:
        self._by_player = {"ann": 1, "bob": 2}

    def add(self, player: str, score: int) -> None:
        """Enter a player."""
        self._by_player[player] = score

    def total(self) -> int:
        """Add up, while others may enter."""
        total = 0
        for score in self._by_player.values():
            total += score
        return total


class SnapshotScores(Scores):
    """Scores that are copied before they are added up."""

    def total(self) -> int:
        """Add up a copy."""
        total = 0
        for score in list(self._by_player.values()):
            total += score
        return total


def changed_in_the_loop() -> None:
    """The loop can break off with a RuntimeError."""
    _enter_and_add(Scores())


def snapshot() -> None:
    """The total is that of before or after, in every interleaving."""
    _enter_and_add(SnapshotScores())


def _enter_and_add(scores: Scores) -> None:
    thread = threading.Thread(target=scores.add, args=("cleo", 4))
    thread.start()
    total = scores.total()
    thread.join()
    assert total in (3, 7), f"the total is {total}"
