"""Rules: a shared map in which equal entries commute, and a look-up reads only what it asks for.

A flow table, a routing table or a set of facts grows by entries that others look up. Two entries
under different keys commute, and so do two equal ones; another value for the same key replaces the
first one, so the order of the two matters. A look-up depends on the entries that answer it, and on
no others: those whose key covers what was asked.

An entry and a question are locations of their own, an entry with its value. `put` adds to that of
the entry; which locations belong together is said by links of the vocabulary, made when the later
of the two is met first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

from treadle.core.events import Mode, code

if TYPE_CHECKING:
    from treadle.model.run import ModelRun

Covers = Callable[[Hashable, Hashable], bool]
_EVERYTHING = ("everything",)
"""The question that every entry answers."""
Entry = tuple[Hashable, Hashable]
"""A key and its value; None is no value."""


class _Known:
    """The locations of a map, as long as the exploration's vocabulary lives."""

    def __init__(self) -> None:
        self.entries: dict[Entry, int] = {}
        self.values: dict[Hashable, list[int]] = {}
        """The locations of the entries of each key."""
        self.questions: dict[Hashable, int] = {}


class Rules:
    """A shared map whose entries commute, unless one replaces another.

    `covers(key, question)` tells which entries answer a question; by default, those of that key.

    >>> import treadle
    >>> program = treadle.model.Program(table=treadle.model.Rules())
    >>> def add(s, key, value):
    ...     yield
    ...     s.table.put(key, value)
    >>> for key, value in [("a", 1), ("a", 1), ("b", 2)]:
    ...     program.process(add, key, value) and None
    >>> treadle.explore(program).executions
    1
    >>> program.process(add, "a", 3) and None
    >>> treadle.explore(program).executions
    4
    """

    __slots__ = ("_covers", "_is_whole", "_known", "_name", "_run", "_values")

    mode: ClassVar[Mode] = Mode.ADD
    """How an entry is made: equal ones commute unless it is a write."""

    _run: ModelRun
    _name: str
    _known: _Known

    def __init__(
        self,
        values: Mapping[Hashable, Hashable] | None = None,
        covers: Covers = operator.eq,
        *,
        whole: bool = False,
    ) -> None:
        self._values = dict(values or {})
        self._covers = covers
        self._is_whole = whole
        """Whether the map is one location, for comparison: then every `put` is a write."""

    def build(self, run: ModelRun, name: str) -> Rules:
        """Return this map as a shared object of a run."""
        built = type(self)(self._values, self._covers, whole=self._is_whole)
        built._run = run
        built._name = name
        built._known = run.keep(("rules", name), _Known)
        return built

    def put(self, key: Hashable, value: Hashable) -> None:
        """Make an entry, or replace that of its key."""
        self.note(key, value)
        self._run.append(self._whole(Mode.WRITE) if self._is_whole else self._change(key, value))

    def delete(self, key: Hashable) -> None:
        """Remove the entry of a key, if there is one."""
        self.put(key, None)

    def note(self, key: Hashable, value: Hashable) -> None:
        """Make an entry that only steps can see that this one happens before anyway."""
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value

    def look(self, question: Hashable) -> list[Entry]:
        """Return the entries that answer a question."""
        self._run.append(self._whole(Mode.READ) if self._is_whole else self._question(question))
        return self.answers(question)

    def look_at_all(self) -> list[Entry]:
        """Return all entries; that depends on every `put`."""
        self.look(_EVERYTHING)
        return self.entries()

    def answers(self, question: Hashable) -> list[Entry]:
        """Return the entries that answer a question, unrecorded: who asks is no step."""
        return [entry for entry in self._values.items() if self._is_for(entry[0], question)]

    def _is_for(self, key: Hashable, question: Hashable) -> bool:
        return question is _EVERYTHING or self._covers(key, question)

    def entries(self) -> list[Entry]:
        """Return all entries in an order of their own, unrecorded."""
        return sorted(self._values.items(), key=repr)

    # Locations

    def _whole(self, mode: Mode) -> int:
        location = self._run.locate((self._name, "whole"), self._name, self.entries)
        return code(location, mode)

    def _change(self, key: Hashable, value: Hashable) -> int:
        known = self._known
        location = known.entries.get((key, value))
        if location is None:
            location = self._locate("entry", key, value)
            known.entries[key, value] = location
            changed = code(location, self.mode)
            others = known.values.setdefault(key, [])
            self._link(changed, others, self.mode)
            others.append(location)
            asked = [at for question, at in known.questions.items() if self._is_for(key, question)]
            self._link(changed, asked, Mode.READ)
        return code(location, self.mode)

    def _question(self, question: Hashable) -> int:
        known = self._known
        location = known.questions.get(question)
        if location is None:
            location = known.questions[question] = self._locate("question", question)
            answering = [
                at for (key, _), at in known.entries.items() if self._is_for(key, question)
            ]
            self._link(code(location, Mode.READ), answering, self.mode)
        return code(location, Mode.READ)

    def _locate(self, kind: str, *parts: Hashable) -> int:
        words = " = ".join(map(str, parts))
        return self._run.locate((self._name, kind, *parts), f"{self._name}[{words}]", self.entries)

    def _link(self, access: int, locations: Iterable[int], mode: Mode) -> None:
        for location in locations:
            self._run.vocabulary.link(access, code(location, mode))

    def __repr__(self) -> str:
        return f"<rules {self._name}>"

    def fingerprint_of(self) -> object:
        """Return the entries, for the state's fingerprint."""
        return self._name, self.entries()
