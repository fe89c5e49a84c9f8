"""Two-phase commit over a network that may lose one message.

Two participants vote; the coordinator decides and tells them. The network loses at most one of the
decisions, at a moment of its choosing. A participant that waits for the decision may wait for ever;
one that presumes "abort" after a time-out may abort what the other commits; one that asks again
gets the answer from the coordinator's log.
"""

from collections.abc import Generator
from typing import Any

from treadle.model import TIMEOUT, Mailbox, Program

Steps = Generator[Any, Any, None]


def waiting() -> Program:
    """A participant waits for the decision, however long it takes."""

    def participant(s: Any, me: int) -> Steps:
        s.votes.send("yes")
        decision = yield s.inbox[me].receive()
        yield
        s.outcome[me] = decision

    return _commit("two-phase commit, waiting", participant)


def presuming() -> Program:
    """A participant that hears nothing presumes that the transaction is aborted."""

    def participant(s: Any, me: int) -> Steps:
        s.votes.send("yes")
        decision = yield s.inbox[me].receive(timeout=True)
        yield
        s.outcome[me] = "abort" if decision is TIMEOUT else decision

    return _commit("two-phase commit, presuming abort", participant)


def asking() -> Program:
    """A participant that hears nothing asks, and then waits: only one message can be lost."""

    def participant(s: Any, me: int) -> Steps:
        s.votes.send("yes")
        decision = yield s.inbox[me].receive(timeout=True)
        if decision is TIMEOUT:
            yield
            s.questions.send(me)
            decision = yield s.inbox[me].receive()
        yield
        s.outcome[me] = decision

    return _commit("two-phase commit, asking", participant)


def _commit(name: str, participant: Any) -> Program:
    program = Program(
        name,
        votes=Mailbox(),
        inbox=[Mailbox(), Mailbox()],
        questions=Mailbox(),
        log=None,
        outcome=[None, None],
    )
    program.process(_coordinator, name="coordinator")
    program.process(_answers, name="answers", daemon=True)
    program.process(participant, 0, name="alice")
    program.process(participant, 1, name="bob")
    program.process(_network, name="network", daemon=True)
    program.process(_check, name="check")
    return program


def _coordinator(s: Any) -> Steps:
    first = yield s.votes.receive()
    second = yield s.votes.receive()
    decision = "commit" if first == second == "yes" else "abort"
    yield
    s.log = decision
    for box in s.inbox:
        yield
        box.send(decision)


def _answers(s: Any) -> Steps:
    """Answer from the coordinator's log, once something is written there."""
    while True:
        who = yield s.questions.receive()
        yield s.until(lambda: s.log is not None)
        s.inbox[who].send(s.log)


def _network(s: Any) -> Steps:
    """Lose a message to Bob, if there is one at this moment."""
    yield s.inbox[1].receive(timeout=True)


def _check(s: Any) -> Steps:
    yield s.join("alice")
    yield s.join("bob")
    assert s.outcome[0] == s.outcome[1], f"Alice: {s.outcome[0]}, Bob: {s.outcome[1]}"
