"""Functions that are left by an exception: somebody in C may wait for that, too.

`sort(key=f)` puts the items back into the list when `f` raises, and `__next__` ends every iteration
by an exception. So whatever no `try` of the function itself handles goes to one more handler, at
the end of the function, which asks what a `return` asks (`callbacks.leave`) and lets the exception
go on. As long as nothing is raised, that costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bytecode import Instr, Label
from bytecode.instr import TryBegin, TryEnd

from treadle.python.instrument.emit import Item, leave


def with_last_handler(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the instructions of a function, and a handler of what none of its own handles.

    Entries of an exception table do not overlap, so this one stands wherever there is no other. It
    begins when the function has: what comes before `RESUME` cannot fail. `RERAISE` says that the
    exception was raised where it was, which lies below it on the stack.
    """
    last = Label()
    resume: Instr | None = None
    mine: TryBegin | None = None
    is_handled = False
    for item in items:
        if isinstance(item, TryBegin | TryEnd):
            is_handled = isinstance(item, TryBegin)
        if mine is not None and is_handled:
            yield TryEnd(mine)
            mine = None
        elif mine is None and resume and not is_handled and isinstance(item, Instr):
            mine = TryBegin(last, push_lasti=True)
            yield mine
        if resume is None and isinstance(item, Instr) and item.name == "RESUME":
            resume = item
        yield item
    if mine is not None:
        yield TryEnd(mine)
    if resume is not None:
        at = resume.location
        yield from (last, *leave(at), Instr("RERAISE", 1, location=at))
