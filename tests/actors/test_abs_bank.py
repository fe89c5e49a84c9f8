"""A larger ABS model with most of the language at once, variations of it, and exact counts."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import treadle
from treadle.actors import Program
from treadle.actors.abs.loading import load

FOUR = ("exhaustive", "sleep", "source", "optimal")

BANK = """\
module Bank;
export *;
import * from ABS.StdLib;

data Kind = Deposit(Int amount) | Withdraw(Int amount) | Query;
type Id = Int;
exception Insufficient(Int missing);
data Tree<A> = Leaf | Node(Tree<A> left, A value, Tree<A> right);

def Tree<Int> insert(Tree<Int> t, Int v) =
  case t {
    Leaf => Node(Leaf, v, Leaf);
    Node(l, x, r) => if v < x then Node(insert(l, v), x, r) else Node(l, x, insert(r, v));
  };
def Int size<A>(Tree<A> t) = case t { Leaf => 0; Node(l, _, r) => 1 + size(l) + size(r); };
def List<Int> inOrder(Tree<Int> t) =
  case t { Leaf => Nil; Node(l, x, r) => concatenate(inOrder(l), Cons(x, inOrder(r))); };

interface Account { Int apply(Kind k); Int balance(); Unit waitFor(Int n); }
interface Audit { Unit log(String s); Int count(); }

class AccountImpl(Int start, Audit audit) implements Account {
  Int bal = start;
  Map<Id, Int> history = EmptyMap;
  Int n = 0;
  Int apply(Kind k) {
    switch (k) {
      Deposit(a) => { bal = bal + a; }
      Withdraw(a) => { if (bal < a) { throw Insufficient(a - bal); } bal = bal - a; }
      Query => skip;
    }
    n = n + 1;
    history = put(history, n, bal);
    audit!log("applied " + toString(bal));
    return bal;
  }
  Int balance() { return bal; }
  Unit waitFor(Int k) {
    Fut<Int> f = audit!count();
    await this.bal >= k & f?;
    Int c = f.get;
    assert bal >= k;
  }
}
class AuditImpl implements Audit {
  List<String> lines = Nil;
  Unit log(String s) { lines = appendright(lines, s); println(s); }
  Int count() { return length(lines); }
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Any:
    """Make a program of the bank and a main block."""

    def make(block: str, before: str = BANK) -> Program:
        path = tmp_path / "bank.abs"
        path.write_text(before + dedent(block), encoding="utf-8")
        _, found = load(path, "")
        assert isinstance(found, Program)
        return found

    return make


def counts(tested: Program, *algorithms: str, **options: Any) -> list[int]:
    results = [treadle.explore(tested, algorithm=one, **options) for one in algorithms]
    assert all(result.ok for result in results)
    return [result.executions for result in results]


@pytest.mark.parametrize(
    "claim",
    [
        "size(insert(insert(Leaf, 3), 1)) == 2",
        "inOrder(insert(insert(insert(Leaf, 3), 1), 2)) == list[1, 2, 3]",
        "lookupDefault(map[Pair(1, 2), Pair(3, 4)], 3, 0) == 4",
        "lookup(map[Pair(1, 2)], 9) == Nothing",
        "fromJust(lookup(put(EmptyMap, 1, 2), 1)) == 2",
        "contains(insertElement(set[1, 2], 3), 3) && !contains(set[1], 2)",
        'nth(list["a", "b"], 1) == "b" && head(tail(list[1, 2])) == 2',
        "truncate(7 / 2) == 3 && 1 / 3 * 3 == 1",
        "fst(Pair(1, 2)) + snd(Pair(1, 2)) == 3",
        "case Deposit(5) { Deposit(n) => n == 5; _ => False; }",
        "let (Int x) = 3 in x * x == 9",
        '(if 1 < 2 then "a" else "b") == "a"',
        "amount(Withdraw(4)) == 4",
        "reverse(list[1, 2, 3]) == list[3, 2, 1]",
        "EmptySet != set[1] && length(Nil) == 0",
    ],
)
def test_expressions_mean_what_they_say(model: Any, claim: str) -> None:
    assert counts(model(f"{{ assert {claim}; }}"), "optimal", "exhaustive") == [1, 1]
    (failure,) = treadle.explore(model(f"{{ assert !({claim}); }}")).failures
    assert failure.kind == "assertion"


TWO = """\
{
  Audit l = new AuditImpl();
  Account a = new AccountImpl(10, l);
  Fut<Int> f = a!apply(Deposit(5));
  Fut<Int> g = a!apply(Withdraw(12));
  try { await g?; Int x = g.get; }
  catch { Insufficient(m) => { assert m == 2; } }
  Int y = f.get;
}
"""


def test_an_exception_that_depends_on_the_order_is_caught(model: Any) -> None:
    tested = model(TWO)
    # The withdrawal first: one line of the audit. The deposit first: two, in either order.
    assert counts(tested, *FOUR) == [20, 3, 3, 3]
    assert treadle.explore(tested, order="sender").executions == 1


def test_without_the_catch_it_is_an_exception_of_main(model: Any) -> None:
    block = TWO.replace("try { await g?; Int x = g.get; }", "await g?; Int x = g.get;")
    block = block.replace("  catch { Insufficient(m) => { assert m == 2; } }\n", "")
    (failure,) = treadle.explore(model(block)).failures
    assert failure.kind == "exception"
    assert failure.message == "Insufficient: 2"
    assert treadle.explore(model(block), order="sender").ok


def test_a_guard_with_a_field_and_a_future(model: Any) -> None:
    tested = model(
        """\
        {
          Audit l = new AuditImpl();
          Account a = new AccountImpl(0, l);
          a!waitFor(3);
          a!apply(Deposit(2));
          a!apply(Deposit(2));
        }
        """
    )
    assert counts(tested, *FOUR) == [262, 52, 52, 52]
    short = model("{ Account a = new AccountImpl(0, new AuditImpl()); a!waitFor(3); }")
    (failure,) = treadle.explore(short).failures
    assert failure.kind == "stuck"
    assert "bank.abs:" in failure.message


def test_calls_in_a_circle_are_a_deadlock_with_lines(model: Any) -> None:
    tested = model(
        """\
        module D;
        interface I { Int a(I o); Int b(); }
        class C implements I {
          Int a(I o) { Fut<Int> f = o!b(); return f.get; }
          Int b() { return 1; }
        }
        { I x = new C(); I y = new C(); x!a(y); y!a(x); }
        """,
        before="",
    )
    result = treadle.explore(tested, stop_on_failure=False)
    (failure,) = result.failures
    assert (failure.kind, result.failing, result.executions) == ("deadlock", 1, 3)
    assert failure.message.count("bank.abs:4") == 2
    assert failure.message.count("which has not started") == 2


OLD = """\
module Old;
interface P { Unit ping(P other, Int n); Unit pong(); Int hits(); }
class Peer implements P {
  Int h = 0; P helper;
  Unit run() { helper = NEW Peer2(); helper.pong(); }
  Unit ping(P other, Int n) { if (n > 0) { other!ping(this, n - 1); } h = h + 1; }
  Unit pong() { h = h + 10; }
  Int hits() { return h; }
}
class Peer2 implements P {
  Int h = 0;
  Unit ping(P other, Int n) { skip; }
  Unit pong() { h = h + 1; }
  Int hits() { return h; }
}
{ P a = COG Peer(); P b = COG Peer(); a!ping(b, 2); b!pong(); Int q = await b!hits(); }
"""


def test_both_dialects_of_new_mean_the_same(model: Any) -> None:
    old = model(OLD.replace("NEW", "new").replace("COG", "new cog"), before="")
    new = model(OLD.replace("NEW", "new local").replace("COG", "new"), before="")
    assert counts(old, *FOUR) == counts(new, *FOUR) == [3360, 72, 72, 72]


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("class C { Int m() { return 1 } } { new C(); }", "2:30", "syntax error at '}'"),
        ("class C { Unit m() { skip; } }", "2:1", "there is no main block"),
        ("{ I c = new D(); }", "2:13", "there is no class D"),
        ("class C { Int m() { return y; } } { new C(); }", "2:28", "there is no variable y"),
        ("class C { Unit m() { await duration(1, 1); } } { new C(); }", "2:28", "duration: time"),
        ("{ Int x = foo(3); }", "2:11", "foo"),
        ("{ Int x = 1; x!m(; }", "2:18", "syntax error at ';'"),
        ("interface I { Int m(); } class C implements I { } { new C(); }", "2:32", "m"),
    ],
)
def test_what_is_wrong_is_said_with_place_and_caret(
    text: str, place: str, said: str, tmp_path: Path, command_line: Any
) -> None:
    path = tmp_path / "wrong.abs"
    path.write_text(f"module W;\n{text}\n", encoding="utf-8")
    status, out, err = command_line("run", str(path), "--no-database")
    assert (status, out) == (2, "")
    first, line, caret = err.splitlines()
    assert f"wrong.abs:{place}: " in first
    assert said in first
    assert line.strip() == text
    assert caret.index("^") - 2 == int(place.partition(":")[2]) - 1
