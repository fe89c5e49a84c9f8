from treadle.actors import Actor, program, until
from treadle.actors.abs.containers import appendright, head, length, tail

class BufferImpl(Actor):

    def __init__(self, size_):
        self.size = size_
        self.items = ()

    async def put(self, x):
        await until(lambda: length(self.items) < self.size)
        self.items = appendright(self.items, x)

    async def take(self):
        await until(lambda: self.items != ())
        x = head(self.items)
        self.items = tail(self.items)
        return x

@program
async def main():
    b = BufferImpl(1)
    b.put.send(0)
    b.put.send(1)
    b.take.send()
    b.take.send()
