"""A lock-free stack, and the ABA bug.

`pop` reads the top node A and the node B below it, then swings the top from A to B with a
compare-and-swap. In between, another process can pop A, pop B and push A again: the top is A as
before, the compare-and-swap succeeds, and the stack now begins with B, which is not free any more.
A tag that every push increments tells the two As apart.
"""

from collections.abc import Generator
from typing import Any

from treadle.model import Program

A, B, END = 0, 1, None

Steps = Generator[Any, Any, Any]


def aba() -> Program:
    """Compare the node only."""
    return _stack("lock-free stack", tagged=False)


def tagged() -> Program:
    """Compare the node and its tag."""
    return _stack("lock-free stack with tags", tagged=True)


def _stack(name: str, *, tagged: bool) -> Program:
    program = Program(name, top=(A, 0), below=[B, END], taken=[False, False])

    def swing(s: Any, old: tuple[Any, int], node: Any, tag: int) -> bool:
        """Compare-and-swap, one step."""
        if s.top != old:
            return False
        s.top = (node, tag if tagged else 0)
        return True

    def pop(s: Any) -> Steps:
        while (old := s.top)[0] is not END:
            yield
            below = s.below[old[0]]
            yield
            if swing(s, old, below, old[1]):
                yield
                s.taken[old[0]] = True
                return old[0]
            yield
        return END

    def push(s: Any, node: int) -> Steps:
        s.taken[node] = False
        while True:
            yield
            old = s.top
            yield
            s.below[node] = old[0]
            yield
            if swing(s, old, node, old[1] + 1):
                return

    def popper(s: Any) -> Steps:
        yield from pop(s)

    def recycler(s: Any) -> Steps:
        first = yield from pop(s)
        yield
        yield from pop(s)
        if first is not END:
            yield
            yield from push(s, first)

    def check(s: Any) -> Steps:
        yield s.join("popper")
        yield s.join("recycler")
        node = s.top[0]
        while node is not END:
            assert not s.taken[node], f"node {'AB'[node]} is in the stack and in use"
            node = s.below[node]

    for process in (popper, recycler, check):
        program.process(process)
    return program
