from treadle.actors import Actor, program
from treadle.actors.abs.library import divide, modulo
from treadle.actors.abs.containers import length
from treadle.analyses.known import pure

@pure
def term(k):
    return divide(4 if modulo(k, 2) == 0 else -4, 2 * k + 1)

class MasterImpl(Actor):

    def __init__(self, workers):
        self.workers = workers
        self.answers = 0
        self.sum = 0

    async def boot(self):
        for k, w in enumerate(self.workers):
            w.part.send(self, k)

    async def add(self, x):
        self.answers = self.answers + 1
        self.sum = self.sum + x
        if self.answers == length(self.workers):
            assert self.sum == divide(52, 15)
            for w in self.workers:
                w.stop.send()

class WorkerImpl(Actor):

    async def part(self, master, number):
        master.add.send(term(number))

    async def stop(self):
        pass

@program
async def main():
    a = WorkerImpl()
    b = WorkerImpl()
    c = WorkerImpl()
    master = MasterImpl((a, b, c))
    master.boot.send()
