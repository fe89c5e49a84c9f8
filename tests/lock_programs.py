"""Random tests with threads that take locks in all ways that people write."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_SITES = {
    "global": ("L{0} = threading.Lock()", "L{0}"),
    "attribute": ("", "box.lock{0}"),
    "item": ("", "LOCKS[{0}]"),
    "class": ("", "Box.shared{0}"),
    "condition": ("L{0} = threading.Condition(threading.Lock())", "L{0}"),
}
_HEAD = """\
import threading
from contextlib import contextmanager

class Box:
{shared}

    def __init__(self):
{attributes}

box = Box()
LOCKS = {{{items}}}
{globals}


@contextmanager
def locked(lock):
    lock.acquire()
    try:
        yield lock
    finally:
        lock.release()


def with_lock(lock, work):
    with lock:
        work()

"""


class LockProgram:
    """Draws the text of one test."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._functions: list[str] = []
        locks = self._random.randint(2, 3)
        kinds = [self._random.choice(list(_SITES)) for _ in range(locks)]
        self._locks = [_SITES[kind][1].format(number) for number, kind in enumerate(kinds)]
        self._kinds = kinds
        self.source = self._text()

    def _text(self) -> str:
        bodies = [self._body(f"thread{number}") for number in range(self._random.randint(2, 3))]
        numbers = range(len(self._locks))
        head = _HEAD.format(
            shared="\n".join(f"    shared{n} = threading.Lock()" for n in numbers),
            attributes="\n".join(f"        self.lock{n} = threading.Lock()" for n in numbers),
            items=", ".join(f"{n}: threading.Lock()" for n in numbers),
            globals="\n".join(_SITES[kind][0].format(n) for n, kind in enumerate(self._kinds)),
        )
        starts = ", ".join(f"threading.Thread(target=thread{n})" for n in range(len(bodies)))
        test = (
            f"def test():\n    threads = [{starts}]\n    for thread in threads:\n"
            f"        thread.start()\n    for thread in threads:\n        thread.join()\n"
        )
        return head + "\n\n".join([*self._functions, *bodies, test])

    def _body(self, name: str) -> str:
        taken = self._random.sample(self._locks, self._random.randint(1, len(self._locks)))
        return f"def {name}():\n" + "\n".join(self._nest(taken, name, 1)) + "\n"

    def _nest(self, locks: list[str], name: str, depth: int) -> Iterator[str]:
        """Yield the lines of a body that takes locks, one inside of the other or after it."""
        indent = "    " * depth
        if not locks:
            yield f"{indent}pass"
            return
        first, rest = locks[0], locks[1:]
        inner = rest if self._random.random() < 0.8 else []
        style = self._random.choice(["with", "acquire", "managed", "helper", "function", "try"])
        yield from self._taken(style, first, inner, name, depth)
        if inner is not rest:
            yield from self._nest(rest, name, depth)

    def _taken(
        self, style: str, lock: str, inner: list[str], name: str, depth: int
    ) -> Iterator[str]:
        indent = "    " * depth
        if style == "with":
            yield f"{indent}with {lock}:"
            yield from self._nest(inner, name, depth + 1)
        elif style == "managed":
            yield f"{indent}with locked({lock}):"
            yield from self._nest(inner, name, depth + 1)
        elif style == "acquire":
            yield f"{indent}{lock}.acquire()"
            yield from self._nest(inner, name, depth)
            yield f"{indent}{lock}.release()"
        elif style == "try":
            yield f"{indent}{lock}.acquire()"
            yield f"{indent}try:"
            yield from self._nest(inner, name, depth + 1)
            yield f"{indent}finally:"
            yield f"{indent}    {lock}.release()"
        else:
            own = f"{name}_inner{len(self._functions)}"
            self._functions.append("")
            at = len(self._functions) - 1
            self._functions[at] = f"def {own}():\n" + "\n".join(self._nest(inner, own, 1)) + "\n"
            call = f"with_lock({lock}, {own})"
            with_call = [f"{indent}with {lock}:", f"{indent}    {own}()"]
            yield from [f"{indent}{call}"] if style == "helper" else with_call


@contextmanager
def imported(folder: Path, seed: int) -> Iterator[tuple[Callable[[], None], str]]:
    """Write a random test to a file and import it; forget it afterwards."""
    source = LockProgram(seed).source
    name = f"locks_{seed}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module.test, source
    finally:
        del sys.modules[name]
