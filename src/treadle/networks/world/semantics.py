"""What messages do: the rules of the thesis, each message a process of one step (`messages`).

A guided tour, in the names of the thesis (si, shp, ...; "Verification of SDN", JSS 2021, section
3). `send` (si) gives a host's packet to its switch. `packet` (shp) looks it up there: it is
forwarded, or waits in the buffer and the controller is asked. `packet_in` (chm) runs the policy;
what that sends are `flow_mod` (shm), which changes a table, and `packet_out` (so), which lets the
packet go. `deliver` (hhp) is its arrival. A `barrier` waits for what a switch was told before.

Messages are under way in any order: each is a process of the model kit, and the search decides
which comes next. What the steps touch are entries of tables (`Rules`), one location for each packet
and host that it arrives at, and what the controller remembers. A copy of a packet carries where it
was, so that nobody else has to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import GeneratorType
from typing import TYPE_CHECKING, Any, NoReturn

from treadle.core.errors import TreadleError
from treadle.core.events import Mode, code
from treadle.core.program import Crash, Violation
from treadle.networks.world import messages
from treadle.networks.world.controller import Barrier, Event, FlowMod, Message, PacketOut
from treadle.networks.world.matching import Actions, Header
from treadle.networks.world.memory import remember_in
from treadle.networks.world.packets import Copy, Sent
from treadle.networks.world.places import place_of, refuse, with_line
from treadle.networks.world.properties import BlackHole, Conflict, Loop
from treadle.networks.world.tables import NOTIFIES
from treadle.networks.world.waiting import All
from treadle.networks.world.words import Key, actions_in_words, rule_in_words

if TYPE_CHECKING:
    from treadle.networks.world.program import NetworkRun

CONTROLLER = "controller"
COPIES = 1000
"""A packet of which there are more copies than that is flooded without end."""
ASKING: Actions = (("controller",),)
"""What the rule for packets without a better rule says in many applications."""
_OVER = object()


class World:
    """One run of a network: what has become of its packets, tables and controller."""

    def __init__(self, run: NetworkRun) -> None:
        self.run = run
        self.scenario = run.program.scenario
        self.options = self.scenario.options
        self.net = self.scenario.net.running(self)
        self.state: Any = run.state
        self._switches = {name: at for at, name in enumerate(self.net.switch_names)}
        self._outbox: list[Message] | None = None
        self._copies: dict[str, int] = {}
        self._is_over = False
        self.controller = self.scenario.policy.__new__(self.scenario.policy)
        self.controller.net = self.net
        remember_in(self.state.memory, self.controller)
        self._outbox = []
        self.controller.__init__()  # type: ignore[misc]
        self._install_first(self._outbox)
        self._outbox = None

    def _install_first(self, messages: list[Message]) -> None:
        """Install what a controller sends while it is made: the switches know it at the start."""
        for message in messages:
            if not (isinstance(message, FlowMod) and self.scenario.policy.may_tell_first):
                raise TreadleError(
                    f"{self.scenario.policy.__name__}.__init__ sends messages: send them in "
                    f"`def start(self)`, or use net.install(...) for rules that are there before"
                )
            self._table(message.switch).note((message.priority, message.match), message.actions)

    # Packets

    def send(self, packet: str) -> None:
        """Give a host's packet to its switch."""
        sent = self._sent(packet)
        self.say(sent.host, f"sends {packet}")
        self._forward(Copy(packet, sent.header), sent.host, min(self.net.ports[sent.host]))
        self._watch()

    def _sent(self, packet: str) -> Sent:
        return next(sent for sent in self.net.packets if sent.name == packet)

    def packet(self, copy: Copy, switch: str, port: int) -> None:
        """Look a packet up: forward it, or ask the controller."""
        self._touch_switch(switch)
        if self._is_in_loop(copy, switch, port):
            self.say(switch, f"{copy.packet} again")
            if self.options.no_loop:
                ways = " → ".join([*(at for at, _ in copy.visits), switch])
                self._violated(Loop(f"packet {copy.packet} comes to {switch} again: {ways}"))
        else:
            copy = copy.at(switch, port)
            decided = self._look(copy, switch, port)
            if decided is None:
                self._ask(copy, switch, port)
            else:
                self._apply(decided, copy, switch, port)
        self._watch()

    def _is_in_loop(self, copy: Copy, switch: str, port: int) -> bool:
        options = self.options
        if options.max_hops is not None and len(copy.visits) >= options.max_hops:
            return True
        again = sum(visited == switch for visited, _ in copy.visits)
        if not options.revisits:
            return again > 0
        return again > options.revisits or (switch, port) in copy.visits

    def _look(self, copy: Copy, switch: str, port: int) -> Actions | None:
        """Return what the table says about a packet; None: no rule. No action: it was handled."""
        rules: list[tuple[Key, Actions]] = self._table(switch).look((port, copy.header))
        if not rules:
            return None
        highest = max(priority for (priority, _), _ in rules)
        decided = sorted({actions for (priority, _), actions in rules if priority == highest})
        if len(decided) == 1:
            return decided[0]
        words = " and ".join(actions_in_words(self.net, switch, actions) for actions in decided)
        self.say(switch, f"rules for {copy.packet} contradict: {words}")
        if self.options.no_conflict:
            self._violated(
                Conflict(f"rules of {switch} for packet {copy.packet} contradict: {words}")
            )
        else:
            for actions in decided:
                self.run.start_process(
                    messages.choice, tuple(copy), switch, port, actions, name=f"{switch}: choice"
                )
        return ()

    def choose(self, copy: Copy, switch: str, port: int, actions: Actions) -> None:
        """Apply one of several contradicting rules, if no other was chosen yet."""
        if not self.state.chosen.look((switch, copy)):
            self.state.chosen.put((switch, copy), True)
            self._apply(actions, copy, switch, port)
        self._watch()

    def _ask(self, copy: Copy, switch: str, port: int) -> None:
        if not self.scenario.answers:
            self._drop(copy, switch, "and nobody is asked")
            return
        self.say(switch, f"no rule for {copy.packet}, asks")
        if self.scenario.policy.leaves_buffered:
            put = (
                self._buffer(switch).put
                if self.options.level == "table"
                else self._buffer(switch).note
            )
            put(tuple(copy), port)
        name = f"{CONTROLLER}: packet-in {copy.packet}"
        self.run.start_process(messages.packet_in, tuple(copy), switch, port, name=name)

    def _drop(self, copy: Copy, switch: str, why: str) -> None:
        self.say(switch, f"no rule for {copy.packet}, dropped")
        self._lose(copy, f"is dropped at {switch}: no rule says so, {why}")

    def _lose(self, copy: Copy, how: str) -> None:
        if self.options.no_black_hole:
            self._violated(BlackHole(f"packet {copy.packet} {how}"))

    def _refuse_flood(self, copy: Copy) -> NoReturn:
        handler = getattr(self.scenario.policy, "packet_in", None)
        refuse(
            f"there are more than {COPIES} copies of packet {copy.packet}: a flood on a cycle "
            f"never ends; give max_hops, or fewer revisits",
            place_of(handler) if handler else "",
        )

    def _apply(self, actions: Actions, copy: Copy, switch: str, port: int) -> None:
        """Do what a rule, or the controller, says."""
        if actions and actions != ASKING:
            self.say(switch, f"{copy.packet} → {actions_in_words(self.net, switch, actions)}")
        for name, *args in actions:
            if name == "output":
                self._forward(copy, switch, args[0])
            elif name == "flood":
                for out in sorted(self.net.ports[switch]):
                    if out != port:
                        self._forward(copy, switch, out)
            elif name == "set_field":
                header = tuple(sorted({**dict(copy.header), **dict(args)}.items()))
                copy = copy._replace(header=header)
            elif name == "controller":
                self._ask(copy, switch, port)

    def _forward(self, copy: Copy, node: str, out: int) -> None:
        """Put a packet on a link."""
        self._copies[copy.packet] = made = self._copies.get(copy.packet, 0) + 1
        if made > COPIES:
            self._refuse_flood(copy)
        peer = self.net.ports[node][out]
        if self._is_down(node, peer.node):
            self.say(node, f"loses {copy.packet}")
            self._lose(copy, f"is lost on the link from {node} to {peer.node}: it is down")
            return
        name = f"{peer.node}: packet {copy.packet}"
        after = self._behind("link", f"{node}:{out}") if self.options.ordered_links else ()
        if peer.node in self._switches:
            made = self.run.start_process(
                messages.packet, tuple(copy), peer.node, peer.port, after, name=name
            )
        else:
            made = self.run.start_process(
                messages.deliver, tuple(copy), peer.node, after, name=name
            )
        if self.options.ordered_links:
            self.state.last.note(("link", f"{node}:{out}"), made)

    def fail(self, one: str, other: str) -> None:
        """Let a link go down, and tell the controller."""
        self.say(one, f"link to {other} goes down")
        self.state.down.put(tuple(sorted((one, other))), True)
        for switch, neighbour in ((one, other), (other, one)):
            if switch in self._switches and hasattr(type(self.controller), "port_status"):
                name = f"{CONTROLLER}: port-status of {switch}"
                port = self.net.port_to(switch, neighbour)
                self.run.start_process(messages.port_status, switch, port, name=name)
        self._watch()

    def _is_down(self, one: str, other: str) -> bool:
        link = tuple(sorted((one, other)))
        is_watched = any(tuple(sorted(ends)) == link for ends in self.net.failing)
        return is_watched and bool(self.state.down.look(link))

    def deliver(self, copy: Copy, host: str) -> None:
        """Let a packet arrive at a host."""
        self.say(host, f"gets {copy.packet}")
        self.state.arrived.put((copy.packet, host), True)
        for wanted in self.scenario.properties:
            for violation in wanted.at_arrival(self.net, copy, host):
                self._violated(violation)
        self._watch()

    # What switches are told

    def flow_mod(self, message: FlowMod) -> None:
        """Add, change or delete a rule."""
        switch, match, actions = message.switch, message.match, message.actions
        self._touch_switch(switch)
        self.say(switch, rule_in_words(self.net, switch, match, actions))
        table = self._table(switch)
        if message.sweeps:
            gone = table.sweep(match, actions)
        else:
            gone = table.replace((message.priority, match), actions)
        for (priority, rule), before in gone:
            if NOTIFIES in before and actions is None:
                name = f"{CONTROLLER}: flow-removed"
                self.run.start_process(messages.removed, switch, rule, priority, name=name)
        self._watch()

    def packet_out(self, message: PacketOut) -> None:
        """Let a packet go, by what the controller says or by the table."""
        switch, copy, port = message.switch, message.copy, message.port
        self._touch_switch(switch)
        if message.is_buffered and not self._take(copy, switch):
            self.say(switch, f"{copy.packet} is not there")
            self._violated(
                Violation(
                    f"packet {copy.packet} is not in the buffer of {switch}: it was sent out before"
                )
            )
        else:
            decided = message.actions
            if decided is None:
                decided = self._look(copy, switch, port)
            if decided is None:
                self._drop(copy, switch, "although the controller lets it go")
            else:
                self._apply(decided, copy, switch, port)
        self._watch()

    def _take(self, copy: Copy, switch: str) -> bool:
        """Take a packet out of a buffer; tell whether it was there."""
        buffer = self._buffer(switch)
        is_there = bool(buffer.look(tuple(copy)))
        buffer.delete(tuple(copy))
        return is_there

    def finished(self, switch: str, number: int) -> None:
        """Take note that a switch has done something that a barrier waits for."""
        label = self.run.name_of(number).partition(":")[2]
        self.say(switch, f"barrier: has done {label.partition(': ')[2]}")
        self._watch()

    # The controller

    def packet_in(self, copy: Copy, switch: str, port: int) -> messages.Process:
        """Ask the controller about a packet."""
        event = Event(self.net.switch(switch), port, copy)
        yield from self.handled(self.controller.packet_in, event)

    def handled(self, handler: Callable[..., Any], *args: Any) -> messages.Process:
        """Run a handler of the controller, up to its end or its next barrier in each step."""
        told: dict[str, list[int]] = {}
        """What it has told each switch, and does not know to be done."""
        started = self._handler_step(lambda: handler(*args), told)
        if not isinstance(started, GeneratorType):
            self._watch()
            return
        while True:
            waited = self._handler_step(lambda: next(started, _OVER), told, started)
            self._watch()
            if waited is _OVER:
                return
            yield All.of(self.run, self._request(waited, told))

    def _handler_step(
        self,
        advance: Callable[[], Any],
        told: dict[str, list[int]],
        generator: GeneratorType[Any, Any, Any] | None = None,
    ) -> Any:
        """Let a handler go on; send what it sends, also if it fails."""
        memory = self.state.memory
        self._outbox, memory.is_recording = [], True
        waited: Any = None
        try:
            with with_line():
                waited = advance()
            return waited if generator is None else _barriers(waited, generator)
        finally:
            memory.is_recording = False
            memory.touch_objects()
            outbox, self._outbox = self._outbox, None
            self._tell_switches(outbox, told, waited)
            self.scenario.outliving.check()

    def tell(self, message: Message) -> None:
        """Take a message of the controller to a switch."""
        if self._outbox is None:
            raise TreadleError("switches take messages from the handlers of a controller only")
        self._outbox.append(message)

    def _tell_switches(
        self, outbox: list[Message], told: dict[str, list[int]], waited: Any
    ) -> None:
        """Put the messages of a handler under way."""
        is_waited = waited if isinstance(waited, list | tuple) else [waited]
        for at, message in enumerate(outbox):
            if isinstance(message, Barrier):
                message.earlier = tuple(told.get(message.switch, ()))
                if message.is_answered:
                    name = f"{CONTROLLER}: barrier reply of {message.switch}"
                    self.run.start_process(
                        messages.reply, message.switch, message.earlier, name=name
                    )
                later = any(other.switch == message.switch for other in outbox[at + 1 :])
                if later or not any(message is one for one in is_waited):
                    self.state.epochs[self._switches[message.switch]] += 1
            else:
                told.setdefault(message.switch, []).append(self._under_way(message))
        if not isinstance(waited, GeneratorType):  # else its first step comes now
            words = [self._message_in_words(message) for message in outbox]
            self.say(CONTROLLER, ", ".join(words) or "sends nothing")

    def _under_way(self, message: FlowMod | PacketOut) -> int:
        """Start a message to a switch; it comes after those that a barrier put before it."""
        switch, after = message.switch, self._before(message.switch)
        if isinstance(message, FlowMod):
            number = self.run.start_process(
                messages.flow_mod, switch, message.content, after, name=f"{switch}: flow-mod"
            )
        else:
            number = self.run.start_process(
                messages.packet_out, switch, tuple(message.copy), message.port, message.actions,
                message.is_buffered, after, name=f"{switch}: packet-out {message.copy.packet}",
            )  # fmt: skip
        self.state.told.note((switch, number), self._epoch(switch) + 1)
        if self.options.ordered:
            self.state.last.note(("channel", switch), number)
        return number

    def _before(self, switch: str) -> tuple[int, ...]:
        """Return the messages that one to a switch has to come after, by number."""
        epoch = self.state.epochs[self._switches[switch]]
        if self.options.ordered:
            return self._behind("channel", switch)
        earlier = self.state.told.entries() if epoch else ()
        return tuple(n for (to, n), when in earlier if to == switch and when <= epoch)

    def _epoch(self, switch: str) -> int:
        return int(self.state.epochs._values[self._switches[switch]])

    def _behind(self, kind: str, name: str) -> tuple[int, ...]:
        """Return the last message in an ordered channel; whoever sends in it decides the order."""
        location = self.run.locate((kind, name), f"{kind} {name}", lambda: "")
        self.run.append(code(location, Mode.WRITE))
        return tuple(n for key, n in self.state.last.entries() if key == (kind, name))

    def _request(self, barriers: Sequence[Barrier], told: dict[str, list[int]]) -> tuple[int, ...]:
        """Request barriers; return what to wait for."""
        requests = []
        for one in barriers:
            if one.earlier:
                name = f"{one.switch}: barrier"
                requests.append(
                    self.run.start_process(messages.barrier, one.switch, one.earlier, name=name)
                )
            told[one.switch] = [n for n in told.get(one.switch, ()) if n not in one.earlier]
        return tuple(requests)

    def _message_in_words(self, message: Message) -> str:
        switch = message.switch
        if isinstance(message, Barrier):
            return f"{switch}: barrier"
        words = actions_in_words(self.net, switch, message.actions)
        if isinstance(message, FlowMod):
            return f"{switch} → {words}"
        by = f" → {words}" if message.actions is not None else ""
        return f"{switch}: packet-out {message.copy.packet}{by}"

    # What properties ask

    def _watch(self) -> None:
        """Check the properties that must hold after each step; what they read is read by it."""
        for check in self.net.watching:
            check(self.net)

    def violations(self) -> Iterator[BaseException]:
        """Yield what is wrong when nothing is under way any more."""
        self._is_over = True
        for wanted in self.scenario.properties:
            yield from wanted.at_end(self)
        for check in self.net.at_the_end:
            try:
                check(self.net)
            except TreadleError:
                raise
            except Exception as error:
                yield error

    def has_arrived(self, packet: str, host: str) -> bool:
        """Tell whether a packet has arrived at a host."""
        if self._is_over:
            return ((packet, host), True) in self.state.arrived.entries()
        return bool(self.state.arrived.look((packet, host)))

    def table(self, switch: str) -> list[tuple[Key, Actions]]:
        """Return the rules of a switch, highest priority first."""
        if not self._is_over:
            self._table(switch).look_at_all()
        return self.rules(switch)

    def rules(self, switch: str) -> list[tuple[Key, Actions]]:
        """Return the rules of a switch, highest priority first, unrecorded."""
        return sorted(self._table(switch).entries(), key=lambda rule: (-rule[0][0], repr(rule)))

    def buffered(self) -> list[tuple[str, str]]:
        """Return the packets that wait in buffers at the end: switch and packet."""
        return [
            (switch, copy[0])
            for switch in self.net.switch_names
            for copy, _ in self._buffer(switch).entries()
        ]

    def follow(self, sent: Sent) -> tuple[str, bool]:
        """Return where the tables of the end lead a packet, and whether that is a host."""
        peer = self.net.ports[sent.host][min(self.net.ports[sent.host])]
        header, seen = sent.header, set[tuple[str, int]]()
        while peer.node in self._switches and (peer.node, peer.port) not in seen:
            seen.add((peer.node, peer.port))
            rules = self._table(peer.node).answers((peer.port, header))
            out, header = _way(max(rules, key=lambda rule: rule[0][0], default=None), header)
            if out is None:
                return peer.node, False
            peer = self.net.ports[peer.node][out]
        return peer.node, peer.node not in self._switches

    # Helpers

    def fingerprint_of(self) -> object:
        """Stand for the run in a state's fingerprint; what it consists of is compared once."""
        return "world"

    def _table(self, switch: str) -> Any:
        return self.state.tables[self._switches[switch]]

    def _buffer(self, switch: str) -> Any:
        return self.state.buffers[self._switches[switch]]

    def _touch_switch(self, switch: str) -> None:
        """Make all that happens at a switch dependent, if that is asked for."""
        if self.options.level == "switch":
            location = self.run.locate(("switch", switch), switch, lambda: "")
            self.run.append(code(location, Mode.WRITE))

    def _violated(self, violation: Violation) -> None:
        """Report that a property does not hold; the execution goes on."""
        run = self.run
        run.crashes.append(Crash.of(run.current, run.steps_taken, violation))

    def say(self, node: str, text: str) -> None:
        """Take note of what happens at a node, for reports."""
        self.run.say(node, text)


def _barriers(waited: Any, generator: GeneratorType[Any, Any, Any]) -> Any:
    """Return the barriers that a handler waits for; refuse anything else."""
    if waited is _OVER:
        return _OVER
    listed = waited if isinstance(waited, list | tuple) else [waited]
    for one in listed:
        if not isinstance(one, Barrier):
            refuse(
                f"a handler yields {one!r}: yield switch.barrier(), or a list of barriers",
                place_of(generator),
            )
    return listed


def _way(rule: tuple[Key, Actions] | None, header: Header) -> tuple[int | None, Header]:
    """Return the port through which a rule leads, and the header that it leaves with."""
    for name, *args in rule[1] if rule is not None else ():
        if name == "output":
            return args[0], header
        if name == "set_field":
            header = tuple(sorted({**dict(header), **dict(args)}.items()))
    return None, header
