"""What becomes of each form of actors' code; unknown code is havoc with its line."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import pytest

from actor_code import KNOWN, Actor, lowered, pause, until
from treadle.analyses.ir import Method, Span, assigned, fields_of, instruction_in_words, used
from treadle.analyses.known import function_of, pure
from treadle.analyses.lower import Lowering

# mypy and ruff see code here that nobody runs: it is what tests lower.
# ruff: noqa: ARG001, B007, B020, F841

COUNTED = [0]
LIMIT = 3


@dataclass(frozen=True)
class Order:
    item: Any
    number: int


class Other(Actor):
    async def m(self, *values: Any) -> Any: ...

    async def add(self, value: Any) -> Any: ...


class Code(Actor):
    n: int
    xs: Any
    d: Any

    async def waits(self, x: Any, f: Any) -> Any:
        g = x.m.send(1, self.n)
        await g
        v = g.get()
        await f.done()
        w = await x.m.send(self)
        await until(lambda: self.n > v)
        await pause()
        return v + w

    def assigns(self, x: Any) -> Any:
        self.n = LIMIT
        a = b = x
        self.n, c = a, self.n
        self.n += 1
        self.xs[0] = b
        self.d["k"] += c
        del self.xs[0]
        x.name = 5
        for self.n, d in self.xs:
            pass

    def calls(self, x: Any) -> Any:
        self.other(x)
        helper(x, n=1)
        o = Other(1)
        p = Code.local()
        self.xs.append(x)
        y = self.d.get(x, 2)
        z = math.floor(1.5) + len(self.xs) + double(2)
        x.m(y, z)
        x.add(1)
        return Order(o, number=p)

    def other(self, x: Any) -> Any: ...

    def branches(self, x: Any) -> Any:
        if x > 1 and x.m.send().get():
            return 1
        while self.n:
            self.n -= 1
            if x:
                break
            continue
        else:
            x = 2
        y = 1 if x else self.xs
        z = x.m.send() if x else None
        for i, j in enumerate(self.xs):
            y = j
        return [a + self.n for a in self.xs if a]

    def order_of_evaluation(self, x: Any) -> Any:
        return self.n + x.m.send(self.n).get() + self.n

    def walrus(self, x: Any) -> Any:
        return (y := self.n) + y

    def tries(self, x: Any) -> Any:
        try:
            self.n = x.m.send().get()
        except ValueError as error:
            return error
        finally:
            self.xs = 0
        return 1

    def texts(self, x: Any) -> Any:
        print(f"{x} {self.n}")
        assert x > 0, "no"
        raise ValueError(x)

    def matches(self, x: Any) -> Any:
        match x:
            case (a, Order(item=b)) if a > 1:
                return b
            case _:
                return 0

    def keys(self, x: Any) -> Any:
        return sorted(x, key=lambda pair: (pair[1], self.n))


def helper(x: Any, n: int) -> Any:
    return x


@pure
def double(x: int) -> int:
    return 2 * x


def ir(name: str) -> list[str]:
    return lowered(vars(Code)[name], Code, Other)


def test_sends_and_waits() -> None:
    assert ir("waits") == [
        "%1 = x!m(1, this.n)",
        "g = %1",
        "%2 = await g",
        "%3 = get g",
        "v = %3",
        "await f",
        "%4 = x!m(this)",
        "%5 = await %4",
        "w = %5",
        "until (this.n > v)",
        "pause",
        "ret (v + w)",
        "ret None",
    ]


def test_assignments_to_names_fields_and_items() -> None:
    assert ir("assigns") == [
        "this.n = 3",
        "%1 = x",
        "a = %1",
        "b = %1",
        "%2 = a",
        "%3 = this.n",
        "this.n = %2",
        "c = %3",
        "this.n = (this.n += 1)",
        "%4 = update this.xs.[]=(0, b)",
        "%5 = update this.d.[]=('k', (index(this.d, 'k') += c))",
        "%6 = update this.xs.del(0)",
        "%7 = update x..name=(5)",
        "%8 = this.xs",
        "br nonempty(%8) 15 23",
        "%9 = head(%8)",
        "%8 = tail(%8)",
        "%10 = %9",
        "%11 = index(%10, 0)",
        "%12 = index(%10, 1)",
        "this.n = %11",
        "d = %12",
        "jmp 14",
        "ret None",
    ]


def test_calls_creations_and_collections() -> None:
    assert ir("calls") == [
        "%1 = call this.other(x)",
        "%2 = call helper(x, 1)",
        "%3 = new Other(1)",
        "o = %3",
        "%4 = new local Code()",
        "p = %4",
        "%5 = update this.xs.append(x)",
        "y = .get(this.d, x, 2)",
        "z = ((math.floor(1.5) + len(this.xs)) + double(2))",
        "%6 = call x.m(y, z)",
        "br ? 11 13",
        "%7 = call x.add(1)",
        "jmp 14",
        "%7 = update x.add(1)",
        "ret Order[o, p]",
        "ret None",
    ]


def test_branches_and_loops() -> None:
    assert ir("branches") == [
        "%1 = (x > 1)",
        "br %1 2 5",
        "%2 = x!m()",
        "%3 = get %2",
        "%1 = %3",
        "br %1 6 8",
        "ret 1",
        "jmp 8",
        "br this.n 9 15",
        "this.n = (this.n -= 1)",
        "br x 11 13",
        "jmp 16",
        "jmp 13",
        "jmp 8",
        "jmp 8",
        "x = 2",
        "y = (1 if x else this.xs)",
        "br x 18 21",
        "%5 = x!m()",
        "%4 = %5",
        "jmp 22",
        "%4 = None",
        "z = %4",
        "%6 = enumerate(this.xs)",
        "br nonempty(%6) 25 34",
        "%7 = head(%6)",
        "%6 = tail(%6)",
        "%8 = %7",
        "%9 = index(%8, 0)",
        "%10 = index(%8, 1)",
        "i = %9",
        "j = %10",
        "y = j",
        "jmp 24",
        "%11 = list[]",
        "%13 = this.xs",
        "br nonempty(%13) 37 43",
        "%14 = head(%13)",
        "%13 = tail(%13)",
        "%a12 = %14",
        "br %a12 41 36",
        "%15 = update %11.append((%a12 + this.n))",
        "jmp 36",
        "ret %11",
        "ret None",
    ]


def test_what_is_read_before_a_wait_is_read_before_it() -> None:
    assert ir("order_of_evaluation") == [
        "%1 = this.n",
        "%2 = x!m(this.n)",
        "%3 = get %2",
        "ret ((%1 + %3) + this.n)",
        "ret None",
    ]
    assert ir("walrus") == ["y = this.n", "ret (y + y)", "ret None"]


def test_exceptions_lead_to_handlers_and_finally_runs_on_every_way_out() -> None:
    assert ir("tries") == [
        "%1 = x!m()",
        "%2 = get %1",
        "this.n = %2",
        "jmp 13",
        "br ? 5 10",
        "error = ?",
        "%3 = error",
        "this.xs = 0",
        "ret %3",
        "jmp 13",
        "raise ?",
        "this.xs = 0",
        "raise ?",
        "this.xs = 0",
        "ret 1",
        "ret None",
    ]


def test_handlers_are_where_exceptions_arise() -> None:
    method = method_of("tries")
    assert method.handled_at(1) == (4, 11)
    assert method.handled_at(5) == (11,)
    assert method.handled_at(11) == ()
    assert method.successors(10) == ()


def test_text_assertions_and_exceptions() -> None:
    assert ir("texts") == [
        "eval print(str[x, ' ', this.n])",
        "assert (x > 0)",
        "raise ValueError(x)",
        "ret None",
    ]


def test_any_case_of_a_match_may_fit() -> None:
    assert ir("matches") == [
        "%1 = x",
        "br ? 2 7",
        "a = part(%1, ?)",
        "b = part(%1, ?)",
        "br (a > 1) 5 7",
        "ret b",
        "jmp 10",
        "br ? 8 10",
        "ret 0",
        "jmp 10",
        "ret None",
    ]


def test_a_function_as_a_value_reads_what_its_body_reads() -> None:
    assert ir("keys") == [
        "%1 = ?",
        "ret sorted(x, lambda[tuple[index(%1, 1), this.n]])",
        "ret None",
    ]


# Unknown code


class Unknown(Actor):
    n: int
    f: Any

    def parameter(self, make: Any) -> Any:
        return make()

    def nested(self) -> Any:
        def inner() -> int:
            return self.n

        return inner

    def module_variable(self) -> Any:
        return COUNTED[0]

    def with_(self, x: Any) -> Any:
        with x:
            self.n = 1

    def other_library(self) -> Any:
        return random.random()

    def unknown_method(self, x: Any) -> Any:
        return x.frobnicate()

    def global_(self) -> Any:
        global LIMIT
        LIMIT = 4

    def condition(self, ready: Any) -> Any:
        return until(ready)

    def generator(self) -> Any:
        yield 1

    def fields(self) -> Any:
        self.__dict__["n"] = 1

    def others_fields(self, x: Any) -> Any:
        return x.__dict__

    def new_class(self) -> Any:
        self.__class__ = Other

    def new_fields(self, x: Any) -> Any:
        x.__dict__ = {}

    def stars(self, *values: Any) -> Any:
        return values


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("parameter", "make is not known before it runs"),
        ("nested", "a function in a function is not known"),
        ("module_variable", "COUNTED is a variable of the module, which any task may change"),
        ("with_", "a with statement is not known"),
        ("other_library", "what random.random does is not known"),
        ("unknown_method", "what x.frobnicate does is not known"),
        ("global_", "a global statement is not known"),
        ("generator", "Yield is not known"),
        ("fields", "fields are accessed by way of __dict__"),
        ("others_fields", "fields are accessed by way of __dict__"),
        ("new_class", "__class__ is assigned to"),
        ("new_fields", "__dict__ is assigned to"),
        ("stars", "*values takes any arguments"),
    ],
)
def test_unknown_code_is_havoc_with_its_line(name: str, why: str) -> None:
    method = method_of(name, Unknown)
    (havoc,) = method.havocs()
    assert havoc.why == why
    first = function_of(Unknown, name).__code__.co_firstlineno
    assert havoc.span.line - first == (0 if name == "stars" else 1)


def test_a_name_in_a_condition_stands_for_its_value() -> None:
    async def waits(self: Any) -> None:
        await until(lambda: self.m and ((n := self.n + 1), n > 3 and n < self.m)[-1])

    assert str(Lowering(KNOWN, frozenset()).method(waits)).splitlines()[1] == (
        "    0 until and(this.m, index(tuple[(this.n + 1), "
        "and(((this.n + 1) > 3), ((this.n + 1) < this.m))], neg(1)))"
    )


def test_a_condition_that_is_no_lambda_is_havoc() -> None:
    async def waits(self: Any, ready: Any) -> None:
        await until(ready)

    method = Lowering(KNOWN, frozenset()).method(waits)
    assert [each.why for each in method.havocs()] == [
        "until takes a lambda, whose fields can be read off"
    ]


def test_without_source_all_is_havoc() -> None:
    space: dict[str, Any] = {}
    exec("def made(self): self.n = 1", space)
    assert lowered(space["made"]) == ["havoc L1: there is no source of it", "ret None"]


# What instructions tell


def method_of(name: str, cls: type = Code) -> Method:
    function = function_of(cls, name)
    assert function is not None
    return Lowering(KNOWN, frozenset({"m", "add", "other"})).method(function)


def test_spans_are_those_of_the_blocking_expressions() -> None:
    method = method_of("waits")
    first = vars(Code)["waits"].function.__code__.co_firstlineno
    spans = {instruction_in_words(each): each.span for each in method.instructions}
    assert spans["%2 = await g"] == Span(first + 2, 8, first + 2, 15)
    assert spans["%3 = get g"] == Span(first + 3, 12, first + 3, 19)
    assert spans["until (this.n > v)"] == Span(first + 6, 8, first + 6, 39)
    assert str(spans["pause"]) == f"L{first + 7}"


def test_what_instructions_use_and_assign() -> None:
    for name in ("waits", "assigns", "calls", "branches", "tries"):
        for instruction in method_of(name).instructions:
            words = instruction_in_words(instruction)
            target = assigned(instruction)
            assert target is None or words.startswith((f"{target} =", "havoc")), words
            for expression in used(instruction):
                assert all(f"this.{field}" in words for field in fields_of(expression))


def test_parameters_that_need_not_be_given_have_values() -> None:
    def function(self: Any, a: Any, b: int = 5, *, c: Any = None) -> None: ...

    method = Lowering(KNOWN, frozenset()).method(function)
    assert method.parameters == ("a", "b", "c")
    assert [(name, str(value)) for name, value in method.defaults] == [("b", "5"), ("c", "None")]


def test_super_is_followed_to_the_class_above() -> None:
    class Base(Actor):
        def __init__(self, n: int) -> None:
            self.n = n

    class Derived(Base):
        def __init__(self) -> None:
            super().__init__(3)

    method = Lowering(KNOWN, frozenset()).method(Derived.__init__)
    assert instruction_in_words(method.instructions[0]) == "%1 = call this.__init__(3)"
    assert method.instructions[0].function is Base.__init__
