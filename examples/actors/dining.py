"""Three philosophers who take one fork, which takes the next: the twin of `dining.abs`."""

from typing import Any

from treadle.actors import Actor, program


class Fork(Actor):
    """Is taken together with a second one."""

    async def grab(self, second: Any) -> None:
        """Take the second one, too."""
        second.also.send().get()

    async def also(self) -> None:
        """Be taken as the second one."""


class Philosopher(Actor):
    """Eats with two forks."""

    async def eat(self, one: Any, two: Any) -> None:
        """Take both forks."""
        one.grab.send(two).get()


@program
def main() -> None:
    n = 3
    forks = [Fork() for _ in range(n)]
    for i in range(n):
        philosopher: Any = Philosopher()
        philosopher.eat.send(forks[i], forks[(i + 1) % n])
