from treadle.actors import Actor, program

class BarberImpl(Actor):

    async def sleeps(self, client, chair):
        f = chair.taken.send(client)
        f.get()

    async def cuts(self):
        pass

class ChairImpl(Actor):

    async def taken(self, client):
        await client.sits.send()

    async def isClean(self):
        pass

class ClientImpl(Actor):

    async def wakeup(self, barber, chair):
        cut = barber.cuts.send()
        chair.isClean.send()
        cut.get()

    async def sits(self):
        pass

@program
async def main():
    barber = BarberImpl()
    chair = ChairImpl()
    client = ClientImpl()
    client.wakeup.send(barber, chair)
    barber.sleeps.send(client, chair)
