"""States that can be compared: fields of actors, and where tasks stand.

What is on the stack of a task in the middle of a `get` cannot be looked at. But a task is
deterministic: where it stands follows from its arguments and from what it saw at the beginning of
each of its steps, the fields of its group and the results that it waited for. So that is what is
compared of a task that has begun and not ended; it is taken down only when somebody compares.

Messages are copied, so nothing that can be changed is reached from two groups. Within a group a
waiting task may hold on to a list that a field held once: then lists that look the same are not
the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treadle.actors.actor import Actor, body_of
from treadle.actors.messages import is_immutable
from treadle.actors.task import Group, Task, Waiting
from treadle.core.errors import TreadleError
from treadle.core.failure import error_in_words, without_addresses
from treadle.core.fingerprint import freeze
from treadle.core.program import Incomparable

if TYPE_CHECKING:
    from treadle.actors.run import ActorRun

_SUSPENDED = (Waiting.GET, Waiting.AWAIT, Waiting.UNTIL, Waiting.PAUSED)


def fingerprint(run: ActorRun) -> object:
    """Return a comparable value of the whole state."""
    groups = dict.fromkeys(body_of(actor).group for actor in run.actors)
    return (
        tuple(sorted((group.names.name, _group(run, group)) for group in groups)),
        tuple(sorted((task.name, _continuation(task)) for task in run.everybody.values())),
        tuple(sorted({(crash.process, _error(crash.exception)) for crash in run.crashes})),
    )


def effect(run: ActorRun, processes: Sequence[int], locations: Sequence[int]) -> object:
    """Return a comparable value of where tasks stand and of what is at locations."""
    crashes = [(c.process, _error(c.exception)) for c in run.crashes if c.process in processes]
    tasks = [run.everybody.get(process) for process in processes]
    return (
        [task and _continuation(task) for task in tasks],
        [value_at(run, location) for location in locations],
        crashes,
    )


def value_at(run: ActorRun, location: int) -> object:
    """Return a comparable value of what is at a location."""
    key: Any = run.program.vocabulary.key_of(location)
    kind, name = key[0], key[1]
    if kind in ("status", "started"):
        number = run.program.vocabulary.process_number(name)
        task = run.everybody.get(number) if number is not None else None
        if kind == "started":
            return task is not None and task.waiting is not Waiting.NEW
        return task is not None and task.has_ended
    if kind == "lock" or kind == "state":
        return _of_group(run, kind, name)
    if kind == "channel":
        latest = run.last_sent.get((name, key[2]))
        return latest and latest.name
    if kind == "shared":
        names = ", ".join(sorted(run.program.shared))
        raise TreadleError(
            f"states cannot be compared: actors share {names}, which is no field; choose another "
            f"algorithm, such as optimal"
        )
    if kind == "field":
        return _field(run, *key[1:])
    return Incomparable()  # of an invariant: it may be broken between two steps


def _of_group(run: ActorRun, kind: str, name: str) -> object:
    if name == run.main.group.names.name:
        group = run.main.group
    else:
        groups = (body_of(actor).group for actor in run.actors)
        found = next((one for one in groups if one.names.name == name), None)
        if found is None:
            return None
        group = found
    if kind == "lock":
        return group.holder and group.holder.name
    return _group(run, group)


def _field(run: ActorRun, group: str, kind: str, name: str) -> object:
    """Return the values of a field of all objects of a class in a group."""
    actors = [
        actor
        for actor in run.actors
        if body_of(actor).group.names.name == group and type(actor).__qualname__ == kind
    ]
    return _frozen(run, actors, lambda fields: fields.get(name, Incomparable))


def _group(run: ActorRun, group: Group) -> object:
    actors = [actor for actor in run.actors if body_of(actor).group is group]
    return _frozen(run, actors, lambda fields: fields)


def _frozen(run: ActorRun, actors: list[Actor], part: Any) -> object:
    """Return something of actors of one group, if nobody can see which of two equal lists it is."""
    values = {body_of(actor).names.name: part(body_of(actor).fields) for actor in actors}
    groups = {body_of(actor).group for actor in actors}
    is_held_on_to = any(
        task.group in groups and task.waiting in _SUSPENDED for task in run.alive.values()
    )
    if is_held_on_to and not all(map(_is_fixed, values.values())):
        return Incomparable()
    return freeze(values)


def _is_fixed(value: Any) -> bool:
    return all(map(is_immutable, value.values())) if type(value) is dict else is_immutable(value)


def seen_now(run: ActorRun, task: Task) -> object:
    """Return what a task sees when its step begins."""
    result = None
    if task.waiting in (Waiting.GET, Waiting.AWAIT):
        assert task.target is not None
        result = result_of(task.target)
    return _group(run, task.group), result


def result_of(task: Task) -> object:
    """Return how a task ended."""
    return _error(task.error) if task.error is not None else freeze(task.result)


def _continuation(task: Task) -> object:
    """Return where a task stands."""
    if task.has_ended:
        return "ended", result_of(task), task.is_retrieved
    given = freeze((task.args, task.kwargs))
    if task.waiting is Waiting.NEW:
        return "new", given, task.predecessor and task.predecessor.name
    if task.seen is None:
        return Incomparable()
    return "waits", given, task.target and task.target.name, task.waiting, tuple(task.seen)


def newborn(task: Task) -> object:
    """Return what a task that has not begun will do, and on which actor."""
    assert task.waiting is Waiting.NEW, "it has begun"
    given = freeze((task.actor, task.args, task.kwargs))
    return task.key, given, task.predecessor and task.predecessor.name


def _error(error: BaseException) -> str:
    return without_addresses(error_in_words(error))
