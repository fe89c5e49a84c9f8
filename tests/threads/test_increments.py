"""`self.count += 1` takes one look at whose object that is, if nothing runs in between."""

from __future__ import annotations

import dis
import types
from typing import Any

import pytest
from together import outcomes, together

from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.instrument import rewrite as rewriting
from treadle.python.instrument.rewrite import rewrite
from treadle.python.instrument.scope import Scope
from treadle.python.sharing.published import published

board: list[Any] = []


class Sprung:
    """Known to all as soon as somebody asks for an attribute that it does not have."""

    def __getattr__(self, name: str) -> int:
        board.append(self)
        return 0


def functions_of(source: str) -> dict[str, Any]:
    """Run source with hooks, as a module that knows no special methods."""
    found: dict[str, Any] = {}
    exec(rewrite(compile(source, "module.py", "exec"), Scope()), found)
    return found


def looks(body: str, scope: Scope) -> int:
    """Return how often a method asks whose object something is."""
    source = compile(f"def method(self, other):\n    {body}\n", "module.py", "exec")
    method = next(const for const in source.co_consts if isinstance(const, types.CodeType))
    loads = (i for i in dis.get_instructions(rewrite(method, scope)) if i.opname == "LOAD_CONST")
    return sum(i.argval is published for i in loads)


@pytest.mark.parametrize("body", ["self.n += 1", "self.n -= 2.5", "self.a.n += 1"])
def test_one_look_is_enough(body: str) -> None:
    assert looks(body, Scope()) == body.count(".", 0, body.index("="))


@pytest.mark.parametrize(
    ("body", "scope"),
    [
        pytest.param("self.n += 1", Scope(specials=frozenset({"__getattr__"})), id="specials"),
        pytest.param("self.n += 1", Scope(meets_foreign_operators=True), id="libraries"),
        pytest.param("self.n *= 2", Scope(), id="lists get longer"),
        pytest.param("self.n += other", Scope(), id="a list, perhaps"),
        pytest.param("self.n = other.n + 1", Scope(), id="two objects"),
        pytest.param("self.n = self.n + 1", Scope(), id="two times the same"),
    ],
)
def test_two_looks_are_needed(body: str, scope: Scope) -> None:
    assert looks(body, scope) >= 2


def test_an_attribute_that_classes_have_is_looked_up_there() -> None:
    assert looks("self.n += 1", Scope(class_names=frozenset({"n"}))) == 1  # to store it


def test_it_is_an_increment() -> None:
    functions = functions_of("def increase(counter):\n    counter.n += 1\n    return counter.n")
    counter = types.SimpleNamespace(n=3)
    assert functions["increase"](counter) == 4
    assert counter.n == 4


def test_what_goes_wrong_goes_wrong_in_its_line() -> None:
    functions = functions_of("def increase(counter):\n\n    counter.n += 1\n")
    with pytest.raises(AttributeError) as caught:
        functions["increase"](object())
    assert caught.traceback[-1].lineno == 2


def test_a_shared_counter_is_read_and_then_written(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, ...]] = []
    store = lambda value, obj, name: told.append(("written", name, value, obj.n))  # noqa: E731
    monkeypatch.setattr(hooks, "load_attr", lambda obj, name: told.append(("read", name, obj.n)))
    monkeypatch.setattr(rewriting, "ATTRIBUTE_STORES", (store, store))
    functions = functions_of("def increase(counter):\n    counter.n += 1\n")
    counter = types.SimpleNamespace(n=3)
    functions["increase"](counter)
    assert told == []
    monkeypatch.setitem(published, id(counter), None)
    functions["increase"](counter)
    assert told == [("read", "n", 4), ("written", "n", 5, 4)]
    assert counter.n == 5


def test_what_is_published_by_being_read() -> None:
    def program() -> list[Any]:
        board.clear()
        seen: list[Any] = []

        def look() -> None:
            if board:
                seen.append(vars(board[0]).get("n"))

        def increase() -> None:
            Sprung().n += 1  # type: ignore[attr-defined]

        together(look, increase)
        return seen

    assert outcomes(program) == {"[]", "[None]", "[1]"}
