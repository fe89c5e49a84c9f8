from treadle.actors import Actor, program
from treadle.actors.abs.library import modulo
from treadle.actors.abs.containers import appendright, nth

class ForkImpl(Actor):

    async def grab(self, second):
        f = second.also.send()
        f.get()

    async def also(self):
        pass

class PhilosopherImpl(Actor):

    async def eat(self, one, two):
        f = one.grab.send(two)
        f.get()

@program
async def main():
    forks = ()
    n = 3
    i = 0
    while i < n:
        fork = ForkImpl()
        forks = appendright(forks, fork)
        i = i + 1
    for number, fork in enumerate(forks):
        p = PhilosopherImpl()
        p.eat.send(fork, nth(forks, modulo(number + 1, n)))
