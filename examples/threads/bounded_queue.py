"""A queue with room for one item, between two producers and a consumer.

What each producer puts comes out in its own order, nothing is lost and nothing comes twice: that
holds in every interleaving. What does not hold is an order between the two producers.
"""

import queue
import threading

LETTERS = ("a1", "a2")
DIGITS = ("b1", "b2")


def fifo_per_producer() -> None:
    """Everything arrives once, and each producer's items in their order."""
    received = _produce_and_consume()
    assert sorted(received) == [*LETTERS, *DIGITS]
    assert received.index("a1") < received.index("a2")
    assert received.index("b1") < received.index("b2")


def order_between_producers() -> None:
    """The mistake: who was started first need not be first."""
    received = _produce_and_consume()
    assert received == [*LETTERS, *DIGITS], f"received {', '.join(received)}"


def _produce_and_consume() -> list[str]:
    items: queue.Queue[str] = queue.Queue(maxsize=1)
    received: list[str] = []

    def produce(mine: tuple[str, ...]) -> None:
        for item in mine:
            items.put(item)

    def consume() -> None:
        for _ in range(4):
            received.append(items.get())

    threads = [
        threading.Thread(target=produce, args=(LETTERS,)),
        threading.Thread(target=produce, args=(DIGITS,)),
        threading.Thread(target=consume),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return received
