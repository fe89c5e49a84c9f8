"""Clerks that register workers: the twin of `registry.abs`."""

from typing import Any

from treadle.actors import Actor, program


class Registry(Actor):
    """Two lists that do not depend on each other."""

    def __init__(self) -> None:
        self.others: tuple[int, ...] = ()
        self.workers: tuple[int, ...] = ()

    async def other(self, i: int) -> None:
        """Note something else."""
        self.others += (i,)

    async def worker(self, i: int) -> None:
        """Note a worker."""
        self.workers += (i,)


class Clerk(Actor):
    """Registers one worker."""

    async def go(self, registry: Any, i: int) -> None:
        """Do it."""
        registry.worker.send(i)


@program
def main() -> None:
    registry: Any = Registry()
    registry.other.send(0)
    for i in range(3):
        clerk: Any = Clerk()
        clerk.go.send(registry, i)
