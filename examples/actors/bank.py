"""A bank with local accounts, and an audit that may come too early: the twin of `bank.abs`."""

from typing import Any

from treadle.actors import Actor, pause, program


class TooLittle(Exception):
    """There is not enough money."""


class Account(Actor):
    """Belongs to the bank, and shares its lock."""

    def __init__(self, money: int) -> None:
        self.money = money

    def balance(self) -> int:
        """Return the money."""
        return self.money

    def change(self, amount: int) -> None:
        """Put money in, or take it out."""
        if self.money + amount < 0:
            raise TooLittle(-self.money - amount)
        self.money += amount


class Bank(Actor):
    """Has two accounts."""

    def __init__(self) -> None:
        self.accounts = (Account.local(10), Account.local(10))

    async def transfer(self, one: int, other: int, amount: int) -> str:
        """Move money, in two steps: a mistake."""
        try:
            self.accounts[one - 1].change(-amount)
            await pause()
            self.accounts[other - 1].change(amount)
            return f"paid, {self.accounts[one - 1].balance()} left"
        except TooLittle as error:
            return f"{error} missing"

    async def audit(self) -> int:
        """Return all the money."""
        return sum(account.balance() for account in self.accounts)


class Auditor(Actor):
    """Audits once."""

    def __init__(self, bank: Any) -> None:
        self.bank = bank

    async def run(self) -> None:
        """Check that no money is missing."""
        total = await self.bank.audit.send()
        assert total == 20


@program
def main() -> None:
    bank: Any = Bank()
    bank.transfer.send(1, 2, 4)
    bank.transfer.send(2, 1, 50)
    Auditor(bank)
