"""Random programs of actors for the deadlock analysis, as Python source.

They do all that makes it hard to tell who waits for whom: actors and futures in fields, lists,
arguments and results, actors that are made in methods and share a group, calls in the same task,
functions of the module, loops, branches, exceptions, conditions.

Methods are numbered, and send and call only methods with a larger number, so that programs end.
"""

from __future__ import annotations

import random
from textwrap import indent

CLASSES = ("A", "B")
LEVELS = 4
_HEAD = "from treadle.actors import Actor, pause, until\n\n\n"
_ACTORS = ("x", "y", "self", "self.peer")


class Source:
    """One random program."""

    def __init__(self, seed: int, *, conditions: bool = True, plain: bool = False) -> None:
        self._random = random.Random(seed)
        self._conditions = conditions
        self._plain = plain
        self._locals = 0

    def text(self) -> str:
        """Return the source; its main function is `main`."""
        parts = [_HEAD, *(self._helper(level) for level in range(1, LEVELS - 1))]
        parts += [self._class(name) for name in CLASSES]
        return "".join([*parts, self._main()])

    def _one(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _class(self, name: str) -> str:
        text = f"class {name}(Actor):\n"
        text += "    def __init__(self, peer=None):\n"
        text += "        self.peer = self if peer is None else peer\n"
        text += "        self.kept, self.many, self.n = None, [], 0\n\n"
        for level in range(LEVELS):
            text += f"    async def m{level}(self, x, y, f):\n"
            text += indent(self._body(level, is_method=True), " " * 8) + "\n"
        return text + "\n"

    def _helper(self, level: int) -> str:
        body = indent(self._body(level, is_method=False), " " * 4)
        return f"async def helper{level}(x, y, f):\n{body}\n\n"

    def _main(self) -> str:
        text = "def main():\n    a = A()\n"
        text += f"    b = {self._one('B(a)', 'B()', 'A(a)')}\n"
        text += f"    c = {self._one('B(b)', 'A(b)', 'a', 'b')}\n"
        sends = self._random.randint(1, 2)
        for _ in range(sends):
            receiver, first, second = (self._one("a", "b", "c") for _ in range(3))
            level = self._random.randint(0, 1)
            text += f"    {receiver}.m{level}.send({first}, {second}, None)\n"
        return text

    def _body(self, level: int, *, is_method: bool) -> str:
        self._locals = 0
        count = self._random.randint(1, 2 if level else 3)
        lines = [self._statement(level, is_method) for _ in range(count)]
        lines.insert(0, "h = None")
        lines.append(self._one("return None", "return None", "return h"))
        return "\n".join(lines)

    # Statements

    def _statement(self, level: int, is_method: bool) -> str:
        kinds = [self._change, self._wait_for_older]
        if self._plain:
            more = [self._send, self._send, self._send_and_wait, self._branch]
            kinds = [self._plain_change, *(more if level + 1 < LEVELS else [])]
        elif level + 1 < LEVELS:
            kinds += [self._send, self._send, self._send_and_wait, self._send_and_wait]
            kinds += [self._make, self._call, self._loop, self._branch, self._try]
        text = self._random.choice(kinds)(level, is_method)
        return text if is_method or "self" not in text else "h = f"

    def _actor(self, is_method: bool) -> str:
        return self._one(*(_ACTORS[: 3 if self._plain else 4] if is_method else _ACTORS[:2]))

    def _message(self, level: int, is_method: bool, receiver: str = "") -> str:
        receiver = receiver or self._actor(is_method)
        arguments = [self._actor(is_method), self._actor(is_method), self._one("None", "h", "f")]
        method = self._random.randint(level + 1, LEVELS - 1)
        return f"{receiver}.m{method}.send({', '.join(arguments)})"

    def _change(self, level: int, is_method: bool) -> str:
        del level, is_method
        changes = ["self.n += 1", "self.kept = h", "self.kept = f", "self.peer = x", "x = y",
                   "if h is not None: self.many.append(h)", "h = f"]  # fmt: skip
        if self._conditions:
            changes += ["await until(lambda: self.n > 0)", "await pause()"]
        return self._one(*changes)

    def _plain_change(self, level: int, is_method: bool) -> str:
        del level, is_method
        changes = ["self.n += 1", "if h is not None: await h", "if h is not None: h.get()"]
        if self._conditions:
            changes += ["await until(lambda: self.n > 0)", "await pause()"]
        return self._one(*changes)

    def _wait_for_older(self, level: int, is_method: bool) -> str:
        del level, is_method
        future = self._one("h", "f", "self.kept")
        wait = self._one(f"await {future}", f"{future}.get()", f"await {future}.done()")
        if self._random.random() < 0.2:
            return f"for g in self.many: {self._one('await g', 'g.get()')}"
        return f"if {future} is not None: {wait}"

    def _send(self, level: int, is_method: bool) -> str:
        return self._one("h = ", "", "self.kept = ") + self._message(level, is_method)

    def _send_and_wait(self, level: int, is_method: bool) -> str:
        message = self._message(level, is_method)
        return self._one(
            f"{message}.get()",
            f"await {message}",
            f"h = await {message}",
            f"h = {message}\nawait h",
            f"h = {message}\nawait h\nh.get()",
        )

    def _make(self, level: int, is_method: bool) -> str:
        self._locals += 1
        name, cls = f"z{self._locals}", self._one(*CLASSES)
        if self._random.random() < 0.3 and is_method:
            call = f"{name}.m{self._random.randint(level + 1, LEVELS - 1)}(x, self, h)"
            return f"{name} = {cls}.local(x)\nh = await {call}"
        return f"{name} = {cls}(x)\nh = {self._message(level, is_method, name)}"

    def _call(self, level: int, is_method: bool) -> str:
        deeper = self._random.randint(level + 1, LEVELS - 1)
        arguments = f"{self._actor(is_method)}, {self._actor(is_method)}, {self._one('h', 'f')}"
        if deeper < LEVELS - 1 and self._random.random() < 0.5:
            return f"h = await helper{deeper}({arguments})"
        return f"h = await self.m{deeper}({arguments})"

    def _loop(self, level: int, is_method: bool) -> str:
        message = self._message(level, is_method, "r")
        return self._one(
            f"for r in (x, y): {message}",
            f"for r in (x, y): h = {message}",
            f"for r in (x, y): await {message}",
            f"hs = [{message} for r in (x, y)]\nfor g in hs: {self._one('await g', 'g.get()')}",
        )

    def _branch(self, level: int, is_method: bool) -> str:
        tests = ("self.n > 0",) if self._plain else ("self.n > 0", "x is y", "h is None")
        test = self._one(*tests) if is_method else "x is y"
        then, other = (self._send_and_wait(level, is_method) for _ in range(2))
        return f"if {test}:\n{indent(then, '    ')}\nelse:\n{indent(other, '    ')}"

    def _try(self, level: int, is_method: bool) -> str:
        body = self._send_and_wait(level, is_method)
        failing = self._one("", "", "\nraise ValueError(1)")
        return (
            f"try:\n{indent(body + failing, '    ')}\nexcept ValueError:\n    "
            f"{self._one('pass', 'h = None', 'raise')}"
        )


def source(seed: int, *, conditions: bool = True, plain: bool = False) -> str:
    """Return a random program; a plain one has sends, waits, branches and conditions only."""
    return Source(seed, conditions=conditions, plain=plain).text()
