"""Look into a dictionary, then act on what was found: between the two it can change.

Two threads hand out the seats of a train. Both can find a seat free and both take it. One method
of the dictionary that does both at once is enough to mend it: methods of built-in containers are
atomic.
"""

import threading
from collections.abc import Callable

Seats = dict[str, str]


def look_then_take(seats: Seats, seat: str, name: str) -> bool:
    """Reserve a seat, unless it is taken."""
    if seat in seats:
        return False
    seats[seat] = name
    return True


def take_at_once(seats: Seats, seat: str, name: str) -> bool:
    """The same with one operation of the dictionary."""
    return seats.setdefault(seat, name) == name


def two_steps() -> None:
    """Both passengers can be told that the seat is theirs."""
    seats: Seats = {}
    told = [False, False]

    def ann() -> None:
        told[0] = look_then_take(seats, "12A", "Ann")

    def bob() -> None:
        told[1] = look_then_take(seats, "12A", "Bob")

    _run(ann, bob)
    assert told.count(True) == 1, "two passengers on one seat"


def one_step() -> None:
    """Exactly one of them gets it."""
    seats: Seats = {}
    told = [False, False]

    def ann() -> None:
        told[0] = take_at_once(seats, "12A", "Ann")

    def bob() -> None:
        told[1] = take_at_once(seats, "12A", "Bob")

    _run(ann, bob)
    assert told.count(True) == 1, "two passengers on one seat"


def _run(*targets: Callable[[], None]) -> None:
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
