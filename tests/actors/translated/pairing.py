from treadle.actors import Actor, program

class NodeImpl(Actor):

    def __init__(self):
        self.pair = None

    async def make(self, factory):
        f = factory.pairs.send(self)
        f.get()

    async def receive(self, other):
        self.pair = other

class FactoryImpl(Actor):

    def __init__(self):
        self.first = None

    async def pairs(self, node):
        if self.first is None:
            self.first = node
        else:
            self.first.receive.send(node)
            f = node.receive.send(self.first)
            f.get()

@program
async def main():
    factory = FactoryImpl()
    a = NodeImpl()
    a.make.send(factory)
    b = NodeImpl()
    b.make.send(factory)
    c = NodeImpl()
    c.make.send(factory)
