from treadle.actors import Actor, program
from treadle.actors.abs.containers import length, map_of, put, values

class RegistryImpl(Actor):

    def __init__(self):
        self.others = ()
        self.workers = map_of()

    async def other(self, i):
        self.others = (i, *self.others)

    async def worker(self, i):
        self.workers = put(self.workers, i, length(values(self.workers)))

class ClerkImpl(Actor):

    async def go(self, registry, i):
        registry.worker.send(i)

@program
async def main():
    registry = RegistryImpl()
    registry.other.send(0)
    for i in (0, 1, 2):
        clerk = ClerkImpl()
        clerk.go.send(registry, i)
