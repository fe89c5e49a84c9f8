from treadle.actors import Actor, program

class DishImpl(Actor):

    def __init__(self, worms):
        self.worms = worms

    async def left(self):
        return self.worms

    async def take(self):
        self.worms = self.worms - 1

    async def fill(self):
        self.worms = 10

class ParentImpl(Actor):

    def __init__(self, dish):
        self.dish = dish

    async def feed(self, bird):
        filled = self.dish.fill.send()
        filled.get()
        eaten = bird.eat.send(self)
        eaten.get()

class BirdImpl(Actor):

    def __init__(self, dish):
        self.dish = dish

    async def eat(self, parent):
        f = self.dish.left.send()
        worms = f.get()
        if worms > 0:
            self.dish.take.send()
        else:
            fed = parent.feed.send(self)
            fed.get()

@program
async def main():
    dish = DishImpl(1)
    parent = ParentImpl(dish)
    i = 0
    while i < 2:
        bird = BirdImpl(dish)
        bird.eat.send(parent)
        i = i + 1
