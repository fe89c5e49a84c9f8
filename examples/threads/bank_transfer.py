"""Transfers between two bank accounts, each with a lock of its own.

A transfer takes the lock of the account that pays and then that of the account that is paid. Two
transfers in opposite directions can each hold the lock that the other waits for. The remedy is as
old as the problem: everybody takes the locks in the same order.
"""

import threading
from collections.abc import Callable


class Account:
    """An account with a lock that guards its balance."""

    def __init__(self, number: int, balance: int) -> None:
        self.number = number
        self.balance = balance
        self.lock = threading.Lock()


def transfer_payer_first(payer: Account, payee: Account, amount: int) -> None:
    """Move money; lock the payer, then the payee."""
    with payer.lock, payee.lock:
        payer.balance -= amount
        payee.balance += amount


def transfer_in_order(payer: Account, payee: Account, amount: int) -> None:
    """Move money; lock the account with the lower number first."""
    first, second = sorted((payer, payee), key=lambda account: account.number)
    with first.lock, second.lock:
        payer.balance -= amount
        payee.balance += amount


def opposite_order() -> None:
    """Two transfers can wait for each other for ever."""
    _there_and_back(transfer_payer_first)


def same_order() -> None:
    """With one order for all there is no cycle."""
    _there_and_back(transfer_in_order)


def _there_and_back(transfer: Callable[[Account, Account, int], None]) -> None:
    ann, bob = Account(1, 100), Account(2, 100)
    there = threading.Thread(target=transfer, args=(ann, bob, 30))
    back = threading.Thread(target=transfer, args=(bob, ann, 50))
    there.start()
    back.start()
    there.join()
    back.join()
    assert (ann.balance, bob.balance) == (120, 80)
