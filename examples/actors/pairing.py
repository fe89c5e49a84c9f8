"""Nodes that find partners at a factory, and wait for it: the twin of `pairing.abs`."""

from typing import Any

from treadle.actors import Actor, program


class Node(Actor):
    """Wants a partner."""

    def __init__(self) -> None:
        self.pair = None

    async def make(self, factory: Any) -> None:
        """Ask the factory for a partner."""
        factory.pairs.send(self).get()

    async def receive(self, other: Any) -> None:
        """Take a partner."""
        self.pair = other


class Factory(Actor):
    """Makes pairs."""

    def __init__(self) -> None:
        self.first: Any = None

    async def pairs(self, node: Any) -> None:
        """Keep the first node; pair all others with it."""
        if self.first is None:
            self.first = node
        else:
            self.first.receive.send(node)
            node.receive.send(self.first).get()


@program
def main() -> None:
    factory = Factory()
    for _ in range(3):
        node: Any = Node()
        node.make.send(factory)
