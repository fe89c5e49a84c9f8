"""A master and its workers, who compute parts of a sum: the twin of `pi.abs`."""

from fractions import Fraction
from typing import Any

from treadle.actors import Actor, program


class Master(Actor):
    """Adds what the workers find."""

    def __init__(self, workers: tuple[Any, ...]) -> None:
        self.workers, self.answers, self.sum = workers, 0, Fraction(0)

    async def boot(self) -> None:
        """Let all workers begin."""
        for k, w in enumerate(self.workers):
            w.part.send(self, k)

    async def add(self, x: Fraction) -> None:
        """Add a part; stop the workers after the last one."""
        self.answers += 1
        self.sum += x
        if self.answers == len(self.workers):
            assert self.sum == Fraction(52, 15)
            for w in self.workers:
                w.stop.send()


class Worker(Actor):
    """Computes one part."""

    async def part(self, master: Any, number: int) -> None:
        """Compute it, and tell the master."""
        master.add.send(Fraction(4 if number % 2 == 0 else -4, 2 * number + 1))

    async def stop(self) -> None:
        """Stop."""


@program
def main() -> None:
    workers = Worker(), Worker(), Worker()
    master: Any = Master(workers)
    master.boot.send()
