"""Orders of messages: which new tasks can start before which.

- `any`: in any order, as in ABS; sound for every transport;
- `sender`: messages from one group to another are taken up in the order sent (Ray, Akka, Erlang);
- `fifo`: all messages to one group in the order of arrival (pykka).

A *channel* is a queue of tasks. A task can start when the one before it in its channel has started;
the location *started* of that one is what it needs. Two sends into one channel are dependent. What
a step sends may depend on what it reads, so a step of a method that was seen to send is *open*.
"""

from __future__ import annotations

from treadle.actors.task import Task
from treadle.core.events import Codes, Mode

SENDING = "sending "
"""What knowledge begins with about methods that send into channels."""


class Ordering:
    """Messages of a channel are taken up in the order sent."""

    def __init__(self, *, by_sender: bool) -> None:
        self._by_sender = by_sender

    def sent(self, me: Task, task: Task) -> None:
        """Put a new task into its channel."""
        group = task.group.names
        sender = me.group.names.name if self._by_sender else ""
        last_sent = task.run.last_sent
        key = (sender, group.name)
        task.predecessor = last_sent.get(key)
        last_sent[key] = task
        program = task.run.program
        if self._by_sender and program.level.orders_groups:
            return  # all steps of the sender's group are in order anyway
        task.run.log.append(group.channel(sender))
        if me.key not in program.sending:
            program.learn(f"{SENDING}{me.key}")

    def needs(self, task: Task) -> Codes:
        """Return what has to be there before a task can start."""
        before = task.predecessor
        return () if before is None else (before.names.started(Mode.NEED),)

    def begins(self, task: Task) -> Codes:
        """Return what the first step of a task accesses."""
        return (*self.needs(task), task.names.started(Mode.WRITE))


ORDERINGS: dict[str, Ordering | None] = {
    "any": None,
    "sender": Ordering(by_sender=True),
    "fifo": Ordering(by_sender=False),
}
