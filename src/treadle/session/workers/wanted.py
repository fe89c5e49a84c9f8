"""What was asked for, in numbers; and what is refused, in words."""

from __future__ import annotations

from treadle.session.settings import Settings
from treadle.session.workers.place import processors
from treadle.session.workers.spaces import dividing_algorithms


def how_many(settings: Settings) -> int:
    """Return how many workers are wanted."""
    wanted = settings.workers
    return processors() if wanted == "auto" else int(wanted)


def refusal(settings: Settings, algorithm: str, *, is_guided: bool) -> str:
    """Say why a space cannot be explored in parts."""
    asked = what_was_asked(settings)
    if is_guided:
        name, _, _ = asked.partition("=")
        return f"{asked} is not for guided searches, which cut executions: leave {name} out"
    return (
        f"{asked} needs an algorithm whose classes can be divided "
        f"({', '.join(dividing_algorithms())}), and {algorithm} merges orders: use optimal, or "
        f"workers=1"
    )


def what_was_asked(settings: Settings) -> str:
    """Return the option because of which a space is explored in parts."""
    if settings.on is not None:
        return f"on={settings.on!r}" if isinstance(settings.on, str) else "on"
    if settings.workers != 1:
        return f"workers={settings.workers!r}"
    return "checkpoint" if settings.checkpoint is not None else "resume"
