"""The programs whose counts are known, written in ABS: both levels, and every interleaving."""

from __future__ import annotations

from pathlib import Path

import pytest

from abs_code import explored

BARBER = """
module Barber;
class Barber {
  Unit sleeps(Client client, Chair chair) { Fut<Unit> f = chair!taken(client); f.get; }
  Unit cuts() { skip; }
}
class Chair {
  Unit taken(Client client) { await client!sits(); }
  Unit isClean() { skip; }
}
class Client {
  Unit wakeup(Barber barber, Chair chair) {
    Fut<Unit> cut = barber!cuts();
    chair!isClean();
    cut.get;
  }
  Unit sits() { skip; }
}
{
  Barber ba = new Barber();
  Chair ch = new Chair();
  Int i = 0;
  while (i < $n) {
    Client cl = new Client();
    cl!wakeup(ba, ch);
    ba!sleeps(cl, ch);
    i = i + 1;
  }
}
"""

BIRDS = """
module Birds;
class Dish(Int worms) {
  Int left() { return worms; }
  Unit take() { worms = worms - 1; }
  Unit fill() { worms = 10; }
}
class Parent(Dish dish) {
  Unit feed(Bird bird) {
    Fut<Unit> f = dish!fill();
    f.get;
    f = bird!eat(this);
    f.get;
  }
}
class Bird(Dish dish) {
  Unit eat(Parent parent) {
    Fut<Int> l = dish!left();
    Int worms = l.get;
    if (worms > 0) dish!take();
    else {
      Fut<Unit> f = parent!feed(this);
      f.get;
    }
  }
}
{
  Dish dish = new Dish($k);
  Parent parent = new Parent(dish);
  Int i = 0;
  while (i < $n) {
    Bird bird = new Bird(dish);
    bird!eat(parent);
    i = i + 1;
  }
}
"""

PAIRING = """
module Pairing;
interface Factories { Unit pairs(Node node); }
class Node {
  Node pair;
  Unit make(Factories factory) { Fut<Unit> f = factory!pairs(this); f.get; }
  Unit receive(Node other) { pair = other; }
}
class Factory implements Factories {
  Node first;
  Unit pairs(Node node) {
    if (first == null) first = node;
    else {
      first!receive(node);
      Fut<Unit> f = node!receive(first);
      f.get;
    }
  }
}
class FreeFactory implements Factories {
  Node first;
  Unit pairs(Node node) {
    if (first == null) first = node;
    else {
      Fut<Unit> f = first!receive(node);
      f.get;
      node!receive(first);
    }
  }
}
{
  Factories f = new $k();
  foreach (i in list[$n]) {
    Node node = new Node();
    node!make(f);
  }
}
"""

PHILOSOPHERS = """
module Philosophers;
class Fork {
  Unit grab(Fork second) { Fut<Unit> f = second!also(); f.get; }
  Unit also() { skip; }
}
class Philosopher {
  Unit eat(Fork one, Fork two) { Fut<Unit> f = one!grab(two); f.get; }
}
def A at<A>(List<A> xs, Int i) = nth(xs, i % length(xs));
{
  List<Fork> forks = Nil;
  while (length(forks) < $n) {
    Fork fork = new Fork();
    forks = Cons(fork, forks);
  }
  foreach (fork, i in forks) {
    Philosopher p = new Philosopher();
    if ($k && i == $n - 1) p!eat(at(forks, i + 1), fork);
    else p!eat(fork, at(forks, i + 1));
  }
}
"""

DATABASE = """
module Database;
class Store(Int start) {
  Int data = 7; Worker client; Int connected = 1;
  Int connect() { connected = 3; return connected; }
  Unit register(Worker w) {
    connected = start;
    await this!getData(w);
    if (connected > 0) {
      connected = connected - 1;
      Fut<Int> f = w!ping(5);
      Int n = f.get;
      if (n == 5) client = w;
    }
  }
  Int getData(Worker w) { return when client == w then data else 0; }
}
class Worker {
  Int data = 0;
  Unit work(Store db) { Fut<Int> f = db!getData(this); data = f.get; }
  Int ping(Int n) { return n; }
}
{ Store db = new Store($n); Worker w = new Worker(); db!register(w); w!work(db); }
"""

PI = """
module Pi;
class Master(List<Worker> workers) {
  Int answers = 0; Int sum = 0;
  Unit boot() { foreach (w in workers) { w!part(this); } }
  Unit add(Int x) {
    answers = answers + 1;
    sum = sum + x;
    if (answers == length(workers)) { foreach (w in workers) { w!stop(); } }
  }
}
class Worker {
  Unit part(Master master) { master!add(1); }
  Unit stop() { skip; }
}
{
  List<Worker> workers = Nil;
  while (length(workers) < $n) { Worker w = new Worker(); workers = Cons(w, workers); }
  Master m = new Master(workers);
  m!boot();
}
"""

PIPESORT = """
module PipeSort;
class Cell {
  Bool isFirst = True; Int value = 0; Cell next = null;
  Unit push(Int x) {
    if (isFirst) { value = x; isFirst = False; }
    else {
      if (next == null) next = new Cell();
      if (x < value) { next!push(value); value = x; } else next!push(x);
    }
  }
}
class Feeder(Cell first) {
  Unit feed(List<Int> items) {
    if (isEmpty(items) == False) { first!push(head(items)); this!feed(tail(items)); }
  }
}
{ Cell first = new Cell(); Feeder feeder = new Feeder(first); feeder!feed(list[$n]); }
"""

REGISTRY = """
module Registry;
class Registry {
  List<Int> others = Nil; List<Int> workers = Nil;
  Unit other(Int i) { others = appendright(others, i); }
  Unit worker(Int i) { workers = appendright(workers, i); }
}
class Clerk { Unit go(Registry registry, Int i) { registry!worker(i); } }
{
  Registry r = new Registry();
  r!other(0);
  Int i = 0;
  while (i < $n) { Clerk c = new Clerk(); c!go(r, i); i = i + 1; }
}
"""

BUFFER = """
module Buffer;
class Buffer(Int size) {
  List<Int> items = Nil;
  Unit put(Int x) { await length(items) < size; items = appendright(items, x); }
  Int take() { await items != Nil; Int x = head(items); items = tail(items); return x; }
}
{
  Buffer b = new Buffer($n);
  Int i = 0;
  while (i < fst($k)) { b!put(i); i = i + 1; }
  while (i < fst($k) + snd($k)) { b!take(); i = i + 1; }
}
"""

SELF = """
module Self;
class Self { Unit b() { Fut<Int> f = this!c(); f.get; } Int c() { return 0; } }
{ Self s = new Self(); s!b(); }
"""

LATE = """
module Late;
class Late {
  Int n = 0;
  Unit go(Other o) {
    Fut<Unit> f = o!x();
    Fut<Unit> g = o!y();
    g.get;
    n = 1;
    await f?;
    n = n + 1;
  }
  Unit note() { n = n * 10; }
}
class Other { Unit x() { skip; } Unit y() { skip; } }
{ Late a = new Late(); Other o = new Other(); a!go(o); a!note(); }
"""

GATE = """
module Gate;
class Gate {
  Bool open = False; Int n = 0;
  Unit enter() { await open; n = n + 1; }
  Unit lift() { open = True; }
  Unit shut() { open = False; }
}
{ Gate g = new Gate(); g!enter(); g!lift(); g!shut(); }
"""

CELL = """
module Cell;
class Cell { Int v = 0; Unit set(Int i) { v = i; } }
{ Cell c = new Cell(); foreach (i in list[1, 2, 3]) { c!set(i); } }
"""

COUNTS = [  # text, n, k; executions and failing ones at actor level, at field level
    (BARBER, "1", "", (7, 2), (3, 1)),
    (BARBER, "2", "", (628, 124), (28, 10)),
    (BIRDS, "2", "1", (6, 2), (4, 2)),
    (BIRDS, "3", "2", (90, 18), (36, 12)),
    (BIRDS, "3", "1", (90, 54), (36, 30)),
    (PAIRING, "1, 2", "Factory", (2, 2), (2, 2)),
    (PAIRING, "1, 2, 3", "Factory", (6, 6), (6, 6)),
    (PAIRING, "1, 2, 3, 4", "Factory", (12, 12), (12, 12)),
    (PAIRING, "1, 2", "FreeFactory", (2, 0), (2, 0)),
    (PAIRING, "1, 2, 3", "FreeFactory", (6, 0), (6, 0)),
    (PAIRING, "1, 2, 3, 4", "FreeFactory", (24, 0), (24, 0)),
    (PHILOSOPHERS, "2", "False", (3, 1), (3, 1)),
    (PHILOSOPHERS, "3", "False", (7, 1), (7, 1)),
    (PHILOSOPHERS, "4", "False", (15, 1), (15, 1)),
    (PHILOSOPHERS, "3", "True", (6, 0), (4, 0)),
    (PHILOSOPHERS, "4", "True", (14, 0), None),
    (DATABASE, "5", "", (5, 1), (3, 1)),
    (DATABASE, "0", "", (4, 0), (2, 0)),
    (PI, "3", "", (6, 0), (6, 0)),
    (PI, "5", "", (120, 0), (120, 0)),
    (PIPESORT, "7, 11, 5", "", (12, 0), (12, 0)),
    (PIPESORT, "4, 3, 2, 1", "", (288, 0), (288, 0)),
    (REGISTRY, "2", "", (6, 0), (2, 0)),
    (REGISTRY, "3", "", (24, 0), (6, 0)),
    (REGISTRY, "4", "", (120, 0), (24, 0)),
    (BUFFER, "1", "Pair(2, 2)", (56, 0), (56, 0)),
    (BUFFER, "1", "Pair(2, 1)", (8, 0), (8, 0)),
    (BUFFER, "2", "Pair(3, 2)", (408, 0), (408, 0)),
    (SELF, "", "", (1, 1), (1, 1)),
    (LATE, "", "", (7, 0), (5, 0)),
    (GATE, "", "", (7, 2), (7, 2)),
    (CELL, "", "", (6, 0), (6, 0)),
]
IDS = [f"{text.split()[1]} {n} {k}" for text, n, k, _, _ in COUNTS]


def filled(text: str, n: str, k: str) -> str:
    return text.replace("$n", n).replace("$k", k)


@pytest.mark.parametrize(("text", "n", "k", "actor", "field"), COUNTS, ids=IDS)
def test_classes(
    tmp_path: Path, text: str, n: str, k: str, actor: tuple[int, int], field: tuple[int, int] | None
) -> None:
    for level, expected in (("actor", actor), ("field", field)):
        if expected is not None:
            result = explored(tmp_path, filled(text, n, k), dependency=level)
            assert (result.executions, result.failing) == expected, level
            assert (result.blocked, result.complete) == (0, True)


ALL = [  # interleavings, those that wait for ever, states
    (BARBER, "1", "", (42, 6, 181)),
    (BIRDS, "2", "1", (70, 10, 271)),
    (PAIRING, "1, 2", "Factory", (14, 14, 57)),
    (PAIRING, "1, 2, 3", "Factory", (294, 294, 898)),
    (PAIRING, "1, 2", "FreeFactory", (14, 0, 99)),
    (PHILOSOPHERS, "2", "False", (90, 6, 363)),
    (DATABASE, "5", "", (22, 4, 102)),
    (DATABASE, "0", "", (20, 0, 69)),
    (PI, "3", "", (540, 0, 1622)),
    (PIPESORT, "7, 11, 5", "", (291, 0, 1083)),
    (SELF, "", "", (1, 1, 2)),
    (LATE, "", "", (8, 0, 30)),
    (GATE, "", "", (7, 2, 20)),
]


@pytest.mark.parametrize(("text", "n", "k", "expected"), ALL)
def test_every_interleaving(
    tmp_path: Path, text: str, n: str, k: str, expected: tuple[int, int, int]
) -> None:
    result = explored(tmp_path, filled(text, n, k), "exhaustive")
    assert (result.executions, result.failing, result.states) == expected


def test_messages_of_one_sender_in_order(tmp_path: Path) -> None:
    assert explored(tmp_path, CELL, order="sender").executions == 1
    assert explored(tmp_path, LATE, order="sender").executions == 1
