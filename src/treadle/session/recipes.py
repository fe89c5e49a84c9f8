"""From tokens to options: a token knows how its failure was found."""

from __future__ import annotations

from typing import Any

from treadle.core.errors import TreadleError
from treadle.core.program import Program
from treadle.findings.tokens import Recipe
from treadle.session.options import running


def options_of(recipe: Recipe, **given: Any) -> dict[str, Any]:
    """Return the options that a recipe asks for; refuse others that were given."""
    known = running()
    for name, value in given.items():
        recorded = recipe.options.get(name, known[name].default)
        if value is None or not known[name].in_tokens:
            continue
        value = known[name].read(value)
        if value != recorded:
            raise TreadleError(
                f"{name}={value!r} is not what the token was recorded with ({recorded!r}): leave "
                f"it out, the token knows it"
            )
    return dict(recipe.options)


def differing_options(program: Program, recipe: Recipe) -> str:
    """Return why a program runs in another way than when a token was recorded; empty if not."""
    wanted = _in_words(recipe.front_end, recipe.granularity, recipe.options)
    has = _in_words(program.front_end, program.granularity, program.options)
    if wanted == has:
        return ""
    return (
        f"the token was recorded with {wanted}, and this program has {has}: replay it with the "
        f"same options"
    )


def _in_words(front_end: str, granularity: str, options: dict[str, object]) -> str:
    """Return the options that decide how a program runs; its kind if there are none."""
    said = {"granularity": granularity, **options} if granularity else options
    words = [f"{name}={value!r}" for name, value in said.items() if name != "races"]
    return ", ".join(words) or f"a {front_end or 'program'}"
