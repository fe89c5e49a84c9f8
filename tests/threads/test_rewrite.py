"""Rewritten code does what the original does."""

from __future__ import annotations

import dis
import random
import sys
import sysconfig
import traceback
import types
from pathlib import Path
from typing import Any

import pytest
from corpus import SNIPPETS

from treadle.python.accesses import calls
from treadle.python.instrument.decode import decoded
from treadle.python.instrument.rewrite import rewrite
from treadle.python.instrument.scan import facts_of
from treadle.python.instrument.scope import Scope
from treadle.python.instrument.variables import fixed_variables
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.published import published


def run(source: str, how: str) -> Any:
    """Run a snippet's `main`, rewritten or not."""
    module = types.ModuleType("snippet")
    namespace = vars(module)
    code = compile(source, "<snippet>", "exec", dont_inherit=True)
    if how != "plain":
        facts = facts_of(code)
        scope = Scope(
            class_names=facts.class_names & facts.attributes_stored,
            shadowed=frozenset(code.co_names),
            methods=facts.functions if how != "unknown methods" else frozenset(),
            gil=how == "gil",
        )
        code = rewrite(code, scope)
        instrumented.add(id(namespace))
    sys.modules["snippet"] = module
    try:
        exec(code, namespace)
        return namespace["main"]()
    finally:
        del sys.modules["snippet"]
        instrumented.discard(id(namespace))


@pytest.mark.parametrize("how", ["rewritten", "gil", "unknown methods"])
@pytest.mark.parametrize("name", SNIPPETS)
def test_results_are_the_same(name: str, how: str) -> None:
    source = SNIPPETS[name]
    assert repr(run(source, how)) == repr(run(source, "plain"))


@pytest.mark.parametrize("name", SNIPPETS)
def test_results_are_the_same_when_all_is_published(name: str) -> None:
    """With the slow path of every hook: everything counts as published, nothing is announced."""
    expected = repr(run(SNIPPETS[name], "plain"))

    class All(dict[int, Any]):
        def __contains__(self, key: object) -> bool:
            return True

    original = published
    code = compile(SNIPPETS[name], "<snippet>", "exec", dont_inherit=True)
    scope = Scope(shadowed=frozenset(code.co_names), methods=facts_of(code).functions)
    module = types.ModuleType("snippet")
    new = _with_constant(rewrite(code, scope), original, All())
    instrumented.add(id(vars(module)))
    sys.modules["snippet"] = module
    try:
        exec(new, vars(module))
        assert repr(vars(module)["main"]()) == expected
    finally:
        del sys.modules["snippet"]
        instrumented.discard(id(vars(module)))


def _with_constant(code: types.CodeType, old: object, new: object) -> types.CodeType:
    def exchanged(const: Any) -> Any:
        if isinstance(const, types.CodeType):
            return _with_constant(const, old, new)
        return new if const is old else const

    return code.replace(co_consts=tuple(map(exchanged, code.co_consts)))


_COMPREHENSION_IN_A_BRANCH = """
import asyncio
async def numbers():
    for i in range(3):
        await asyncio.sleep(0)
        yield i
async def chosen(wanted):
    kept = []
    for i in range(2):
        if i == wanted:
            try:
                kept += [x + i async for x in numbers() if x != 1]
                kept += [x async for x in numbers() if 1 // x]
            except ZeroDivisionError:
                kept.append("handled")
    return kept
def main():
    return [asyncio.run(chosen(wanted)) for wanted in range(3)]
"""


@pytest.mark.parametrize("how", ["plain", "rewritten", "gil", "unknown methods"])
def test_asynchronous_comprehensions_in_branches(how: str) -> None:
    """From Python 3.14 on there are several pieces of a `try` around what waits in them."""
    expected = [[0, 2, "handled"], [1, 3, "handled"], []]
    assert run(_COMPREHENSION_IN_A_BRANCH, how) == expected


def test_nothing_is_left_at_an_await() -> None:
    """Only a `yield` leaves a frame to its caller, also where a `try` begins right before it."""
    source = """
async def test(things):
    return [thing async for thing in things]
"""
    code = rewrite(compile(source, "<snippet>", "exec", dont_inherit=True), Scope())
    [test] = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    names = [i.opname for one in _nested(test) for i in dis.get_instructions(one)]
    assert "YIELD_VALUE" in names
    yields = [at for at, name in enumerate(names) if name == "YIELD_VALUE"]
    assert [names[at - 1] for at in yields] == ["SEND"] * len(yields)


def _nested(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found += _nested(const)
    return found


def test_lines_and_tracebacks_are_the_same() -> None:
    source = (
        "def f(o):\n    x = 1\n    return (o.a\n        .b(\n            x))\n"
        "def g(o):\n    for i in o:\n        o[i\n          ] = i.missing\n"
    )
    seen = []
    for how in (False, True):
        namespace: dict[str, Any] = {}
        code = compile(source, "<snippet>", "exec", dont_inherit=True)
        exec(rewrite(code, Scope()) if how else code, namespace)
        found = []
        for function, argument in (("f", 5), ("g", [1])):
            try:
                namespace[function](argument)
            except AttributeError as error:
                summary = traceback.extract_tb(error.__traceback__)[1:]
                found.append([(s.lineno, s.end_lineno, s.colno, s.end_colno) for s in summary])
        seen.append(found)
    assert seen[0] == seen[1]
    assert [len(frames) for frames in seen[1]] == [1, 1]


def test_lines_of_instructions_are_the_same() -> None:
    for source in SNIPPETS.values():
        code = compile(source, "<snippet>", "exec", dont_inherit=True)
        new = rewrite(code, Scope())
        assert _lines(new) == _lines(code)


def _lines(code: types.CodeType) -> set[int]:
    lines = {line for _, line in dis.findlinestarts(code) if line is not None}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            lines |= _lines(const)
    return lines


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\ndef g(): return x", {"x"}),
        ("def g(): return x\nx = 1", set()),
        ("x = 1\ndef g(): return x\nx = 2", set()),
        ("for x in y:\n  def g(): return x", set()),
        ("x = 1\ndef g():\n  nonlocal x\n  x = 2", set()),
        ("x = 1\ndef g():\n  def h():\n    nonlocal x\n    x = 2", set()),
        ("def g(): return a", {"a"}),
        ("def g(): return a\na = 1", set()),
        ("if a: x = 1\nelse: x = 2\ndef g(): return x", {"a"} - {"a"}),
        ("while a:\n  x = 1\n  def g(): return x", set()),
        ("x = 1\ndef g(): return x\ndel x", set()),
        ("x = 1\ndef g():\n  def h():\n    return x", {"x"}),
    ],
)
def test_fixed_variables(source: str, expected: set[str]) -> None:
    body = "\n".join("  " + line for line in source.splitlines())
    module = compile(f"def f(a, y):\n{body}", "<f>", "exec", dont_inherit=True)
    code = next(c for c in module.co_consts if isinstance(c, types.CodeType))
    assert fixed_variables(code, decoded(code)) == expected


def _library_files() -> list[Path]:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(p for p in root.glob("*.py")) + sorted(
        p for folder in ("collections", "json", "logging", "concurrent", "asyncio", "email")
        for p in (root / folder).rglob("*.py")
    )  # fmt: skip
    return random.Random(sys.version_info[1]).sample(files, len(files) // 6)


@pytest.mark.slow
def test_standard_library_can_be_rewritten() -> None:
    for path in _library_files():
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        rewrite(code, Scope(methods=facts_of(code).functions))


@pytest.mark.slow
@pytest.mark.minutes
def test_a_third_of_the_standard_library_can_be_rewritten() -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [p for p in sorted(root.rglob("*.py")) if "test" not in p.parts and "bad" not in p.name]
    files = [p for p in files if not {"site-packages", "lib2to3"} & set(p.parts)]
    for path in files[::3]:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        rewrite(code, Scope(methods=facts_of(code).functions, gil=True))


def load_rewritten(name: str) -> types.ModuleType:
    """Load a module of the standard library anew, rewritten."""
    original = __import__(name, fromlist=["x"])
    assert original.__file__ is not None
    path = Path(original.__file__)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = original.__package__
    if hasattr(original, "__path__"):
        module.__path__ = original.__path__
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    instrumented.add(id(vars(module)))
    saved = sys.modules[name]
    sys.modules[name] = module
    try:
        exec(rewrite(code, Scope(methods=facts_of(code).functions)), vars(module))
    finally:
        sys.modules[name] = saved
    return module


@pytest.mark.parametrize(
    ("name", "use", "expected"),
    [
        ("textwrap", lambda m: m.wrap("a bb ccc dddd", 6), ["a bb", "ccc", "dddd"]),
        ("fractions", lambda m: str(m.Fraction(1, 3) + m.Fraction("0.5")), "5/6"),
        ("string", lambda m: m.Template("$a b").substitute(a=1), "1 b"),
        ("shlex", lambda m: m.split("a 'b c' d"), ["a", "b c", "d"]),
        ("heapq", lambda m: list(m.merge([1, 3], [2])), [1, 2, 3]),
        ("bisect", lambda m: m.bisect([1, 2, 3], 2), 2),
        ("statistics", lambda m: m.median([3, 1, 2]), 2),
        ("difflib", lambda m: list(m.ndiff(["a"], ["b"])), ["- a", "+ b"]),
        ("graphlib", lambda m: [*m.TopologicalSorter({1: {2}, 2: {3}}).static_order()], [3, 2, 1]),
        ("configparser", lambda m: _config(m), "2"),
        ("html.parser", lambda m: _parse(m), ["p", "b"]),
        ("calendar", lambda m: m.monthrange(2024, 2), (3, 29)),
        ("colorsys", lambda m: m.rgb_to_hsv(1, 0, 0), (0.0, 1.0, 1)),
        ("csv", lambda m: m.Sniffer().sniff("a;b\nc;d").delimiter, ";"),
        ("pprint", lambda m: m.pformat({"b": [1, 2], "a": (3,)}), "{'a': (3,), 'b': [1, 2]}"),
        ("argparse", lambda m: _arguments(m), ("x", 3)),
        ("ipaddress", lambda m: str(next(m.ip_network("10.0.0.0/30").hosts())), "10.0.0.1"),
        ("sched", lambda m: _scheduled(m), [1, 2]),
        ("cmd", lambda m: m.Cmd().parseline("a b"), ("a", "b", "a b")),
        ("json.encoder", lambda m: m.JSONEncoder(indent=0).encode([1]), "[\n1\n]"),
    ],
)  # fmt: skip
def test_rewritten_library_modules_work(name: str, use: Any, expected: object) -> None:
    assert use(load_rewritten(name)) == expected


def _config(module: Any) -> str:
    parser = module.ConfigParser()
    parser.read_string("[a]\nx = 1\ny = ${x}2\n[b]\nz: 2")
    return str(parser["b"]["z"])


def _parse(module: Any) -> list[str]:
    seen = []

    class P(module.HTMLParser):  # type: ignore[misc]
        def handle_starttag(self, tag: str, attrs: object) -> None:
            seen.append(tag)

    P().feed("<p>x<b class='y'>z</b>")
    return seen


def _arguments(module: Any) -> tuple[str, int]:
    parser = module.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("-n", type=int, default=1)
    found = parser.parse_args(["x", "-n", "3"])
    return found.name, found.n


def _scheduled(module: Any) -> list[int]:
    seen: list[int] = []
    scheduler = module.scheduler(lambda: 0, lambda _: None)
    scheduler.enter(0, 2, seen.append, (2,))
    scheduler.enter(0, 1, seen.append, (1,))
    scheduler.run()
    return seen


def test_resolve_leaves_functions_under_test_alone() -> None:
    instrumented.add(id(globals()))
    try:
        assert calls.resolve(run) is run
        assert calls.resolve(None) is None
        assert calls.resolve(Path) is Path
    finally:
        instrumented.discard(id(globals()))
