"""Where a piece of code stands: what its rewriter has to know of its module and its functions."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.python.sharing.variable import Variable


@dataclass(frozen=True)
class Scope:
    """What the rewriter has to know about the code around."""

    variables: dict[str, Variable] = field(default_factory=dict)
    """Global variables that somebody assigns, and what stands for each."""
    class_names: frozenset[str] = frozenset()
    """Attributes that classes have and that somebody assigns: their class matters as well."""
    shadowed: frozenset[str] = frozenset()
    """Names of built-ins that the module redefines."""
    own: frozenset[str] = frozenset()
    """Global names of functions and classes under test, which nobody assigns."""
    methods: frozenset[str] = frozenset()
    """Names of functions under test."""
    computed: frozenset[str] = frozenset()
    """Attributes that classes under test define, perhaps as properties."""
    specials: frozenset[str] = frozenset()
    """Special methods that classes under test define: operators and others."""
    meets_foreign_operators: bool = False
    """Whether there are objects whose operators run code that is not instrumented."""
    replaces_specials: bool = False
    """Whether somebody replaces special methods, or the code of functions."""
    assigns_cells: bool = False
    """Whether somebody assigns variables of functions through their cells."""
    is_executed: bool = False
    """Whether it is run by `exec` or `eval`, in some namespace."""
    gil: bool = False
    item_by_item: bool = False
    """Whether to mark the places where an interpreter with a global lock hands over."""
    fixed: frozenset[str] = frozenset()
    """Variables of enclosing functions that keep their value."""
    imported: frozenset[str] = frozenset()
    """Variables of enclosing functions that hold what was imported."""
