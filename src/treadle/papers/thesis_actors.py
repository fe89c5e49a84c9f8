"""The programs of the papers on actors (CC 2016, iFM 2016, LOPSTR 2017), in Python.

`@method` is only for type checkers: with it, they know what `.send` takes and returns.
"""

from __future__ import annotations

from typing import Any

from treadle.actors import Actor, method, program

# A database and its worker (the thesis's example of chapter 6)


class DB(Actor):
    """Registers a worker, and answers who is registered."""

    def __init__(self, data: int) -> None:
        self.data = data
        self.client: Worker | None = None

    @method
    async def register(self, w: Worker) -> None:
        """Keep a worker that answers."""
        if w.ping.send(5).get() == 5:
            self.client = w

    @method
    async def get_data(self, w: Worker) -> int | None:
        """Return the data to who is registered."""
        return self.data if self.client is w else None


class Worker(Actor):
    """Wants the data."""

    def __init__(self) -> None:
        self.data: int | None = None

    @method
    async def work(self, db: Any) -> None:
        """Get the data."""
        self.data = db.get_data.send(self).get()

    @method
    async def ping(self, n: int) -> int:
        """Answer."""
        return n


@program
def protocol() -> Worker:
    """Register a worker that is at work already."""
    db, w = DB(7), Worker()
    db.register.send(w)
    w.work.send(db)
    return w


# The sleeping barber ("Combining Static Analysis and Testing for Deadlock Detection", iFM 2016)


class Barber(Actor):
    """Sleeps until a client sits on the chair."""

    @method
    async def sleeps(self, client: Client, chair: Chair) -> None:
        """Wait for a client."""
        chair.taken.send(client).get()

    @method
    async def cuts(self) -> None:
        """Cut."""


class Chair(Actor):
    """Is taken by one client at a time."""

    @method
    async def taken(self, client: Client) -> None:
        """Let a client sit down."""
        await client.sits.send()

    @method
    async def is_clean(self) -> None:
        """Be looked at."""


class Client(Actor):
    """Wants a haircut."""

    @method
    async def wakeup(self, barber: Barber, chair: Chair) -> None:
        """Wake the barber up."""
        cut = barber.cuts.send()
        chair.is_clean.send()
        cut.get()

    @method
    async def sits(self) -> None:
        """Sit down."""


@program
def barber(n: int) -> None:
    """Let clients come to one barber with one chair."""
    ba, ch = Barber(), Chair()
    for _ in range(n):
        cl = Client()
        cl.wakeup.send(ba, ch)
        ba.sleeps.send(cl, ch)


# Hungry birds; birds(3, 2) is the paper's HB


class Dish(Actor):
    """Has worms."""

    def __init__(self, worms: int) -> None:
        self.worms = worms

    @method
    async def left(self) -> int:
        """Return how many there are."""
        return self.worms

    @method
    async def take(self) -> None:
        """Take one."""
        self.worms -= 1

    @method
    async def fill(self) -> None:
        """Fill the dish."""
        self.worms = 10


class Parent(Actor):
    """Fills the dish."""

    def __init__(self, dish: Dish) -> None:
        self.dish = dish

    @method
    async def feed(self, bird: Bird) -> None:
        """Fill the dish and let a bird eat."""
        self.dish.fill.send().get()
        bird.eat.send(self).get()


class Bird(Actor):
    """Eats, or cries for its parent."""

    def __init__(self, dish: Dish) -> None:
        self.dish = dish

    @method
    async def eat(self, parent: Parent) -> None:
        """Eat a worm, if there is one."""
        if self.dish.left.send().get() > 0:
            self.dish.take.send()
        else:
            parent.feed.send(self).get()


@program
def birds(n: int, worms: int) -> None:
    """Let birds eat from one dish."""
    dish = Dish(worms)
    parent = Parent(dish)
    for _ in range(n):
        Bird(dish).eat.send(parent)


# Pairing; pairing(n) is the paper's PA, free_pairing(3) its fPA


class Node(Actor):
    """Wants to be paired."""

    def __init__(self) -> None:
        self.pair: Node | None = None

    @method
    async def make(self, factory: Any) -> None:
        """Ask for a pair."""
        factory.pairs.send(self).get()

    @method
    async def receive(self, other: Node) -> None:
        """Have a pair."""
        self.pair = other


class Factory(Actor):
    """Pairs the first node with all others, and waits for the second."""

    def __init__(self) -> None:
        self.first: Node | None = None

    @method
    async def pairs(self, node: Node) -> None:
        """Pair a node."""
        if self.first is None:
            self.first = node
        else:
            self.first.receive.send(node)
            node.receive.send(self.first).get()


class FreeFactory(Actor):
    """The same, and waits for the first: free of deadlocks."""

    def __init__(self) -> None:
        self.first: Node | None = None

    @method
    async def pairs(self, node: Node) -> None:
        """Pair a node."""
        if self.first is None:
            self.first = node
        else:
            self.first.receive.send(node).get()
            node.receive.send(self.first)


@program
def pairing(n: int) -> None:
    """Let nodes be paired."""
    factory = Factory()
    for _ in range(n):
        Node().make.send(factory)


@program
def free_pairing(n: int) -> None:
    """Let nodes be paired without a deadlock."""
    factory = FreeFactory()
    for _ in range(n):
        Node().make.send(factory)


# A pipeline that sorts


class Cell(Actor):
    """Keeps the smallest item it was given, and passes the others on."""

    def __init__(self) -> None:
        self.value: int | None = None
        self.next: Cell | None = None

    @method
    async def push(self, x: int) -> None:
        """Take an item."""
        if self.value is None:
            self.value = x
            return
        if self.next is None:
            self.next = Cell()
        self.value, x = min(self.value, x), max(self.value, x)
        self.next.push.send(x)


class Feeder(Actor):
    """Feeds a pipeline."""

    @method
    async def feed(self, first: Cell, items: tuple[int, ...]) -> None:
        """Push one item after the other."""
        if items:
            first.push.send(items[0])
            self.feed.send(first, items[1:])


@program
def pipesort(items: tuple[int, ...]) -> None:
    """Sort items."""
    first = Cell()
    Feeder().feed.send(first, items)
