from treadle.actors import Actor, program
from treadle.actors.abs.values import Just, Nothing

class StoreImpl(Actor):

    def __init__(self, start):
        self.start = start
        self.data = 7
        self.client = None
        self.connected = 1

    async def connect(self):
        self.connected = 3
        return self.connected

    async def register(self, w):
        self.connected = self.start
        await self.getData.send(w)
        if self.connected > 0:
            self.connected = self.connected - 1
            f = w.ping.send(5)
            n = f.get()
            if n == 5:
                self.client = w

    async def getData(self, w):
        return Just(self.data) if self.client == w else Nothing()

class WorkerImpl(Actor):

    def __init__(self):
        self.data = Nothing()

    async def work(self, db):
        f = db.getData.send(self)
        self.data = f.get()

    async def ping(self, n):
        return n

@program
async def main():
    db = StoreImpl(5)
    w = WorkerImpl()
    db.register.send(w)
    w.work.send(db)
