"""Programs to begin with: the examples, and those of the papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from treadle.papers import PAPERS

_PLACES = (
    Path(__file__).parent / "library",  # an installed Treadle
    Path(__file__).parents[3] / "examples",  # a clone
)
_LANGUAGES = (".py", ".abs")


@dataclass(frozen=True, slots=True)
class Entry:
    """A program of the library."""

    name: str
    group: str
    file: str
    program: str
    text: str
    place: Path | None = None
    """Where it lies, if it may import its neighbours."""


def library() -> Mapping[str, Entry]:
    """Return all programs by name."""
    return {entry.name: entry for entry in (*_examples(), *_of_papers())}


def _examples() -> Iterator[Entry]:
    root = next((place for place in _PLACES if place.is_dir()), None)
    if root is None:
        return
    for path in sorted(root.rglob("*"), key=lambda path: (len(path.parts), path)):
        if path.suffix in _LANGUAGES:
            name = path.relative_to(root).as_posix()
            group = "Examples" if path.parent == root else f"Examples: {path.parent.name}"
            yield Entry(name, group, path.name, "", path.read_text("utf-8"), path.parent)


def _of_papers() -> Iterator[Entry]:
    """Yield the papers' programs, each of its smallest interesting size."""
    for paper in PAPERS.values():
        for name, benchmark in paper.benchmarks.items():
            size = max(2, benchmark.smallest)
            if benchmark.largest is not None:
                size = min(size, benchmark.largest)
            text = (
                f'"""{name}({size}) of {paper.title}."""\n\n'
                f"from treadle.papers import PAPERS\n\n"
                f'program = PAPERS["{paper.name}"].benchmarks["{name}"].make({size})\n'
            )
            yield Entry(
                f"{paper.name}/{name}", f"Papers: {paper.title}", f"{_plain(name)}.py", "", text
            )


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)
