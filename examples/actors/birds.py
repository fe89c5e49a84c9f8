"""Hungry birds and their parent, who wait for each other: the twin of `birds.abs`."""

from typing import Any

from treadle.actors import Actor, program


class Dish(Actor):
    """Has worms."""

    def __init__(self, worms: int) -> None:
        self.worms = worms

    async def left(self) -> int:
        """Return how many are left."""
        return self.worms

    async def take(self) -> None:
        """Take one."""
        self.worms -= 1

    async def fill(self) -> None:
        """Fill it again."""
        self.worms = 10


class Parent(Actor):
    """Fills the dish."""

    def __init__(self, dish: Any) -> None:
        self.dish = dish

    async def feed(self, bird: Any) -> None:
        """Fill the dish, and wait until the bird has eaten."""
        self.dish.fill.send().get()
        bird.eat.send(self).get()


class Bird(Actor):
    """Is hungry."""

    def __init__(self, dish: Any) -> None:
        self.dish = dish

    async def eat(self, parent: Any) -> None:
        """Take a worm, or ask for more."""
        if self.dish.left.send().get() > 0:
            self.dish.take.send()
        else:
            parent.feed.send(self).get()


@program
def main() -> None:
    dish = Dish(1)
    parent = Parent(dish)
    for _ in range(2):
        bird: Any = Bird(dish)
        bird.eat.send(parent)
