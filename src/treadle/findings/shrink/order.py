"""The order with the fewest context switches among those that mean the same.

Two steps that do not depend on each other can be swapped, and nothing changes. So of a failing
execution only what happens before the failing step is needed, and it may come in any order that
keeps dependent steps in theirs: a linear extension of happens-before. No run is needed to find the
best one.

A process that can go on should: taking its next step now instead of later costs no switch. So only
the process after each block is to be chosen, and a breadth-first search over what is done after
each block finds the fewest blocks.
"""

from __future__ import annotations

from treadle.core.happens_before import Trace, bits

_MOST_STATES = 5_000
"""States that the search may look at before it is content with a worse order."""


def fewest_switches(trace: Trace, needed: int) -> list[int]:
    """Return the processes of the needed events (a mask, closed under happens-before), reordered.

    The trace has been analysed.
    """
    came_from: dict[int, tuple[int, list[int]]] = {0: (0, [])}
    frontier = [0]
    while frontier and needed not in came_from and len(came_from) < _MOST_STATES:
        following = []
        for done in frontier:
            for block in _blocks(trace, needed, done):
                after = done | sum(1 << event for event in block)
                if after not in came_from:
                    came_from[after] = done, block
                    following.append(after)
        frontier = following
    if needed not in came_from:
        return [trace.processes[event] for event in bits(needed)]
    blocks: list[list[int]] = []
    done = needed
    while done:
        done, block = came_from[done]
        blocks.append(block)
    return [trace.processes[event] for block in reversed(blocks) for event in block]


def _blocks(trace: Trace, needed: int, done: int) -> list[list[int]]:
    """Return what each process can do by itself after the events of `done`, as far as it can."""
    found = []
    for own in trace.of_process:
        block: list[int] = []
        now = done
        for event in bits(needed & own & ~done):
            if trace.before[event] & needed & ~now != 1 << event:
                break
            block.append(event)
            now |= 1 << event
        if block:
            found.append(block)
    return found
