"""What Treadle knows of an interpreter is what this one is: else, what changed is named here.

`python tests/threads/test_internals.py` takes the digests of the Python that runs it down.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import importlib
import json
import opcode
import operator
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

from treadle.python.accesses.known_functions import LIBRARY
from treadle.python.instrument import opcodes
from treadle.python.instrument.instructions import METHODS
from treadle.python.instrument.rewrite import _REWRITTEN
from treadle.threads.front_end import NEWEST_PYTHON
from treadle.threads.primitives.internals import LOOKED_AT
from treadle.threads.primitives.registry import PATCHES

DIGESTS = Path(__file__).parent / "internals.json"
HERE = "{}.{}".format(*sys.version_info[:2])
IN_CODE = {
    name
    for name, number in dis.opmap.items()
    if number < 256 and not name.startswith("INSTRUMENTED_")
}


def definitions(module: str) -> dict[str, str]:
    """Return name -> code of what a module defines, without comments, documentation and layout."""
    source = Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for name, node in _named(ast.parse(source).body, ""):
        found[name] = found.get(name, "") + ast.unparse(node)  # a property has several
    return found


def _named(nodes: list[ast.stmt], owner: str) -> Iterator[tuple[str, ast.stmt]]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
            if isinstance(node, ast.ClassDef):
                yield from _named(node.body, f"{owner}{node.name}.")
            yield owner + node.name, node
        elif isinstance(node, ast.Try | ast.If):
            yield from _named([*node.body, *node.orelse], owner)


def looked_at() -> dict[str, set[str]]:
    """Return module -> what of it is replaced, or known to touch its arguments.

    What mocks assert is not: it reads what they remember, whatever it looks like, and it is only
    known if some test before has used mocks.
    """
    found = {module: set(names.split()) for module, names in LOOKED_AT.items()}
    for module, name in LIBRARY:
        if module == "unittest.mock":
            continue
        if module.partition(".")[0] in sys.stdlib_module_names:
            found.setdefault(module, set()).add(name.partition(".<locals>")[0])
    return found


def digests() -> dict[str, str]:
    found = {}
    for module, names in looked_at().items():
        defined = definitions(module)
        for name in sorted(names):
            if name in defined:
                code = defined[name].encode()
                found[f"{module}.{name}"] = hashlib.blake2b(code, digest_size=6).hexdigest()
    return found


def known() -> dict[str, dict[str, list[str]]]:
    """Return name -> digest -> the versions that were looked at."""
    content: dict[str, dict[str, list[str]]] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return content


def changed(now: dict[str, str]) -> Iterator[str]:
    """Yield what is not as it was when somebody looked at it."""
    for name, versions in known().items():
        was_there = any(HERE in looked for looked in versions.values())
        if name not in now and was_there:
            yield f"{name} is gone"
    for name, digest in now.items():
        if HERE not in known().get(name, {}).get(digest, []):
            yield f"{name} changed"


def test_what_is_replaced_is_what_was_looked_at() -> None:
    assert list(changed(digests())) == []


def test_a_change_is_named() -> None:
    now = digests()
    now["queue.Queue.put"] = "other"
    del now["threading.Thread.start"]
    assert list(changed(now)) == ["threading.Thread.start is gone", "queue.Queue.put changed"]


def test_all_that_is_patched_was_looked_at() -> None:
    patched = {
        f"{owner.__module__}.{owner.__qualname__}.{name}"
        for patches in PATCHES
        for owner, name, _ in patches.attributes
        if isinstance(owner, type) and isinstance(vars(owner).get(name), FunctionType)
    } | {
        f"{original.__module__}.{original.__qualname__}"
        for patches in PATCHES
        for original, *_ in patches.references
        if isinstance(original, FunctionType)
    }
    listed = {f"{module}.{name}" for module, names in looked_at().items() for name in names}
    assert {name for name in patched if name.rpartition(".")[0] not in listed} - listed == set()


@pytest.mark.parametrize(
    "name",
    [
        "collections.Counter.update",
        "copy.deepcopy",
        "functools.singledispatch",
        "logging.Logger.addHandler",
        "os._Environ.__setitem__",
        "unittest.mock.CallableMixin._increment_mock_call",
    ],
)
def test_a_change_of_what_is_known_of_libraries_is_named(name: str) -> None:
    now = digests()
    now[name] = "other"
    assert list(changed(now)) == [f"{name} changed"]


def test_functions_of_libraries_say_of_themselves_what_they_are_found_by() -> None:
    """Some have another module than the one that everybody imports them from."""
    for module, name in LIBRARY:
        if "<locals>" not in name:
            function = operator.attrgetter(name)(importlib.import_module(module))
            assert (function.__module__, function.__qualname__) == (module, name)


def test_every_opcode_is_in_one_table() -> None:
    tables = [opcodes.TOUCHING, opcodes.WRITTEN_OUT, opcodes.HARMLESS]
    assert IN_CODE - frozenset().union(*tables) == set()
    assert sum(map(len, tables)) == len(frozenset().union(*tables))


def test_the_rewriter_does_what_the_table_says() -> None:
    assert _REWRITTEN.keys() | opcodes.BEFORE_CALLS | opcodes.LEAVING == opcodes.TOUCHING


def test_operators_and_constants_are_known() -> None:
    operators = {name.removeprefix("NB_") for name, _ in opcode._nb_ops}  # type: ignore[attr-defined]
    assert {name.removeprefix("INPLACE_") for name in operators} - {"SUBSCR"} == METHODS.keys()
    constants = getattr(opcode, "_common_constants", [])
    plain = [one for one in constants if not callable(one)]
    assert all(one in opcodes.COMMON_CONSTANTS.values() for one in plain)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_all_versions_were_looked_at(version: str) -> None:
    assert any(version in looked for one in known().values() for looked in one.values())
    assert tuple(map(int, version.split("."))) <= NEWEST_PYTHON


def take_down() -> None:
    """Write the digests of this Python into the file."""
    content = known() if DIGESTS.exists() else {}
    for name, digest in digests().items():
        looked = content.setdefault(name, {}).setdefault(digest, [])
        looked[:] = sorted({*looked, HERE})
    rows = (f"{json.dumps(name)}: {json.dumps(content[name])}" for name in sorted(content))
    DIGESTS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    take_down()
