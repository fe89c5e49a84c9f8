"""The constraints of a model as data: what is declared, what a solver finds, what is left."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.core.constraints import Declared
from treadle.core.listed import Constrained, Untranslated
from treadle.model.constraints import Constraints
from treadle.model.declared_text import in_python


def listed(constraints: Constraints) -> Iterator[Constrained | Untranslated]:
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
        yield from _synthesised(constraints)


def _synthesised(constraints: Constraints) -> Iterator[Constrained | Untranslated]:
    for first, second in constraints.undeclared():
        found = constraints.synthesis.of(first, second).result
        yield Constrained(
            first.name, second.name, found.constraints, found.is_exact, "synthesised",
            found.seconds,
        )  # fmt: skip
    yield from constraints.synthesis.untranslated()
