"""The translation of ABS to Python, as it is printed and where its nodes come from."""

# ruff: noqa: E501 - what is printed is not wrapped

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from abs_code import program
from treadle.actors import Actor, pause, until
from treadle.actors.abs.errors import Source
from treadle.actors.abs.loading import read
from treadle.actors.abs.translate import Translation, translate
from treadle.analyses.ir import Await, Call, Get, Pause, Until
from treadle.analyses.known import Known, function_of, methods_of
from treadle.analyses.lower import Lowering

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "actors").glob("*.abs"))

ABS = r"""
module Golden;
export *;
import * from ABS.StdLib;

type Names = Map<Int, String>;
data Message = Ping(Int from, Int) | Pong | Text(String content);
exception Lost(Int number);

def Int total(List<Int> xs) = case xs { Nil => 0; Cons(h, t) => h + total(t); };
def Maybe<V> find<K, V>(K key, List<Pair<K, V>> xs) =
  case xs {
    Nil => Nothing;
    Cons(Pair(key, v), _) => Just(v);
    Cons(_, rest) => find(key, rest);
  };
def List<B> each<A, B>(f)(List<A> xs) =
  case xs { Nil => Nil; Cons(h, t) => Cons(f(h), each(f)(t)); };
def Rat share(Int n) = let (Int k) = n * n in if k == 0 then 1 else 1 / k;
def String kind(Message m) =
  case reversed(m) { Pong => "pong"; Ping(_, 3) => "three"; Text(c) => `text $c$`; _ => "other"; };
def Message reversed(Message m) = m;

interface Cell { Int get_it(); Unit set(Int v); }
interface Far extends Cell { Unit meet(Cell other); }

class CellImpl(Int value, Bool is) implements Far {
  Names names = map[Pair(1, "one")];
  Int set = 0;
  Cell part;
  Fut<Int> waiting;
  { names = put(names, 2, "two"); value = this.doubled(value); }

  Int doubled(Int x) { return 2 * x; }
  Int get_it() { return value; }
  Unit set(Int v) { this.value = v; set = v % 3; }

  Unit run() {
    part = new local CellImpl(1, False);
    Int mine = part.get_it();
    suspend;
    await value > 3 && !is;
    assert mine >= 0;
  }

  Unit meet(Cell other) {
    Fut<Int> f;
    f = other!get_it();
    waiting = f;
    await f? & waiting? & set != 1;
    Int v = f.get;
    Int w = await other!get_it();
    other!set(v - w);
    Int x = other.get_it();
    this!set(x);
    Fut<Unit> mine = destiny;
    foreach (n, i in list[1, 2]) {
      if (n == i) skip; else { value = -n; }
    }
    while (value < 0) value = value + 1;
    switch (lookup(names, v)) {
      Just(name) => println(name);
      Nothing => skip;
    }
    try {
      if (other == null) throw Lost(v);
      v = head(Nil);
    } catch {
      Lost(5) => v = 5;
      Lost(n) => v = n;
      PatternMatchFailException => skip;
    } finally println("done");
    println(toString(each((Int y) => y + 1)(list[v])));
    println(toString(filter((Int y) => y > 1)(list[v])));
    if (other implements Far) { Far far = other as Far; far!meet(this); }
  }
}

{
  Far a = new CellImpl(total(list[1, 2]), True);
  Cell b = new CellImpl(truncate(share(2)), find(1, list[Pair(1, True)]) == Just(True));
  a!meet(b);
}
"""

PYTHON = r"""
from dataclasses import dataclass
from treadle.actors import Actor, pause, program, until
from treadle.actors.abs.library import divide, filter_, modulo, println, selected, toString, truncate
from treadle.actors.abs.containers import head, lookup, map_of, put
from treadle.actors.abs.support import caught, destiny, finished, implements, no_match, viewed_as
from treadle.actors.abs.values import AbsException, Data, Just, Nothing, Pair, PatternMatchFailException
from treadle.analyses.known import pure

class Message(Data):
    pass

@dataclass(frozen=True)
class Ping(Message):
    from_: object
    part2: object

@dataclass(frozen=True)
class Pong(Message):
    pass

@dataclass(frozen=True)
class Text(Message):
    content: object

class Lost(AbsException):
    pass

@pure
def from_(value):
    return selected(value, 'from_')

@pure
def content(value):
    return selected(value, 'content')

@pure
def total(xs):
    return 0 if not xs else xs[0] + total(xs[1:]) if xs else no_match(xs)

@pure
def find(key, xs):
    return Nothing() if not xs else Just(xs[0].snd) if xs and isinstance(xs[0], Pair) and (xs[0].fst == key) else find(key, xs[1:]) if xs else no_match(xs)

@pure
def each(f, xs):
    return () if not xs else (f(xs[0]), *each(f, xs[1:])) if xs else no_match(xs)

@pure
def share(n):
    return ((k := (n * n)), 1 if k == 0 else divide(1, k))[-1]

@pure
def kind(m):
    return ((case1 := reversed(m)), 'pong' if isinstance(case1, Pong) else 'three' if isinstance(case1, Ping) and case1.part2 == 3 else f'text {toString(case1.content)}' if isinstance(case1, Text) else 'other')[-1]

@pure
def reversed(m):
    return m

class CellImpl(Actor):
    _interfaces = ('Far', 'Cell')

    def __init__(self, value, is_):
        self.value = value
        self.is_ = is_
        self.names = map_of(Pair(1, 'one'))
        self.set_ = 0
        self.part = None
        self.waiting = None
        self.names = put(self.names, 2, 'two')
        self.value = finished(self.doubled(self.value))

    async def doubled(self, x):
        return 2 * x

    async def get_it(self):
        return self.value

    async def set(self, v):
        self.value = v
        self.set_ = modulo(v, 3)

    async def run(self):
        self.part = CellImpl.local(1, False)
        mine = await self.part.get_it.call()
        await pause()
        await until(lambda: self.value > 3 and (not self.is_))
        assert mine >= 0

    async def meet(self, other):
        f = None
        f = other.get_it.send()
        self.waiting = f
        await f.done()
        await self.waiting.done()
        await until(lambda: self.set_ != 1)
        v = f.get()
        w = await other.get_it.send()
        other.set.send(v - w)
        x = await other.get_it.call()
        self.set.send(x)
        mine = destiny()
        for i, n in enumerate((1, 2)):
            if n == i:
                pass
            else:
                self.value = -n
        while self.value < 0:
            self.value = self.value + 1
        case1 = lookup(self.names, v)
        if isinstance(case1, Just):
            name = case1.fromJust
            println(name)
        elif isinstance(case1, Nothing):
            pass
        else:
            no_match(case1)
        try:
            if other is None:
                raise Lost(v)
            v = head(())
        except Exception as error2:
            caught3 = caught(error2)
            if isinstance(caught3, Lost) and caught3.args[0] == 5:
                v = 5
            elif isinstance(caught3, Lost):
                n = caught3.args[0]
                v = n
            elif isinstance(caught3, PatternMatchFailException):
                pass
            else:
                raise
        finally:
            println('done')
        println(toString(each(lambda y: y + 1, (v,))))
        println(toString(filter_(lambda y: y > 1, (v,))))
        if implements(other, 'Far'):
            far = viewed_as(other, 'Far')
            far.meet.send(self)

@program
async def main():
    a = CellImpl(total((1, 2)), True)
    b = CellImpl(truncate(share(2)), find(1, (Pair(1, True),)) == Just(True))
    a.meet.send(b)
"""


def translated(text: str) -> Translation:
    return translate(Source(Path("golden.abs"), text))


def test_the_translation() -> None:
    assert f"\n{translated(ABS).python_text()}" == PYTHON


def test_every_node_has_a_place_in_the_file() -> None:
    lines = ABS.splitlines()
    for node in ast.walk(translated(ABS).tree):
        if isinstance(node, ast.expr | ast.stmt):
            assert 1 <= node.lineno <= (node.end_lineno or 0) <= len(lines)
            assert 0 <= node.col_offset <= len(lines[node.lineno - 1])
            assert (node.end_col_offset or 0) <= len(lines[(node.end_lineno or 1) - 1])


WAITS = {Await: ("await", "?", "!"), Get: (".get",), Until: (), Pause: ("suspend",)}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_wait_is_found_by_its_span(path: Path, tmp_path: Path) -> None:
    """Its span is the text of the wait, and no other wait of the method has the same."""
    text = path.read_text()
    main = program(tmp_path, text).main
    classes = [each for each in vars_of(main) if each is not Actor]
    methods = frozenset[str]().union(*(methods_of(each, Actor) for each in classes))
    lowering = Lowering(Known(Actor, until, pause), methods)
    for cls in classes:
        for name in methods_of(cls, Actor):
            function = function_of(cls, name)
            assert function is not None
            method = lowering.method(function)
            assert list(method.havocs()) == []
            waits = [each for each in method.instructions if isinstance(each, (*WAITS, Call))]
            assert len({each.span for each in waits}) == len(waits)
            for wait in waits:
                words = WAITS.get(type(wait), ("(",))
                assert any(word in slice_of(text, wait.span) for word in words) or not words


def vars_of(main: object) -> list[type]:
    names = main.__globals__.values()  # type: ignore[attr-defined]
    return [each for each in names if isinstance(each, type) and issubclass(each, Actor)]


def slice_of(text: str, span: tuple[int, int, int, int]) -> str:
    line, column, end_line, end_column = span
    lines = text.splitlines()[line - 1 : end_line]
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    return "\n".join(lines)


def test_a_name_of_two_modules_is_two_names(tmp_path: Path) -> None:
    text = """
    module One;
    data D = A(Int n);
    def Int f() = 1;
    class C { Int m() { return f(); } }
    module Two;
    data D = A(Int n, Int k);
    def Int f() = 2;
    class C { Int m() { return f(); } }
    { C c = new C(); One.C d = new One.C(); D x = A(1, 2); One.D y = One.A(1); }
    """
    path = tmp_path / "two.abs"
    path.write_text(text)
    python = read(path).python_text()
    assert "class C(Actor):" in python
    assert "class C_Two(Actor):" in python
    assert "    c = C_Two()\n    d = C()\n    x = A_Two(1, 2)\n    y = A(1)\n" in python
    assert "return f_Two()" in python
