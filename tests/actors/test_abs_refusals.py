"""What is wrong with an ABS file, or not supported: line, column and the construct."""

from __future__ import annotations

from pathlib import Path

import pytest

from abs_code import program, refused
from treadle.actors.abs.errors import AbsError
from treadle.core.errors import TreadleError

SYNTAX = [
    ("{ Int x = 3 4; }", "1:13: syntax error at '4', expected an operator or ';'"),
    ("{ Int x = ; }", "1:11: syntax error at ';', expected an expression"),
    ("{ Int x = 3", "1:11: the text ends too early, expected ';'"),
    ("{ skip }", "1:8: syntax error at '}', expected ';'"),
    ("{ @ }", "1:3: syntax error at '@', expected an expression or '{' or '[' or '}'"),
    ('{ String s = "abc; }', "1:14: syntax error: this string has no end"),
    ("class c { }",
     "1:7: syntax error at 'c', expected a name that begins with an upper-case letter"),
    ("class C(Int) { }", "1:12: syntax error at ')', "
     "expected a name that begins with a lower-case letter"),
    ("{ while (True { skip; } }", "1:15: syntax error at '{', expected ')'"),
    ("{\n  Int x = 1;\n  x = `a $1 +$`;\n}",
     "3:13: the text ends too early, expected an expression"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), SYNTAX)
def test_syntax_errors_show_the_place_and_what_was_expected(
    tmp_path: Path, text: str, says: str
) -> None:
    assert refused(tmp_path, text) == says


def test_the_line_is_shown_with_a_caret(tmp_path: Path) -> None:
    with pytest.raises(AbsError) as refusal:
        program(tmp_path, "module A;\n{\n\tInt x = 3 4;\n}\n")
    assert refusal.value.__notes__ == ["  \tInt x = 3 4;\n  \t          ^"]
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__


BEFORE = """
interface I { Int m(Int n); }
interface J extends I { Unit k(); }
class C(Int size) implements I { Int m(Int n) { return n + size; } Unit own() { skip; } }
data D = A | B(Int part);
def Int f(Int x) = x;
"""

WRONG = [
    ("I i = new C(1); i!mm(1);", "19: interface I has no method mm; did you mean m?"),
    ("J j = null; j!m(1); j!own();", "23: interface J has no method own"),
    ("I i = new C(1); i!m();", "19: m takes 1 parameter, not 0"),
    ("C c = new C(1); c.nothing();", "19: class C has no method nothing"),
    ("Fut<I> f = null; I i = f.get; i.x();", "33: interface I has no method x"),
    ("Int x = 1; Int y = x!frob();", "22: no class here: it has no method frob"),
    ("I i = new D();", "11: there is no class D"),
    ("I i = new Cc(1);", "11: there is no class Cc; did you mean C?"),
    ("I i = new I(1);", "11: I is an interface: give a class that implements it"),
    ("I i = new C();", "7: class C takes 1 parameter, not 0"),
    ("I i = C(1);", "7: C is a class: write `new C(…)`"),
    ("D d = Bb(1);", "7: there is no constructor Bb; did you mean B?"),
    ("D d = B();", "7: B takes 1 arguments, not 0"),
    ("D d = A; switch (d) { B => skip; }", "23: B has 1 parts, not 0"),
    ("D d = A; switch (d) { X(y) => skip; }", "23: there is no constructor X"),
    ("Int x = y;", "9: there is no variable y here"),
    ("Int name = 1; Int y = nam + 1;", "23: there is no variable nam here; did you mean name?"),
    ("x = 1;", "1: there is no variable x here"),
    ("Int x = 1; Int x = 2;", "12: variable x is declared twice"),
    ("Int x = g(1);", "9: there is no function g"),
    ("Int x = lenght(Nil);", "9: there is no function lenght; did you mean length?"),
    ("Int x = f(1, 2);", "9: f takes 1 arguments, not 2"),
    ("Int x = vec[1];", "9: vec[…] is not known: there are list, set and map"),
    ("I i = this;", "7: there is no `this` here: only methods have one"),
    ("I i = null; Int x = i.size;",
     "21: field size of another object cannot be read: call a method"),
    ("Int x = await 1 == 1;", "9: await of a condition has no value: write it alone"),
    ("f(1) = 2;", "1: only variables and fields can be assigned to"),
    ("Bool b = null implements X;", "10: there is no interface X"),
]  # fmt: skip


@pytest.mark.parametrize(("statements", "says"), WRONG)
def test_what_is_not_there(tmp_path: Path, statements: str, says: str) -> None:
    text = f"module Test;{BEFORE}{{\n{statements}\n}}"
    assert refused(tmp_path, text) == f"8:{says}"


DECLARED = [
    ("interface I { Unit m(); } class C implements I { }",
     "33: class C has no method m, which interface I asks for"),
    ("interface I { Unit m(); } interface J extends I {} class C implements J { }",
     "58: class C has no method m, which interface J asks for"),
    ("interface I { Unit m(Int x); } class C implements I { Unit m() {} }",
     "60: method m of C has 0 parameters, and interface I asks for 1"),
    ("class C implements I { }", "20: there is no interface I"),
    ("class C { } class C { }", "19: class C is declared twice"),
    ("class C { Unit m() {} Unit m() {} }", "28: method m of C is declared twice"),
    ("class C(Int x) { Int x; }", "22: field x of C is declared twice"),
    ("class C { Unit m() { this.k(); } }", "27: class C has no method k"),
    ("class C { Unit m() { Int x = this.k; } }", "30: class C has no field k"),
    ("data D = A; data E = A;", "22: constructor A is declared twice"),
    ("def Int f() = 1; def Int f() = 2;", "26: function f is declared twice"),
    ("class C { { suspend; } }", "13: an initialiser cannot wait: let the method `run` do that"),
    ("class C { { C c = null; await c!m(); } Unit m() {} }",
     "25: an initialiser cannot wait: let the method `run` do that"),
    ("class C { Unit m() {} } def Unit f(C c) = c.m();",
     "43: a function has no effects: do this in a method"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), DECLARED)
def test_declarations(tmp_path: Path, text: str, says: str) -> None:
    assert refused(tmp_path, f"{text}\n{{ }}") == f"1:{says}"


TIME = "time is not modelled"
DEPLOYMENT = "deployment components are not modelled"
PRODUCTS = "deltas and product lines are not supported"

NOT_SUPPORTED = [
    ("{ await duration(1, 2); }", "1:9: duration", TIME),
    ("{ duration(1, 2); }", "1:3: duration", TIME),
    ("{ Time t = now(); }", "1:3: Time", TIME),
    ("{ Rat t = timeValue(now()); }", "1:21: now", TIME),
    ("{ DC d = new DeploymentComponent(\"x\", map[]); }", "1:3: DC", DEPLOYMENT),
    ("class C {}\n{ [DC: null] C c = new C(); }", "2:4: [DC]", DEPLOYMENT),
    ("class C { Unit m() { [Cost: 5] skip; } }\n{ }", "1:23: [Cost]", DEPLOYMENT),
    ("class C { [Deadline: 5] Unit m() { skip; } }\n{ }", "1:12: [Deadline]", TIME),
    ("[Scheduler: pick(queue)] class C { }\n{ }",
     "1:2: [Scheduler]", "schedulers cannot be chosen"),
    ("[HTTPCallable] class C { }\n{ }", "1:2: [HTTPCallable]", "there is no HTTP interface"),
    ("{ [HTTPName: \"x\"] Int y = 1; }", "1:4: [HTTPName]", "there is no HTTP interface"),
    ("[Foreign] class C { }\n{ }", "1:2: [Foreign]", "the foreign interface is not supported"),
    ("{ String s = readln(); }", "1:14: readln", "nothing is read from the keyboard"),
    ("delta D; { }", "1:1: delta", PRODUCTS),
    ("productline P; features A; { }", "1:1: productline", PRODUCTS),
    ("trait T = { Unit m() { skip; } } { }", "1:1: trait", "traits are not supported"),
    ("class C { uses T; } { }", "1:11: uses", "traits are not supported"),
    ("class C { recover { _ => skip; } } { }",
     "1:11: recover", "recovery blocks are not supported"),
    ("{ Int x = random(5); }", "1:11: random", "random values are not supported"),
    ("class C { Unit m() { die Empty; } } { }", "1:22: die", "objects cannot be killed"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "what", "why"), NOT_SUPPORTED)
def test_what_is_not_supported_is_named_with_what_there_is_instead(
    tmp_path: Path, text: str, what: str, why: str
) -> None:
    assert refused(tmp_path, text).startswith(f"{what}: {why}")


# The method under test


def test_without_a_main_block_a_method_is_asked_for(tmp_path: Path) -> None:
    text = "module Test;\nclass C { Unit m() { skip; } }\n"
    says = "2:1: there is no main block: add one, or choose a method with --method C.m"
    assert refused(tmp_path, text) == says


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("C.k", "4:13: class C has no method k"),
        ("D.m", "4:8: there is no class D"),
        ("C(1).m", "4:4: class C takes 0 parameters, not 1"),
        ("C.m(1)", "4:13: m takes 0 parameters, not 1"),
        ("C.m(1 +)", "4:18: syntax error at ')', expected an expression"),
    ],
)
def test_methods_under_test_that_are_not_there(tmp_path: Path, name: str, says: str) -> None:
    assert refused(tmp_path, "module Test;\nclass C { Unit m() { skip; } }\n", name) == says


def test_what_is_no_method(tmp_path: Path) -> None:
    with pytest.raises(TreadleError, match=r"'m' is no method of .*: give Class\.method"):
        program(tmp_path, "class C { Unit m() { skip; } }", "m")


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "model.abs"
    path.write_bytes(b'{ println("\xe4"); }')
    from treadle.actors.abs.loading import load

    with pytest.raises(TreadleError, match="is not text in UTF-8"):
        load(path, "")
