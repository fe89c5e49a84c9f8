"""Two bank accounts, tested with pytest: `pytest examples/test_bank.py`.

`test_transfer` finds that money can be lost; it is marked as an expected failure, so that the suite
passes. Remove the mark to see the report. `test_locked_transfer` proves that the lock is enough.
"""

import threading

import pytest

import treadle


class Bank:
    """Accounts with balances."""

    def __init__(self, *balances: int) -> None:
        self.balances = list(balances)
        self.lock = threading.Lock()

    def transfer(self, source: int, target: int, amount: int) -> None:
        """Move money from one account to another."""
        self.balances[source] -= amount
        self.balances[target] += amount

    def locked_transfer(self, source: int, target: int, amount: int) -> None:
        """Move money from one account to another, one transfer after the other."""
        with self.lock:
            self.transfer(source, target, amount)


@pytest.fixture
def bank() -> Bank:
    """Every execution gets a bank of its own."""
    return Bank(100, 100)


def run(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.xfail(reason="the transfers take no lock", strict=True)
@pytest.mark.treadle
def test_transfer(bank: Bank) -> None:
    run(
        threading.Thread(target=bank.transfer, args=(0, 1, 10)),
        threading.Thread(target=bank.transfer, args=(0, 1, 20)),
    )
    assert sum(bank.balances) == 200


@treadle.check()
def test_locked_transfer(bank: Bank) -> None:
    run(
        threading.Thread(target=bank.locked_transfer, args=(0, 1, 10)),
        threading.Thread(target=bank.locked_transfer, args=(0, 1, 20)),
    )
    assert bank.balances == [70, 130]
