"""A seat that is taken within a deadline, and kept for ever if the deadline comes too early.

Semaphores, task groups and deadlines are anyio's own. The remedy is `async with`, which gives the
seat back however the visit ends.
"""

import anyio

import treadle


async def visit(seats: anyio.Semaphore) -> None:
    """Take a seat for a while, and leave it."""
    await seats.acquire()
    await treadle.pause()
    seats.release()


async def visit_and_leave(seats: anyio.Semaphore) -> None:
    """Take a seat for a while, and leave it in any case."""
    async with seats:
        await treadle.pause()


async def a_seat_is_lost() -> None:
    """Nobody else ever gets the seat."""
    await _visit_with_deadline(is_careful=False)


async def no_seat_is_lost() -> None:
    """The next one gets it."""
    await _visit_with_deadline(is_careful=True)


async def _visit_with_deadline(*, is_careful: bool) -> None:
    seats = anyio.Semaphore(1)
    come = visit_and_leave if is_careful else visit

    async def hurry() -> None:
        with anyio.move_on_after(5):
            await come(seats)

    async with anyio.create_task_group() as group:
        group.start_soon(hurry)
        group.start_soon(visit_and_leave, seats)
