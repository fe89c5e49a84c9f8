"""Networks as programs of the model kit: shared cells, processes, and runs with nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from treadle.analyses.decisive_reads import EVERYWHERE, Foresight, OpenSteps
from treadle.core.events import Codes
from treadle.core.frames import Place, is_machinery, place_of_frame
from treadle.core.program import Crash, Restart
from treadle.core.records import TABLE, Access, Graph
from treadle.model.detail import DetailedRun
from treadle.model.program import PreparedProcess, Program
from treadle.model.rules import Rules
from treadle.model.run import ModelRun
from treadle.networks.world import messages
from treadle.networks.world.matching import covers
from treadle.networks.world.memory import Memory
from treadle.networks.world.scenario import Scenario
from treadle.networks.world.semantics import CONTROLLER, World
from treadle.networks.world.tables import CountingTable, FlowTable
from treadle.networks.world.words import table_in_words


class NetworkProgram(Program):
    """A network with its packets and controller, as a model."""

    front_end = "networks"
    compares_newborn = False  # a step that sends agrees with nothing, as in threads
    scope = "for these packets"

    def __init__(self, name: str, scenario: Scenario) -> None:
        self.scenario = scenario
        self._has_closed_steps = True
        self._knowledge: set[str] = set()
        self._learned: set[str] = set()
        self.left: dict[tuple[str, str], None] = {}
        """Packets that were left in the buffer of a switch in some execution."""
        net, is_whole = scenario.net, scenario.options.level == "table"
        table = FlowTable if scenario.policy.equal_rules_commute else CountingTable
        super().__init__(
            name,
            tables=[
                table(dict(net.rules.get(switch, {})), covers, whole=is_whole)
                for switch in net.switch_names
            ],
            buffers=[Rules(whole=is_whole) for _ in net.switch_names],
            epochs=[0] * len(net.switch_names),
            down=Rules(),
            told=Rules(),
            last=Rules(),
            chosen=Rules(),
            arrived=Rules(),
            memory=Memory(self.learn),
        )
        if scenario.starts:
            self.process(messages.start, name=f"0:{CONTROLLER}: start")
        for number, sent in enumerate(net.packets, start=1):
            self.process(messages.send, sent.name, name=f"{number}:{sent.host}: send {sent.name}")
        for number, link in enumerate(net.failing, start=len(net.packets) + 1):
            self.process(messages.fail, link, name=f"{number}:{link[0]}: link down")

    def prepare(
        self, number: int, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> PreparedProcess:
        """Say how a process is created: all of them begin with a yield."""
        return number, function, args, True, self._open_steps_of(function), False

    def _open_steps_of(self, function: Callable[..., Any]) -> OpenSteps | None:
        """Return which steps may access other locations when they read others.

        Those of handlers; and of packets, whose way decides which link or buffer they touch.
        """
        options = self.scenario.options
        scenario = self.scenario
        net = scenario.net
        is_by_way = (
            options.ordered_links
            or options.level == "table"
            or scenario.policy.has_tables
            or not options.no_conflict
            or bool(net.failing or net.watching)
            or not self._has_closed_steps
        )
        return EVERYWHERE if function in messages.HANDLERS or is_by_way else None

    def foresight(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Foresight | None:
        """Foresee nothing: what a message does is not in the source of its process."""
        del function, args
        return None

    def foresee_less(self) -> bool:
        """Take every step for open from now on: algorithms that plan ahead need to know.

        Which message follows a look-up depends on what it finds; the others need not care, since
        it touches the same locations in any case.
        """
        closed, self._has_closed_steps = self._has_closed_steps, False
        self._prepared = []
        return closed

    def start(self, *, detail: bool = False) -> ModelRun:
        """Begin an execution; with `detail`, recorded in words."""
        return DetailedNetworkRun(self) if detail else NetworkRun(self)

    # What it learns

    def learn(self, what: str) -> None:
        """Take note that the order of a dictionary's keys matters."""
        if what not in self._knowledge:
            self._learned.add(what)

    def knowledge(self) -> tuple[str, ...]:
        """Return the dictionaries whose order matters."""
        return tuple(sorted(self._knowledge))

    def know(self, knowledge: Sequence[str]) -> None:
        """Know what an earlier exploration had learned, and nothing else."""
        self._knowledge = set(knowledge)

    def begin_anew(self) -> None:
        """Begin the exploration anew if a run has shown something new."""
        if self._learned:
            self._knowledge |= self._learned
            self._learned = set()
            raise Restart

    def notes(self, *, has_ended: bool) -> list[str]:
        """Say which packets nobody let out of a buffer."""
        return [
            f"packet {packet} is left in the buffer of {switch} in some execution, since the "
            f"controller sends no packet-out: sdn.quiet makes that a failure"
            for switch, packet in self.left
        ]

    def graph(self) -> Graph:
        """Return the topology, and the tables in the beginning."""
        net = self.scenario.net
        kinds = [("switch", net.switch_names), ("host", net.host_names)]
        return Graph(
            nodes=tuple((name, kind) for kind, names in kinds for name in names),
            edges=tuple(
                (node, peer.node, str(port), str(peer.port))
                for node, ports in net.ports.items()
                for port, peer in ports.items()
                if (node, port) < (peer.node, peer.port)
            ),
            tables=tuple(
                (switch, table_in_words(net, switch, list(rules.items())))
                for switch, rules in net.rules.items()
            ),
        )


class NetworkRun(ModelRun):
    """An execution of a network."""

    program: NetworkProgram
    world: World

    def __init__(self, program: NetworkProgram) -> None:
        self._found: list[Crash] = []
        self._is_judged = False
        super().__init__(program)
        self.world = World(self)

    @property
    def state(self) -> Any:
        """The shared state."""
        return self._state

    @property
    def steps_taken(self) -> int:
        """How many steps were taken before the present one."""
        return self._steps

    @property
    def crashes(self) -> list[Crash]:
        """What went wrong: in steps and, once nothing is under way any more, with the end."""
        if not (self._alive or self._is_judged) and self._steps:
            self._is_judged = True
            first = self.program.declared[0][0]
            for error in self.world.violations():
                self._found.append(Crash.of(first, self._steps - 1, error))
            self.program.left.update(dict.fromkeys(self.world.buffered()))
        return self._found

    @crashes.setter
    def crashes(self, found: list[Crash]) -> None:
        self._found = found

    def start_process(self, function: Callable[..., Any], *args: Any, name: str) -> int:
        """Put a message under way; return the number of its process."""
        return self.spawn(function, args, name, daemon=False).number

    def child_name(self, parent: int, index: int, name: str) -> str:
        """Return the name of a message: the path that led to it, and what it is."""
        path = f"{self.name_of(parent).partition(':')[0]}.{index}"
        return f"{path}:{name}"

    def say(self, node: str, text: str) -> None:
        """Take note of what happens at a node; only a detailed run does."""

    def stand_at(self, place: Place | None = None) -> None:
        """Take note of where the controller is, unless that is known; only a detailed run does."""

    def close(self) -> None:
        """End the run; begin anew if it has shown something new."""
        self._is_judged = True
        super().close()
        self.program.begin_anew()

    def drop(self) -> None:
        """End a run that is no part of an exploration."""
        self._is_judged = True
        super().close()


class DetailedNetworkRun(NetworkRun, DetailedRun):
    """An execution of a network in words: what each node does, step by step."""

    def __init__(self, program: NetworkProgram) -> None:
        self._said: list[tuple[str, str]] = []
        self._shown: dict[str, str] = {}
        super().__init__(program)

    def say(self, node: str, text: str) -> None:
        """Take note of what happens at a node."""
        self._said.append((node, text))

    def stand_at(self, place: Place | None = None) -> None:
        """Take note of where the controller is: of the user's line that runs, if none is given."""
        known = self._log.where
        if known is None or is_machinery(known[0]):
            found = place or place_of_frame(sys._getframe(1))
            self._log.where = found if found and not is_machinery(found[0]) else known

    def step(self, process: int) -> Codes:
        """Let a process take one step, and record what the node does."""
        self._said = []
        codes = super().step(process)
        record = self._records[-1]
        node = self._said[0][0] if self._said else _node_of(record.process)
        words = tuple(_in_words(text) for _, text in self._said) + self._table_of(node)
        is_user = node == CONTROLLER
        self._records[-1] = replace(
            record,
            accesses=words,
            lane=node,
            label=node,
            then="over",
            where=record.where if is_user else "",
            source=record.source if is_user else "",
        )
        return codes

    def _table_of(self, node: str) -> tuple[Access, ...]:
        """Return the table of a switch, if it is another one than was shown of it last."""
        if node not in self.world.net.switch_names:
            return ()
        words = table_in_words(self.world.net, node, self.world.rules(node))
        if self._shown.get(node, "") == words:
            return ()
        self._shown[node] = words
        return (Access(TABLE, words),)


def _node_of(process: str) -> str:
    """Return the node of a process, which its name says."""
    return process.rpartition(": ")[0].rpartition(":")[2]


def _in_words(text: str) -> Access:
    operation, _, location = text.rpartition(" ")
    return Access(operation, location)
