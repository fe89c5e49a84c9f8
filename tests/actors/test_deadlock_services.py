"""Programs as people write them, with a deadlock and mended: the analysis, guided and unguided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import treadle
from abs_code import program as abs_program
from treadle.actors import Actor, Program, program, until

# A bank: transfers lock two accounts, in whatever order they come


class Account(Actor):
    def __init__(self, balance):
        self.balance = balance

    async def transfer(self, other, amount):
        self.balance -= amount
        other.deposit.send(amount).get()

    async def transfer_patiently(self, other, amount):
        self.balance -= amount
        await other.deposit.send(amount)

    async def deposit(self, amount):
        self.balance += amount


@program
def crossing_transfers():
    one, other = Account(10), Account(10)
    one.transfer.send(other, 3)
    other.transfer.send(one, 5)


@program
def patient_transfers():
    one, other = Account(10), Account(10)
    one.transfer_patiently.send(other, 3)
    other.transfer_patiently.send(one, 5)


@program
def transfers_in_one_direction():
    one, other = Account(10), Account(10)
    one.transfer.send(other, 3)
    one.transfer.send(other, 5)


# Services with callbacks: a shop asks its stock, which asks the shop for prices


class Stock(Actor):
    async def reserve(self, shop, item):
        return shop.price.send(item).get()


class Shop(Actor):
    def __init__(self, stock):
        self.stock, self.prices, self.sold = stock, {"tea": 3}, []

    async def price(self, item):
        return self.prices[item]

    async def order(self, item):
        self.sold.append(self.stock.reserve.send(self, item).get())

    async def order_patiently(self, item):
        self.sold.append(await self.stock.reserve.send(self, item))


@program
def calls_back():
    Shop(Stock()).order.send("tea")


@program
def calls_back_patiently():
    Shop(Stock()).order_patiently.send("tea")


# A ring of nodes that pass a token and wait for its return


class RingNode(Actor):
    def __init__(self):
        self.next, self.seen = None, 0

    async def connect(self, other):
        self.next = other

    async def token(self, hops):
        self.seen += 1
        if hops:
            self.next.token.send(hops - 1).get()

    async def token_without_waiting(self, hops):
        self.seen += 1
        if hops:
            self.next.token_without_waiting.send(hops - 1)


@program
async def waiting_ring():
    a, b, c = RingNode(), RingNode(), RingNode()
    for one, other in ((a, b), (b, c), (c, a)):
        await one.connect.send(other)
    a.token.send(3)


@program
async def passing_ring():
    a, b, c = RingNode(), RingNode(), RingNode()
    for one, other in ((a, b), (b, c), (c, a)):
        await one.connect.send(other)
    a.token_without_waiting.send(3)


# A supervisor that restarts workers, and a worker that reports to it


class Crash(Exception):
    pass


class SupervisedWorker(Actor):
    async def work(self, boss, fails):
        boss.started.send().get()
        if fails:
            raise Crash
        return 1


class Supervisor(Actor):
    def __init__(self):
        self.running = 0

    async def started(self):
        self.running += 1

    async def supervise(self, fails):
        for attempt in range(2):
            try:
                return SupervisedWorker().work.send(self, fails and attempt == 0).get()
            except Crash:
                continue
        return None

    async def supervise_patiently(self, fails):
        for attempt in range(2):
            try:
                return await SupervisedWorker().work.send(self, fails and attempt == 0)
            except Crash:
                continue
        return None


@program
def impatient_supervisor():
    Supervisor().supervise.send(True)


@program
def patient_supervisor():
    Supervisor().supervise_patiently.send(True)


# Readers and writers by conditions, and a writer that waits for a reader it keeps out


class Library(Actor):
    def __init__(self):
        self.readers, self.writing, self.log = 0, False, []

    async def begin_read(self):
        await until(lambda: not self.writing)
        self.readers += 1

    async def end_read(self):
        self.readers -= 1

    async def begin_write(self):
        await until(lambda: not self.writing and self.readers == 0)
        self.writing = True

    async def end_write(self):
        self.writing = False


class Reader(Actor):
    async def read(self, library):
        await library.begin_read.send()
        await library.end_read.send()


class Writer(Actor):
    async def write(self, library, reader):
        await library.begin_write.send()
        if reader is not None:
            await reader.read.send(library)
        await library.end_write.send()


@program
def readers_and_writers():
    library = Library()
    Reader().read.send(library)
    Writer().write.send(library, None)


@program
def a_writer_waits_for_its_reader():
    Writer().write.send(Library(), Reader())


DEADLOCKED: list[Any] = [crossing_transfers, calls_back, waiting_ring, impatient_supervisor]
FREE: list[Any] = [
    patient_transfers,
    transfers_in_one_direction,
    calls_back_patiently,
    passing_ring,
    patient_supervisor,
    readers_and_writers,
]


def explored(target: Program) -> treadle.Result:
    return treadle.explore(target, stop_on_failure=False)


@pytest.mark.parametrize("target", DEADLOCKED, ids=lambda target: target.name)
def test_a_deadlock_is_confirmed(target: Program) -> None:
    assert "deadlock" in explored(target).failure_kinds
    found = treadle.deadlocks(target)
    assert found.confirmed
    assert found.notes == []
    for cycle in found.confirmed:
        assert cycle.failures[0].kind == "deadlock"


@pytest.mark.parametrize("target", FREE, ids=lambda target: target.name)
def test_mended_programs_are_free(target: Program) -> None:
    assert "deadlock" not in explored(target).failure_kinds
    found = treadle.deadlocks(target)
    assert found.free
    assert found.confirmed == []


@pytest.mark.parametrize(
    "target",
    [patient_transfers, transfers_in_one_direction, calls_back_patiently, passing_ring],
    ids=lambda target: target.name,
)
def test_most_are_proved_for_all_inputs(target: Program) -> None:
    assert treadle.deadlocks(target).cycles == []


def test_a_program_that_is_stuck_has_its_conditions_listed() -> None:
    assert explored(a_writer_waits_for_its_reader).failure_kinds == {"stuck": 1}
    found = treadle.deadlocks(a_writer_waits_for_its_reader)
    methods = {one.method for one in found.conditions}
    assert {"Library.begin_read", "Library.begin_write"} == methods
    assert "deadlock" not in {cycle.kind for cycle in found.confirmed}


ABS = """
    module Services;
    interface Stock { Int reserve(Shop shop); }
    interface Shop { Int price(); Unit order(); }
    class StockImpl implements Stock {
      Int reserve(Shop shop) {
        Fut<Int> f = shop!price();
        Int p = f.get;
        return p;
      }
    }
    class ShopImpl(Stock stock) implements Shop {
      Int sold = 0;
      Int price() { return 3; }
      Unit order() {
        Fut<Int> f = stock!reserve(this);
        %s
        Int p = f.get;
        sold = sold + p;
      }
    }
    {
      Stock stock = new StockImpl();
      Shop shop = new ShopImpl(stock);
      shop!order();
    }
    """


def test_the_same_in_abs(tmp_path: Path) -> None:
    blocking = abs_program(tmp_path, ABS % "")
    found = treadle.deadlocks(blocking)
    assert [cycle.verdict for cycle in found.cycles].count("confirmed") >= 1
    assert {link.method for cycle in found.confirmed for link in cycle.chain} == {
        "ShopImpl.order",
        "StockImpl.reserve",
    }
    patient = abs_program(tmp_path, ABS % "await f?;")
    assert treadle.deadlocks(patient).cycles == []
    assert treadle.deadlocks(patient).free
