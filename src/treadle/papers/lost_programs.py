"""Programs of iFM 2016 whose sources are lost, written again from what the paper says of them.

The distributed factorial (FA), a loop that creates actors and tasks (UL), making water molecules
(WM), a peer-to-peer system (P2P); those that begin with `free_` are free of deadlocks, in a way
that a static analysis cannot see. Counts are those of these programs, not the paper's.
"""

from __future__ import annotations

from typing import Any

from treadle.actors import Actor, method, program

# FA: a distributed factorial


class Factorial(Actor):
    """Has the factorial of the next smaller number computed by another actor."""

    def __init__(self) -> None:
        self.reported = 0

    @method
    async def compute(self, n: int, boss: Any) -> int:
        """Wait for the helper, and hold the actor meanwhile; then report to who asked."""
        result = 1 if n <= 1 else n * Factorial().compute.send(n - 1, self).get()
        boss.report.send(result).get()
        return result

    @method
    async def report(self, result: int) -> None:
        """Take note of a helper's result."""
        self.reported = result


class PatientFactorial(Actor):
    """The same, and releases the actor while the helper computes."""

    def __init__(self) -> None:
        self.reported = 0

    @method
    async def compute(self, n: int, boss: Any) -> int:
        """Wait for the helper, who can report meanwhile."""
        result = 1 if n <= 1 else n * await PatientFactorial().compute.send(n - 1, self)
        boss.report.send(result).get()
        return result

    @method
    async def report(self, result: int) -> None:
        """Take note of a helper's result."""
        self.reported = result


class Customer(Actor):
    """Wants a factorial."""

    @method
    async def report(self, result: int) -> None:
        """Take the result."""


@program
def factorial(n: int) -> None:
    """Compute two factorials, each with helpers of its own."""
    for _ in range(2):
        Factorial().compute.send(n, Customer())


@program
def free_factorial(n: int) -> None:
    """Compute two factorials without a deadlock."""
    for _ in range(2):
        PatientFactorial().compute.send(n, Customer())


# UL: a loop that creates actors and tasks


class Item(Actor):
    """Touches another one."""

    @method
    async def work(self, other: Any) -> None:
        """Touch the other one, and hold the actor meanwhile."""
        other.touch.send().get()

    @method
    async def touch(self) -> None:
        """Be touched."""


@program
def unbounded_loop(n: int) -> None:
    """Make pairs of items that touch each other."""
    for _ in range(n):
        one, other = Item(), Item()
        one.work.send(other)
        other.work.send(one)


@program
def free_unbounded_loop(n: int) -> None:
    """Make items that touch the one before: nobody waits for a later one."""
    last = Item()
    for _ in range(n):
        new = Item()
        new.work.send(last)
        last = new


# WM: making water molecules


class Hydrogen(Actor):
    """Offers itself to an oxygen atom."""

    def __init__(self) -> None:
        self.bound = False

    @method
    async def offer(self, oxygen: Any) -> None:
        """Wait until it was noticed, and hold the actor meanwhile."""
        oxygen.notice.send(self).get()

    @method
    async def bind(self) -> bool:
        """Be bound, if it is not yet."""
        was_free = not self.bound
        self.bound = True
        return was_free


class Oxygen(Actor):
    """Binds two hydrogen atoms."""

    def __init__(self) -> None:
        self.first: Hydrogen | None = None

    @method
    async def notice(self, hydrogen: Any) -> None:
        """Bind the second atom that comes together with the first."""
        if self.first is None:
            self.first = hydrogen
            return
        self.first.bind.send()
        hydrogen.bind.send().get()


@program
def water(n: int) -> None:
    """Let 2n hydrogen atoms offer themselves to n oxygen atoms, two to each."""
    for _ in range(n):
        oxygen = Oxygen()
        for _ in range(2):
            Hydrogen().offer.send(oxygen)


# P2P: peers that ask each other for files


class Peer(Actor):
    """Has a file, and asks others for theirs."""

    def __init__(self, name: int) -> None:
        self.files: tuple[int, ...] = (name,)

    @method
    async def fetch(self, peers: tuple[Any, ...]) -> None:
        """Ask for all files of some peers, and hold the actor meanwhile."""
        for peer in peers:
            self.files += peer.listed.send().get()

    @method
    async def listed(self) -> tuple[int, ...]:
        """Return the files."""
        return self.files


@program
def free_peers(n: int) -> None:
    """Let each peer ask those that come after it: nobody waits for an earlier one."""
    peers = tuple(Peer(i) for i in range(n))
    for i in range(n):
        peers[i].fetch.send(peers[i + 1 :])
