"""Check the house: which package imports which, no cycle, nothing too long.

`python scripts/layers.py` prints the graph of the packages of `src/treadle` and how long modules,
functions and tests are. It fails, with a line for each violation, on an import that points up in
`ORDER`, a front end that imports another, a cycle (imports inside of functions and those for type
checkers included), `core/` and `explore/` importing anything but themselves and the standard
library, a module or a function that is too long, and tests that are shorter than the source.
It reads the source and imports none of it.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "treadle"
ASSEMBLY = "__init__"  # the package's own `__init__`: its public names

# The rooms from the bottom to the top: each may import those before it. The longest name that fits
# a module is its room, so `explore` is what lies in that folder itself.
ORDER = (
    "core",
    "explore", "explore.basic", "explore.source_sets", "explore.eager", "explore.context",
    "explore.observers", "explore.constrained", "explore.guided", "explore.cubes",
    "explore.sampling", "explore.registry",
    "smt", "analyses", "symbolic", "findings", "model",
    "python", "python.runtime", "python.sharing", "python.accesses", "python.host",
    "python.instrument", "python.recording",
    "threads.primitives", "threads", "tasks.primitives", "tasks", "actors", "networks.world",
    "report", "session", "api", "networks", ASSEMBLY, "papers", "web", "cli", "plugin", "_treadle_pytest",
)  # fmt: skip
FRONT_ENDS = {"model", "threads", "tasks", "actors", "networks"}
BUILT_ON = {("tasks", "threads"), ("networks", "model")}  # the only front ends that know another
INDEPENDENT = {"core", "explore"}  # these import nothing but each other and the standard library

LONGEST_MODULE = 600
LONGEST_FUNCTION = 40


@dataclass(frozen=True)
class Import:
    """One module that a line imports; `typing`: for type checkers only."""

    target: str
    line: int
    typing: bool


@dataclass(frozen=True)
class Function:
    """A function and how many lines of code its body has."""

    name: str
    line: int
    length: int


@dataclass(frozen=True)
class Module:
    """A file of the source; names are without the leading `treadle.`."""

    name: str
    file: str
    lines: int
    code: int
    imports: tuple[Import, ...]
    functions: tuple[Function, ...]

    @property
    def top(self) -> str:
        """The package, or the module, at the top that this belongs to."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Edge:
    """A module imports a module of the same source."""

    source: Module
    target: Module
    at: Import

    def __str__(self) -> str:
        return f"{self.source.file}:{self.at.line}: {self.source.name} imports {self.target.name}"


# Reading the source


def read_modules(source: Path) -> dict[str, Module]:
    """Return all modules under `src`, by name."""
    files = {_module_name(path.relative_to(source)): path for path in sorted(source.rglob("*.py"))}
    return {name: _read_module(name, path, source, set(files)) for name, path in files.items()}


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    if parts[0] != PACKAGE:
        return ".".join(parts)
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts[1:]) or ASSEMBLY


def _read_module(name: str, path: Path, source: Path, known: set[str]) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imports = tuple(dict.fromkeys(_imports(tree, package, known)))
    file = str(path.relative_to(source.parent))
    code = code_lines(tree, text)
    functions = tuple(_functions(tree, code))
    return Module(name, file, len(text.splitlines()), len(code), imports, functions)


def code_lines(tree: ast.Module, text: str) -> set[int]:
    """Return the numbers of the lines that are neither blank nor comment nor docstring.

    Only these are compared: nothing becomes too long by being explained.
    """
    lines = enumerate(map(str.strip, text.splitlines()), start=1)
    code = {number for number, line in lines if line and not line.startswith("#")}
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            code -= _lines(node.body[0])
    return code


def _lines(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _imports(
    node: ast.AST, package: str, known: set[str], typing: bool = False
) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom | ast.Call):
            for dotted in _imported(child, package):
                yield Import(_resolve(dotted, known), child.lineno, typing)
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.body:
                yield from _imports(ast.Module([statement], []), package, known, True)
            for statement in child.orelse:
                yield from _imports(ast.Module([statement], []), package, known, typing)
        else:
            yield from _imports(child, package, known, typing)


def _imported(node: ast.Import | ast.ImportFrom | ast.Call, package: str) -> list[str]:
    """Return the full names that a statement, or a call of `import_module`, asks for."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = _absolute(node, package)
        return [f"{base}.{alias.name}" for alias in node.names]
    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
    named = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    return [str(name) for name in named[:1]] if called == "import_module" else []


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    above = [PACKAGE, *filter(None, package.replace(ASSEMBLY, "").split("."))]
    return ".".join([*above[: len(above) - node.level + 1], *filter(None, [node.module])])


def _resolve(dotted: str, known: set[str]) -> str:
    """Return the module of ours that the name is, or is in; of others, the name as it stands."""
    first, _, rest = dotted.partition(".")
    if first != PACKAGE:
        return dotted if first not in known else first
    while rest and rest not in known:
        rest = rest.rpartition(".")[0]
    return rest or ASSEMBLY


def _functions(tree: ast.Module, code: set[int]) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = set().union(*map(_lines, node.body))
            yield Function(node.name, node.lineno, len(body & code))


# The graph


def room_of(name: str) -> str | None:
    """Return the room of `ORDER` that a module is in."""
    fitting = [room for room in ORDER if name == room or name.startswith(room + ".")]
    return max(fitting, key=len, default=None)


def edges_of(modules: dict[str, Module]) -> list[Edge]:
    """Return all imports of modules of ours by others of ours."""
    return [
        Edge(module, modules[at.target], at)
        for module in modules.values()
        for at in module.imports
        if at.target in modules and at.target != module.name
    ]


def packages(edges: Iterable[Edge]) -> dict[str, set[str]]:
    """Return which room imports which."""
    graph: dict[str, set[str]] = {}
    for edge in edges:
        source, target = room_of(edge.source.name), room_of(edge.target.name)
        if source and target and source != target:
            graph.setdefault(source, set()).add(target)
    return graph


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of nodes that reach each other."""
    reached = {node: _reachable(node, graph) for node in graph}
    found = {
        frozenset(other for other in reached[node] if node in reached.get(other, ()))
        for node in graph
        if node in reached[node]
    }
    return sorted(sorted(cycle) for cycle in found)


def _reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        for node in graph.get(ahead.pop(), set()) - seen:
            seen.add(node)
            ahead.append(node)
    return seen


# What must not be


def strangers(modules: dict[str, Module]) -> Iterator[str]:
    """A module that no room is declared for has no place in the order."""
    for module in modules.values():
        if room_of(module.name) is None:
            yield f"{module.file}:1: {module.name} has no place in ORDER (scripts/layers.py)"


def upward(edges: list[Edge]) -> Iterator[str]:
    """Imports that point up, whatever they are for."""
    for edge in edges:
        source, target = room_of(edge.source.name), room_of(edge.target.name)
        if source and target and ORDER.index(target) > ORDER.index(source):
            yield f"{edge}, which is above it"


def between_front_ends(edges: list[Edge]) -> Iterator[str]:
    """Front ends that know each other without being built on each other."""
    for edge in edges:
        pair = (edge.source.top, edge.target.top)
        if pair[0] != pair[1] and FRONT_ENDS.issuperset(pair) and pair not in BUILT_ON:
            yield f"{edge}: a front end knows no other"


def module_cycles(edges: list[Edge]) -> tuple[list[str], int]:
    """Return the forbidden cycles of modules, and how many are for type checkers in one room."""
    running = cycles(_graph(edge for edge in edges if not edge.at.typing))
    violations = [_cycle_in_words(cycle, edges) for cycle in running]
    harmless = 0
    for cycle in cycles(_graph(edges)):
        if any(set(known) <= set(cycle) for known in running):
            continue
        if len({room_of(name) for name in cycle}) == 1:
            harmless += 1
        else:
            violations.append(_cycle_in_words(cycle, edges))
    return violations, harmless


def _graph(edges: Iterable[Edge]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for edge in edges:
        graph.setdefault(edge.source.name, set()).add(edge.target.name)
    return graph


def _cycle_in_words(cycle: list[str], edges: list[Edge]) -> str:
    inside = [edge for edge in edges if {edge.source.name, edge.target.name} <= set(cycle)]
    where = inside[0]
    return f"{where.source.file}:{where.at.line}: a cycle of modules: {', '.join(cycle)}"


def package_cycles(edges: list[Edge]) -> Iterator[str]:
    """Rooms that import each other; which imports make it so, `upward` says."""
    for cycle in cycles(packages(edges)):
        yield f"src/{PACKAGE}:1: a cycle of packages: {', '.join(cycle)}"


def dependent(modules: dict[str, Module]) -> Iterator[str]:
    """What `core` and `explore` import from elsewhere."""
    for module in modules.values():
        for at in module.imports if module.top in INDEPENDENT else ():
            first = at.target.partition(".")[0]
            ours = at.target in modules and first in INDEPENDENT
            if not ours and first not in sys.stdlib_module_names:
                yield f"{module.file}:{at.line}: {module.name} imports {at.target}: not its own"


def too_long(modules: dict[str, Module]) -> Iterator[str]:
    """Modules and functions that nobody can overlook any more."""
    for module in modules.values():
        if module.lines > LONGEST_MODULE:
            yield f"{module.file}:1: {module.lines} lines, more than {LONGEST_MODULE}"
        for function in module.functions:
            if function.length > LONGEST_FUNCTION:
                yield (
                    f"{module.file}:{function.line}: the body of {function.name} has "
                    f"{function.length} lines, more than {LONGEST_FUNCTION}"
                )


def test_code(tests: Path) -> int:
    """Return how many lines of code the tests have."""
    texts = [path.read_text(encoding="utf-8") for path in tests.rglob("*.py")]
    return sum(len(code_lines(ast.parse(text), text)) for text in texts)


# What is printed


def describe(modules: dict[str, Module], edges: list[Edge]) -> Iterator[str]:
    """Yield the graph and the figures."""
    graph = packages(edges)
    used = {room_of(name) for name in modules}
    for room in reversed([room for room in ORDER if room in used]):
        below = sorted(graph.get(room, ()), key=ORDER.index)
        yield f"{room:20} {', '.join(below) or '-'}"
    lengths = [function.length for module in modules.values() for function in module.functions]
    if len(lengths) > 1:
        p90 = quantiles(lengths, n=10, method="inclusive")[-1]
        yield f"function bodies: median {median(lengths):g}, p90 {p90:g}, max {max(lengths)} lines"
    yield f"cycles for type checkers only, inside of one package: {module_cycles(edges)[1]}"


def violations_of(modules: dict[str, Module], edges: list[Edge]) -> list[str]:
    """Return everything that is wrong with the modules, cycles last."""
    found = [strangers(modules), dependent(modules), upward(edges), between_front_ends(edges)]
    return [
        *(line for lines in found for line in lines),
        *too_long(modules),
        *package_cycles(edges),
        *module_cycles(edges)[0],
    ]


def main(arguments: list[str] | None = None) -> int:
    """Print the house; return 1 if something is wrong with it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="where src/ and tests/ are")
    parser.add_argument("--report-only", action="store_true", help="print, but never fail")
    options = parser.parse_args(arguments)
    modules = read_modules(options.root / "src")
    edges = edges_of(modules)
    source, tests = sum(each.code for each in modules.values()), test_code(options.root / "tests")
    violations = violations_of(modules, edges)
    if tests < source:
        violations.append(f"tests:1: {tests} lines of code, fewer than the source's {source}")
    print(*describe(modules, edges), sep="\n")
    print(f"{len(modules)} modules; lines of code: {source}, tests: {tests}")
    print(*violations, sep="\n", end="\n" if violations else "")
    return 1 if violations and not options.report_only else 0


if __name__ == "__main__":
    sys.exit(main())
