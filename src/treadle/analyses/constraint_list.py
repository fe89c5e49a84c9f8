"""The constraints of a program as data: what is declared, what a solver finds, what is left."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.analyses.declared_text import in_python
from treadle.core.constraints import Declarations, Declared
from treadle.core.listed import Constrained, Untranslated


def listed(constraints: Declarations) -> Iterator[Constrained | Untranslated]:
    """Yield pairs of blocks that are declared, or conflict, and then blocks not understood."""
    constraints.check_names()
    by_pair: dict[tuple[str, str], list[Declared]] = {}
    if constraints.mode != "none":
        for declared in constraints.declared:
            by_pair.setdefault((declared.first, declared.second), []).append(declared)
    for (first, second), several in by_pair.items():
        texts = tuple(dict.fromkeys(in_python(declared.holds) for declared in several))
        yield Constrained(first, second, texts, "True" in texts, "declared")
    if constraints.mode == "synthesised":
        yield from constraints.synthesised()
