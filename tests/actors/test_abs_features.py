"""Each feature of ABS that public programs use, in a small program whose assertions hold."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from abs_code import explored, holds, in_main, program

CELL = """
interface Cell { Unit set(Int v); Int get_it(); Int twice(Int x); }
class CellImpl(Int value) implements Cell {
  Unit set(Int v) { value = v; }
  Int get_it() { return value; }
  Int twice(Int x) { return 2 * x; }
}
"""


def counts(result: Any) -> tuple[int, int]:
    return result.executions, result.failing


# Calls, futures, waiting


def test_asynchronous_calls_and_get(tmp_path: Path) -> None:
    in_main(
        tmp_path,
        """
        Cell c = new CellImpl(3);
        Fut<Int> f;
        f = c!get_it();
        Int v = f.get;
        assert (v == 3);
        f = c!twice(v + 1);
        v = f.get;
        assert (v == 8);
        """,
        CELL,
    )


def test_await_of_futures_and_their_results(tmp_path: Path) -> None:
    in_main(
        tmp_path,
        """
        Cell c = new CellImpl(3);
        Fut<Int> f = c!get_it();
        Fut<Int> g = c!twice(2);
        await f? & g?;
        Int a = f.get;
        Int b = g.get;
        assert (a + b == 7);
        Int d = await c!twice(5);
        assert (d == 10);
        await c!set(9);
        Int e = await c!get_it();
        assert (e == 9);
        """,
        CELL,
    )


def test_a_failed_task_is_not_seen_by_await_but_by_get(tmp_path: Path) -> None:
    before = """
    class Bad { Int fail() { return 1 / 0; } }
    """
    in_main(
        tmp_path,
        """
        Bad b = new Bad();
        Fut<Int> f = b!fail();
        await f?;
        Int seen = 0;
        try { Int x = f.get; } catch { DivisionByZeroException => seen = 1; }
        assert (seen == 1);
        """,
        before,
    )


def test_conditions_with_futures_and_locals(tmp_path: Path) -> None:
    text = """
    module Test;
    class Gate {
      Bool open = False; Int n = 0;
      Unit enter(Int k, Gate other) {
        Fut<Unit> f = other!nothing();
        await f? & open & n >= k;
        assert (open && n >= k);
      }
      Unit lift() { open = True; }
      Unit add() { n = n + 1; }
      Unit nothing() { skip; }
    }
    { Gate g = new Gate(); Gate o = new Gate(); g!enter(1, o); g!lift(); g!add(); }
    """
    holds(tmp_path, text)
    stuck = explored(tmp_path, text.replace("g!add(); }", "}"))
    assert {failure.kind for failure in stuck.failures} == {"stuck"}


def test_a_condition_with_a_case_or_a_let(tmp_path: Path) -> None:
    holds(
        tmp_path,
        """
        module Test;
        class Box {
          Maybe<Int> content = Nothing;
          Int take() {
            await case content { Just(n) => n > 1; Nothing => False; };
            await let (Int k) = fromJust(content) in k == 2;
            Int n = fromJust(content);
            assert (n == 2);
            return n;
          }
          Unit put(Int n) { content = Just(n); }
        }
        { Box b = new Box(); b!take(); b!put(2); }
        """,
    )


def test_suspend_lets_others_in(tmp_path: Path) -> None:
    text = """
    module Test;
    class C {
      Int n = 0;
      Unit a() { n = 1; suspend; n = n * 2; }
      Unit b() { n = 10; }
    }
    { C c = new C(); c!a(); c!b(); }
    """
    assert counts(explored(tmp_path, text)) == (3, 0)
    assert counts(explored(tmp_path, text.replace("suspend", "skip"))) == (2, 0)


def test_synchronous_calls_of_this_and_of_others(tmp_path: Path) -> None:
    holds(
        tmp_path,
        f"""
        module Test;
        {CELL}
        class User(Cell c) {{
          Int n = 0;
          Int more(Int k) {{ n = n + k; return n; }}
          Unit run() {{
            Int a = this.more(2);
            Int b = this.more(3);
            assert (a == 2 && b == 5 && this.n == 5);
            Int d = c.twice(b);
            assert (d == 10);
            this.more(1);
            assert (n == 6);
          }}
        }}
        {{ Cell c = new CellImpl(1); new User(c); }}
        """,
    )


def test_a_synchronous_call_to_another_group_blocks(tmp_path: Path) -> None:
    text = """
    module Test;
    class A { Unit go(B b) { b.back(this); } Unit nothing() { skip; } }
    class B { Unit back(A a) { a.nothing(); } }
    { A a = new A(); B b = new B(); a!go(b); }
    """
    assert {failure.kind for failure in explored(tmp_path, text).failures} == {"deadlock"}
    local = text.replace("new B()", "new local B()").replace("new A()", "new local A()")
    assert counts(explored(tmp_path, local)) == (1, 0)


def test_destiny_is_the_future_of_the_task(tmp_path: Path) -> None:
    text = """
    module Test;
    class A { Fut<Unit> mine; Unit go() { mine = destiny; await mine?; } }
    { A a = new A(); a!go(); }
    """
    (failure,) = explored(tmp_path, text).failures
    assert failure.kind == "deadlock", "a task that waits for itself"


# Objects


def test_parameters_fields_and_init_blocks_in_order(tmp_path: Path) -> None:
    holds(
        tmp_path,
        """
        module Test;
        class C(Int a, Int b) {
          Int sum = a + b;
          Int twice = 2 * sum;
          List<Int> all;
          { all = list[a, b, sum]; b = this.next(twice); }
          Int next(Int n) { return n + 1; }
          Unit run() { assert (twice == 6 && all == list[1, 2, 3] && b == 7); }
        }
        { new C(1, 2); }
        """,
    )


def test_run_is_a_task_of_a_new_object(tmp_path: Path) -> None:
    text = """
    module Test;
    class Active { Int n = 0; Unit run() { n = n + 1; this!again(); } Unit again() { n = n * 2; } }
    { Active a = new Active(); Active b = new Active(); a!again(); }
    """
    assert counts(explored(tmp_path, text)) == (3, 0)


def test_both_dialects_of_new(tmp_path: Path) -> None:
    text = """
    module Test;
    class A { Unit go() { skip; } }
    { A a = new A(); A b = new A(); A c = new A(); b!go(); c!go(); }
    """
    assert counts(explored(tmp_path, text)) == (1, 0)
    old = text.replace("A a = new A()", "A a = new cog A()")
    assert counts(explored(tmp_path, old)) == (2, 0), "plain new is local there: one group"


def test_a_field_and_a_method_of_one_name(tmp_path: Path) -> None:
    holds(
        tmp_path,
        """
        module Test;
        class C {
          Int size = 3;
          Int size() { return size + 1; }
          Unit run() { Int s = this.size(); assert (s == 4 && this.size == 3); }
        }
        { new C(); }
        """,
    )


def test_names_that_python_has_for_itself(tmp_path: Path) -> None:
    holds(
        tmp_path,
        """
        module Test;
        data Is = None(Int from) | Actor;
        def Int lambda(Int pass) = pass + 1;
        def Int twice(Int n) = 2 * n;
        class Program(Int self) {
          Int class' = 1;
          Int import() { return self; }
          Int local() { return class'; }
          Unit run() {
            Int def' = this.import();
            Int head = head(list[def', 2]);
            Int with = lambda(head);
            Int twice = twice(3);
            assert (twice == 6);
            Int del = this.local();
            Is n = None(4);
            assert (with == 6 && del == 1 && from(n) == 4);
          }
        }
        { new Program(5); }
        """,
    )


def test_null_and_identity(tmp_path: Path) -> None:
    in_main(
        tmp_path,
        """
        Cell a = new CellImpl(1);
        Cell b = null;
        assert (b == null && a != null && null != a);
        b = a;
        assert (a == b);
        Cell c = new CellImpl(1);
        assert (a != c);
        Fut<Int> f = null;
        Int seen = 0;
        try { Int x = f.get; } catch { NullPointerException => seen = 1; }
        assert (seen == 1);
        """,
        CELL,
    )


def test_interfaces_at_run_time(tmp_path: Path) -> None:
    before = """
    interface A { Unit a(); }
    interface B extends A { Unit b(); }
    class One implements A { Unit a() { skip; } }
    class Two implements B { Unit a() { skip; } Unit b() { skip; } }
    """
    in_main(
        tmp_path,
        """
        A one = new One();
        A two = new Two();
        assert (one implements A && !(one implements B) && two implements A && two implements B);
        B b = two as B;
        B none = one as B;
        assert (b == two && none == null);
        (two as B)!b();
        """,
        before,
    )


# Data


def test_data_types_with_parameters_and_selectors(tmp_path: Path) -> None:
    before = """
    data Tree<A> = Leaf | Node(Tree<A> smaller, A item, Tree<A> larger);
    data Colour = Red | Green(Int) | Blue(Int shade, String);
    def Int depth<A>(Tree<A> t) =
      case t { Leaf => 0; Node(l, _, r) => 1 + max(depth(l), depth(r)); };
    def Tree<Int> with(Tree<Int> t, Int n) =
      case t {
        Leaf => Node(Leaf, n, Leaf);
        Node(l, m, r) => if n < m then Node(with(l, n), m, r) else Node(l, m, with(r, n));
      };
    """
    in_main(
        tmp_path,
        """
        Tree<Int> t = with(with(with(Leaf, 5), 3), 4);
        assert (depth(t) == 3 && item(t) == 5 && item(larger(smaller(t))) == 4);
        assert (t == Node(Node(Leaf, 3, Node(Leaf, 4, Leaf)), 5, Leaf));
        Colour c = Blue(3, "sky");
        assert (shade(c) == 3 && Red < Green(1) && Green(1) < Green(2) && Green(9) < c);
        Int seen = 0;
        switch (c) { Red => seen = 1; Blue(n, "sea") => seen = 2; Blue(n, _) => seen = n + 7; }
        assert (seen == 10);
        assert (toString(c) == "Blue(3, sky)" && toString(Red) == "Red");
        """,
        before,
    )


def test_type_synonyms(tmp_path: Path) -> None:
    before = f"""
    type Id = Int;
    type Table = Map<Id, Cell>;
    type Peer = Cell;
    {CELL}
    """
    in_main(
        tmp_path,
        """
        Peer c = new CellImpl(4);
        Table t = map[Pair(1, c)];
        Cell found = fromJust(lookup(t, 1));
        Id v = await found!get_it();
        assert (v == 4);
        """,
        before,
    )


def test_functions_with_functions(tmp_path: Path) -> None:
    before = """
    def Int inc(Int x) = x + 1;
    def List<B> each<A, B>(f)(List<A> xs) =
      case xs { Nil => Nil; Cons(h, t) => Cons(f(h), each(f)(t)); };
    def Bool even(Int n) = if n == 0 then True else odd(n - 1);
    def Bool odd(Int n) = if n == 0 then False else even(n - 1);
    """
    in_main(
        tmp_path,
        """
        assert (each(inc)(list[1, 2]) == list[2, 3]);
        assert (each((Int x) => x * x)(list[2, 3]) == list[4, 9]);
        assert (map(inc)(list[1]) == list[2]);
        assert (even(10) && !odd(4));
        """,
        before,
    )


# Statements


def test_loops_branches_and_scopes(tmp_path: Path) -> None:
    in_main(
        tmp_path,
        """
        Int sum = 0;
        Int i = 0;
        while (i < 4) { Int square = i * i; sum = sum + square; i = i + 1; }
        assert (sum == 14);
        { Int inner = 5; sum = sum + inner; }
        { Int inner = 6; sum = sum + inner; }
        if (sum == 25) sum = 1; else { sum = 2; }
        if (sum == 2) if (i == 4) sum = 3; else sum = 4;
        assert (sum == 1);
        foreach (x in list[1, 2]) { sum = sum + x; }
        foreach (x, k in list[5, 6]) { sum = sum + k * x; }
        assert (sum == 10);
        foreach (k in keys(map[Pair(3, 4)])) sum = k;
        assert (sum == 3);
        """,
    )


def test_case_statements(tmp_path: Path) -> None:
    in_main(
        tmp_path,
        """
        Int n = 0;
        List<Int> xs = list[1, 2, 3];
        case xs {
          Nil => n = 1;
          Cons(first, Cons(_, rest)) => { n = first + length(rest); }
          _ => skip;
        }
        assert (n == 2);
        switch (tail(tail(xs))) { Cons(3, Nil) => n = 30; _ => n = 0; }
        assert (n == 30);
        Int known = 4;
        switch (Pair(4, 5)) { Pair(known, other) => n = other; }
        assert (n == 5);
        Int failed = 0;
        try { switch (n) { 1 => skip; } } catch { PatternMatchFailException => failed = 1; }
        assert (failed == 1);
        """,
    )


def test_exceptions(tmp_path: Path) -> None:
    before = """
    exception Empty;
    exception Wrong(String why, Int code);
    class Bad { Int fail(Int n) { if (n == 0) throw Empty; throw Wrong("no", n); } }
    """
    in_main(
        tmp_path,
        """
        List<String> log = Nil;
        Bad b = new Bad();
        foreach (n in list[0, 7]) {
          try { Int x = await b!fail(n); }
          catch {
            Empty => log = appendright(log, "empty");
            Wrong(why, code) => log = appendright(log, why + toString(code));
          }
          finally { log = appendright(log, "done"); }
        }
        assert (log == list["empty", "done", "no7", "done"]);
        Int caught = 0;
        try {
          try { throw Empty; } catch { Wrong(_, _) => caught = 1; }
        } catch { e => caught = 2; }
        assert (caught == 2);
        """,
        before,
    )
    text = f"""
    module Test;
    {before}
    {{ Bad b = new Bad(); b!fail(3); }}
    """
    (failure,) = explored(tmp_path, text).failures
    assert failure.kind == "exception"
    assert failure.message == "Wrong: no, 3"


def test_rationals(tmp_path: Path) -> None:
    in_main(
        tmp_path,
        """
        Rat third = 1 / 3;
        Rat one = third + third + third;
        assert (one == 1 && third < 1 / 2 && truncate(10 * third) == 3);
        Float f = 0.25;
        assert (float(1 / 4) == f);
        """,
    )


def test_modules_imports_exports_annotations_and_comments(tmp_path: Path) -> None:
    holds(
        tmp_path,
        """
        module Lib.Shapes; // a library
        export *;
        export Shape, area from Lib.Shapes;
        import * from ABS.StdLib;
        [Doc: "data"] data Shape = Square(Int side);
        def Int area(Shape s) = case s { Square(a) => a * a; };
        class Helper { Int help() { return 1; } }

        /* the
           program */
        module Main;
        import Lib.Shapes.Shape, Lib.Shapes.area;
        import * from Lib.Shapes;
        [Far] interface I { [Atomic] Int m([Far] I other); }
        import * from ABS.DC;
        class Helper implements Object { Int help() { return 2; } }
        [Plain, Near] class C([Final] Int n) implements I {
          [Near] Int k = n;
          [Atomic] Int m([Far] I other) { return k; }
        }
        {
          [Near] I i = new C(3);
          [Far] Fut<[Far] I> unused;
          Int x = await i!m(null);
          Shape s = Lib.Shapes.Square(x);
          assert (Lib.Shapes.area(s) == 9 && area(Square(2)) == 4);
          Helper h = new Helper();
          Int own = await h!help();
          Lib.Shapes.Helper g = new Lib.Shapes.Helper();
          Int other = await g!help();
          assert (own == 2 && other == 1);
        }
        """,
    )


def test_what_is_printed_is_in_the_report(tmp_path: Path) -> None:
    text = """
    module Test;
    { println("hello"); println(toString(list[1])); print("x"); assert False; }
    """
    (failure,) = explored(tmp_path, text).failures
    assert failure.kind == "assertion"


# Lines


@pytest.mark.parametrize(
    ("statement", "kind", "says"),
    [
        ("assert n == 1;", "assertion", ""),
        ("Int m = 1 / n;", "exception", "DivisionByZeroException"),
        ("Int m = head(xs);", "exception", "PatternMatchFailException: head(Nil)"),
        ("other!go();", "exception", "NoneType"),
        ("f.get;", "exception", "NoneType"),
        ("switch (n) { 1 => skip; }", "exception", "PatternMatchFailException: 0"),
    ],
)
def test_a_failure_has_the_line_of_the_file(
    tmp_path: Path, statement: str, kind: str, says: str
) -> None:
    text = f"""\
    module Test;
    class C {{
      Int n = 0; List<Int> xs; C other; Fut<Unit> f;
      {{ xs = Nil; }}
      Unit go() {{
        n = 0;
        {statement}
      }}
    }}
    {{ C c = new C(); c!go(); }}
    """
    (failure,) = explored(tmp_path, text).failures
    assert failure.kind == kind
    assert says in failure.message
    frames = traceback.extract_tb(failure.exception.__traceback__)
    assert [each.lineno for each in frames if each.filename.endswith("model.abs")] == [7]


def test_positions_are_right_after_letters_of_two_bytes(tmp_path: Path) -> None:
    text = """\
    module Test;
    class C { Unit m() { skip; } Unit go() { println("äöü"); Fut<Unit> f = this!m(); f.get; } }
    { C c = new C(); c!go(); }
    """
    result = explored(tmp_path, text, dependency="field")
    assert {failure.kind for failure in result.failures} == {"deadlock"}
    assert not [note for note in result.notes if "not code of actors" in note]


def test_the_program_is_named_by_its_main_block(tmp_path: Path) -> None:
    assert program(tmp_path, "module Test; { skip; }").name == "main"
