from treadle.actors import Actor, program

class DBImpl(Actor):

    def __init__(self, data):
        self.data = data
        self.client = None

    async def register(self, w):
        f = w.ping.send(5)
        answer = f.get()
        if answer == 5:
            self.client = w

    async def getData(self, w):
        result = -1
        if self.client == w:
            result = self.data
        return result

class WorkerImpl(Actor):

    def __init__(self):
        self.data = 0

    async def work(self, db):
        f = db.getData.send(self)
        self.data = f.get()

    async def ping(self, n):
        return n

@program
async def main():
    db = DBImpl(7)
    w = WorkerImpl()
    db.register.send(w)
    w.work.send(db)
