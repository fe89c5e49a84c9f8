from treadle.actors import Actor, program
from treadle.actors.abs.library import max_, min_
from treadle.actors.abs.support import no_match
from treadle.actors.abs.values import Just, Nothing

class CellImpl(Actor):

    def __init__(self):
        self.value = Nothing()
        self.next = None

    async def push(self, x):
        case1 = self.value
        if isinstance(case1, Nothing):
            self.value = Just(x)
        elif isinstance(case1, Just):
            kept = case1.fromJust
            if self.next is None:
                self.next = CellImpl()
            self.value = Just(min_(kept, x))
            self.next.push.send(max_(kept, x))
        else:
            no_match(case1)

class FeederImpl(Actor):

    async def feed(self, first, items):
        if items:
            x = items[0]
            rest = items[1:]
            first.push.send(x)
            self.feed.send(first, rest)
        elif not items:
            pass
        else:
            no_match(items)

@program
async def main():
    first = CellImpl()
    feeder = FeederImpl()
    feeder.feed.send(first, (3, 1, 2))
