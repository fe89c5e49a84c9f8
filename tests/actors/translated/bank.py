from dataclasses import dataclass
from treadle.actors import Actor, pause, program
from treadle.actors.abs.library import fromJust, selected, toString
from treadle.actors.abs.containers import lookup, lookupUnsafe, map_of, put, values
from treadle.actors.abs.support import caught
from treadle.actors.abs.values import AbsException, Data
from treadle.analyses.known import pure

class Receipt(Data):
    pass

@dataclass(frozen=True)
class Paid(Receipt):
    amount: object
    rest: object

@dataclass(frozen=True)
class Refused(Receipt):
    why: object

class TooLittle(AbsException):
    pass

@pure
def amount(value):
    return selected(value, 'amount')

@pure
def rest(value):
    return selected(value, 'rest')

@pure
def why(value):
    return selected(value, 'why')

@pure
def opened(accounts, number, account):
    return put(accounts, number, account)

class AccountImpl(Actor):

    def __init__(self, money):
        self.money = money

    async def balance(self):
        return self.money

    async def change(self, amount_):
        if self.money + amount_ < 0:
            raise TooLittle(0 - self.money - amount_)
        self.money = self.money + amount_

class BankImpl(Actor):

    def __init__(self):
        self.accounts = map_of()
        for number in (1, 2):
            account = AccountImpl.local(10)
            self.accounts = opened(self.accounts, number, account)

    async def transfer(self, from_, to, amount_):
        one = lookupUnsafe(self.accounts, from_)
        other = fromJust(lookup(self.accounts, to))
        receipt = Refused('')
        try:
            await one.change.call(0 - amount_)
            await pause()
            await other.change.call(amount_)
            rest_ = await one.balance.call()
            receipt = Paid(amount_, rest_)
        except Exception as error1:
            caught2 = caught(error1)
            if isinstance(caught2, TooLittle):
                missing = caught2.args[0]
                receipt = Refused(f'{toString(missing)} missing')
            else:
                raise
        return receipt

    async def audit(self):
        sum = 0
        for account in values(self.accounts):
            money = await account.balance.call()
            sum = sum + money
        return sum

class Auditor(Actor):

    def __init__(self, bank):
        self.bank = bank

    async def run(self):
        sum = await self.bank.audit.send()
        assert sum == 20

@program
async def main():
    bank = BankImpl()
    bank.transfer.send(1, 2, 4)
    bank.transfer.send(2, 1, 50)
    Auditor(bank)
