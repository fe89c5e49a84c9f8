"""What the site needs beyond the pages in `docs/`: see `hooks` in mkdocs.yml.

Pages link to files of the repository that are not pages, for instance to `../examples/counter.py`, so
that the links work where the repository is browsed. The site gets a page for each of those files, and
the links are turned to them. A directory becomes a page that lists its files.

A new algorithm's page is added to the navigation.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import treadle

ROOT = Path(__file__).parents[1]
DOCS = PurePosixPath("docs")
ADDED = PurePosixPath("repository")
"""The folder of the site with what is not in `docs/`."""
CHANGELOG = PurePosixPath("CHANGELOG.md")

_FENCED = re.compile(r"(^(?:```+)\w*\n.*?^```+$)", re.MULTILINE | re.DOTALL)
_IS_LISTED = re.compile(r"\w+\.py|[a-z]\w*")
"""Python files, and directories that are not the interpreter's."""
_LINK = re.compile(r"(\]\()(?!\w+:)([^)#\s]+)")


# The navigation


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add every page of an algorithm to the navigation, from the plainest to the strongest."""
    order = list(treadle.ALGORITHMS)
    names = [page.stem for page in (ROOT / DOCS / "algorithms").glob("*.md")]
    for entry in config.nav or []:
        if "Algorithms" in entry:
            entry["Algorithms"] += [
                {name: f"algorithms/{name}.md"} for name in sorted(names, key=order.index)
            ]
    return config


# Files of the repository


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every file of the repository that a page links to."""
    wanted = [CHANGELOG, PurePosixPath("examples")]
    for file in list(files.documentation_pages()):
        page = DOCS / file.src_uri
        wanted += [target for target in _targets(file.content_string, page) if _is_added(target)]
    while wanted:
        target = wanted.pop()
        name = _page_of(target)
        if files.get_file_from_path(name) is None:
            files.append(File.generated(config, name, content=_content(target)))
            wanted += _listed(target)
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Turn links to files of the repository into links to their pages."""
    here = PurePosixPath(page.file.src_uri)
    origin = CHANGELOG if here == ADDED / CHANGELOG else DOCS / here
    if here.is_relative_to(ADDED) and origin != CHANGELOG:
        return markdown

    def turned(match: re.Match[str]) -> str:
        target = _resolved(match[2], origin)
        return match[1] + os.path.relpath(_page_of(target), here.parent)

    return _outside_code(markdown, lambda prose: _LINK.sub(turned, prose))


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    parts = _FENCED.split(markdown)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


def _targets(markdown: str, page: PurePosixPath) -> Iterator[PurePosixPath]:
    for match in _LINK.finditer(_FENCED.sub("", markdown)):
        yield _resolved(match[2], page)


def _resolved(link: str, page: PurePosixPath) -> PurePosixPath:
    return PurePosixPath(os.path.normpath(page.parent / link))


def _is_added(target: PurePosixPath) -> bool:
    return not target.is_relative_to(DOCS) and (ROOT / target).exists()


def _page_of(target: PurePosixPath) -> str:
    """Return where the site has a file of the repository."""
    if target.is_relative_to(DOCS):
        return str(target.relative_to(DOCS))
    added = ADDED / target
    return str(added if added.suffix == ".md" else added.with_name(f"{added.name}.md"))


def _content(target: PurePosixPath) -> str:
    path = ROOT / target
    if path.is_dir():
        return f"# {target}\n\n" + "".join(map(_item, _listed(target)))
    if path.suffix == ".md":
        return path.read_text()
    return f"# {target}\n\n````{path.suffix.removeprefix('.')}\n{path.read_text()}````\n"


def _item(target: PurePosixPath) -> str:
    page = _page_of(PurePosixPath(target.parent.name) / target.name)
    link = page.removeprefix(f"{ADDED}/")
    return f"- [{target.name}]({link}){_summary(ROOT / target)}\n"


def _summary(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    if path.suffix != ".py":
        return ""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return f": {text.splitlines()[0]}" if text else ""


def _listed(target: PurePosixPath) -> list[PurePosixPath]:
    if not (ROOT / target).is_dir():
        return []
    inside = sorted((ROOT / target).iterdir(), key=lambda path: (path.is_dir(), path.name))
    return [target / path.name for path in inside if _IS_LISTED.fullmatch(path.name)]
