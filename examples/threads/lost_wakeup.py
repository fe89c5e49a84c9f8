"""A lost wakeup: notified before it waits, a thread sleeps for ever.

`Condition.notify` wakes who waits at that moment, and is forgotten. So whoever waits must look at
what it waits for while it holds the lock, and look again when it is woken. One variant looks before
it takes the lock; another waits with `if` where `while` belongs, and goes on although another
consumer was faster.
"""

import threading
from collections import deque
from collections.abc import Callable


class Mailbox:
    """Letters, and a condition that is notified when one comes."""

    def __init__(self) -> None:
        self.letters: deque[str] = deque()
        self.changed = threading.Condition()

    def put(self, letter: str) -> None:
        """Deliver a letter."""
        with self.changed:
            self.letters.append(letter)
            self.changed.notify()

    def take_looking_outside(self) -> str:
        """The mistake: between the look and the wait the letter may come."""
        is_empty = not self.letters
        with self.changed:
            if is_empty:
                self.changed.wait()
            return self.letters.popleft()

    def take_looking_once(self) -> str:
        """The mistake: when it wakes up, another one may have taken the letter."""
        with self.changed:
            if not self.letters:
                self.changed.wait()
            return self.letters.popleft()

    def take(self) -> str:
        """Wait for a letter, and look again."""
        with self.changed:
            while not self.letters:
                self.changed.wait()
            return self.letters.popleft()


def looked_outside_the_lock() -> None:
    """The consumer can wait for a letter that is there."""
    _deliver(Mailbox.take_looking_outside, consumers=1)


def looked_once() -> None:
    """A consumer can find the mailbox empty."""
    _deliver(Mailbox.take_looking_once, consumers=2)


def looked_again() -> None:
    """Every letter finds its consumer."""
    _deliver(Mailbox.take, consumers=2)


def _deliver(take: Callable[[Mailbox], str], consumers: int) -> None:
    mailbox = Mailbox()
    threads = [threading.Thread(target=take, args=(mailbox,)) for _ in range(consumers)]
    for thread in threads:
        thread.start()
    for number in range(consumers):
        mailbox.put(f"letter {number}")
    for thread in threads:
        thread.join()
