"""A path is moved from s2 to s3 while packets use it.

Told all at once, s1 may forward to s3 before that knows the way. With a barrier in between no
packet is lost, until the old rule is deleted: a barrier waits for messages of the controller, not
for packets that are on their way to s2.

    treadle run examples/sdn/path_update.py::test_at_once
    treadle run examples/sdn/path_update.py::test_make_before_break
    treadle run examples/sdn/path_update.py::test_deletes_the_old_rule
"""

from collections.abc import Iterator
from typing import Any

import treadle.networks as sdn

TO_H2 = sdn.match(dst="h2")

net = sdn.Network().switches("s1 s2 s3 s4").hosts("h1 h2")
net.links("h1-s1", "s1-s2", "s1-s3", "s2-s4", "s3-s4", "h2-s4")
net.install("s1", TO_H2, sdn.output(2))
net.install("s2", TO_H2, sdn.output(2))
net.install("s4", TO_H2, sdn.output(3))


class AtOnce(sdn.Controller):
    """Tells both switches at once."""

    def start(self) -> Any:
        """Move the path."""
        self.net.switch("s1").install(TO_H2, sdn.output(3))
        self.net.switch("s3").install(TO_H2, sdn.output(2))


class MakeBeforeBreak(sdn.Controller):
    """Lets the new path be there before it is used."""

    def start(self) -> Iterator[Any]:
        """Move the path."""
        self.net.switch("s3").install(TO_H2, sdn.output(2))
        yield self.net.switch("s3").barrier()
        self.net.switch("s1").install(TO_H2, sdn.output(3))


class DeletesTheOldRule(MakeBeforeBreak):
    """Cleans up as soon as s1 uses the new path."""

    def start(self) -> Iterator[Any]:
        """Move the path, and delete the old rule."""
        yield from super().start()
        yield self.net.switch("s1").barrier()
        self.net.switch("s2").delete(TO_H2)


def packets(net: sdn.Network) -> None:
    net.send("h1", name="p", dst="h2")


arrives = [sdn.delivered("p", "h2")]


@sdn.check(net, AtOnce, properties=arrives)
def test_at_once(net: sdn.Network) -> None:
    packets(net)


@sdn.check(net, MakeBeforeBreak, properties=arrives)
def test_make_before_break(net: sdn.Network) -> None:
    packets(net)


@sdn.check(net, DeletesTheOldRule, properties=arrives)
def test_deletes_the_old_rule(net: sdn.Network) -> None:
    packets(net)
