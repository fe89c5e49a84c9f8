"""How sections grow: which process joins next, and whether a step should belong.

"Eager POR" (ATVA 2016) lets them grow as far as they can; its section 4 keeps them short.
"""

from __future__ import annotations

from treadle.explore.eager.section import Section, Step

FEW = 32
"""Constraints of a section in which a process may have several dependent steps."""


class Growth:
    """All that can belong to a section does."""

    def rank(self, section: Section, process: int, branches: bool) -> tuple[int, int]:
        """Rank the processes that can join: one takes all the steps that it can, then the next.

        Who branches comes first, before a step of another ends the section. Among equals the
        youngest comes first, which blocks the fewest executions where that was measured.
        """
        return process != section.processes[-1], not branches

    def suits(self, section: Section, step: Step) -> bool:
        """Tell whether a step that a section admits should belong to it: all that can."""
        del section, step
        return True


class Short(Growth):
    """At most one step of each process that is dependent with others."""

    def rank(self, section: Section, process: int, branches: bool) -> tuple[int, int]:
        """Rank the processes that can join: one step of each, then the next round."""
        del branches
        return len(section.of_process.get(process, ())), 0

    def suits(self, section: Section, step: Step) -> bool:
        """Tell whether the program order cannot be part of a cycle of constraints."""
        return section.stays_short_with(step)


class Adaptive(Growth):
    """Short where many steps are dependent, longer elsewhere."""

    def rank(self, section: Section, process: int, branches: bool) -> tuple[int, int]:
        """Rank the processes that can join: who branches comes last.

        The section may be over then before it joins, and fewer executions get blocked.
        """
        return branches, process != section.processes[-1]

    def suits(self, section: Section, step: Step) -> bool:
        """Tell whether the constraints that program order can contradict are few."""
        constraints = section.constraints + step.dependent.bit_count()
        return constraints <= FEW or section.stays_short_with(step)
