"""A barber, a chair and a client, each of which waits for the next: the twin of `barber.abs`."""

from typing import Any

from treadle.actors import Actor, program


class Barber(Actor):
    """Sleeps until the chair is taken."""

    async def sleeps(self, client: Any, chair: Any) -> None:
        """Wait, and let nobody else have the barber."""
        chair.taken.send(client).get()

    async def cuts(self) -> None:
        """Cut hair."""


class Chair(Actor):
    """Is taken by clients."""

    async def taken(self, client: Any) -> None:
        """Wait until the client sits."""
        await client.sits.send()

    async def is_clean(self) -> None:
        """Say so."""


class Client(Actor):
    """Wants a haircut."""

    async def wakeup(self, barber: Any, chair: Any) -> None:
        """Ask for a haircut and wait for its end."""
        cut = barber.cuts.send()
        chair.is_clean.send()
        cut.get()

    async def sits(self) -> None:
        """Sit down."""


@program
def main() -> None:
    barber: Any = Barber()
    chair: Any = Chair()
    client: Any = Client()
    client.wakeup.send(barber, chair)
    barber.sleeps.send(client, chair)
