"""os-ken applications in the place of a controller, as they are deployed.

Each run makes the application anew, without a manager and without sockets. Its handlers are called
with os-ken's own messages and events; what it sends through a datapath is translated: flow-mods,
packet-outs and barriers. What networks do not have is refused by name. Packets are not buffered in
switches but sent along, as switches do today.

All handler calls conflict, since the application is foreign code, unless its accesses are recorded:
then they conflict as those of a policy do.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from treadle.core.errors import TreadleError
from treadle.networks.world.controller import Barrier, Controller, Event, FlowMod, PacketOut
from treadle.networks.world.frames import frame_of, openflow_header
from treadle.networks.world.matching import Actions, Header
from treadle.networks.world.memory import Remembering, remember_in
from treadle.networks.world.network import Network
from treadle.networks.world.packets import Copy, Sent
from treadle.networks.world.tables import NOTIFIES

_IGNORED = ("OFPHello", "OFPSetConfig", "OFPEchoReply", "OFPEchoRequest", "OFPFeaturesRequest")
"""Messages that change nothing that a network has."""
_BLOCKING = ("sleep", "spawn", "spawn_after")
"""Functions of os-ken's hub that need a clock or threads."""


def os_ken(app: Any, *, connected: bool = True, recorded: bool = False) -> type[Controller]:
    """Return a controller that runs an unmodified os-ken application.

    The switches are connected when the test begins, and have the rules that the application sends
    them then; with `connected=False` they connect while packets are under way already. With
    `recorded`, handler calls conflict only by the attributes and items that they access.
    """
    base = _os_ken_app()
    if not (inspect.isclass(app) and issubclass(app, base)):
        raise TreadleError(f"{app!r} is no os-ken application: give a class derived from OSKenApp")
    if contexts := getattr(app, "_CONTEXTS", {}):
        raise TreadleError(
            f"{app.__name__} asks for the contexts {', '.join(contexts)}, which are other "
            f"applications: those are not supported"
        )
    members: dict[str, Any] = {
        "app": app,
        "is_connected": connected,
        "is_recorded": recorded,
        "__module__": app.__module__,
    }
    if not connected:
        members["start"] = Application.connect
    return type(app.__name__, (Application,), members)


def _os_ken_app() -> Any:
    try:
        from os_ken.base.app_manager import OSKenApp
    except ImportError:
        raise TreadleError(
            "applications of os-ken need os-ken: install the extra with pip install 'treadle[sdn]'"
        ) from None
    return OSKenApp


def instrumented(policy: Any, names: Iterable[str]) -> Any:
    """Return a policy whose accesses are recorded, if it is an application in a named package."""
    if not (inspect.isclass(policy) and issubclass(policy, Application)):
        raise TreadleError("instrument is for applications of os-ken: leave it out")
    module = policy.app.__module__
    if any(module == name or module.startswith(f"{name}.") for name in names):
        return os_ken(policy.app, connected=policy.is_connected, recorded=True)
    return policy


class Application(Controller):
    """Runs an os-ken application: translates its messages, and calls its handlers."""

    app: type[Any]
    is_connected: bool
    is_recorded: bool
    leaves_buffered = False
    may_tell_first = True
    equal_rules_commute = False

    @classmethod
    def prepare(cls, net: Network) -> None:
        """Say headers in the names of OpenFlow."""
        net.packets[:] = [
            Sent(sent.name, sent.group, sent.host, openflow_header(net, sent.host, sent.header))
            for sent in net.packets
        ]

    def __init__(self) -> None:
        own = vars(self)  # nothing of this is what the application remembers
        own["openflow"] = OpenFlow(self.app)
        own["datapaths"] = {
            name: Datapath(self, number, name)
            for number, name in enumerate(self.net.switch_names, start=1)
        }
        own["copies"] = {}
        with _no_clock(self.app):
            own["instance"] = self._made()
        if self.is_connected:
            self.connect()

    def _made(self) -> Any:
        """Make the application; let its accesses be recorded if that is asked for."""
        memory = vars(self)["_memory"]
        if not self.is_recorded:
            memory.unwatch()
            return self.app()
        known = set(vars(_os_ken_app()()))
        made = type(self.app.__name__, (Remembering, self.app), {})()
        kept = {name: vars(made).pop(name) for name in [*vars(made)] if name not in known}
        remember_in(memory, made)
        for name, value in kept.items():
            setattr(made, name, value)
        return made

    # What it is told

    def connect(self) -> None:
        """Tell the application of its switches, as when they connect."""
        for datapath in self.datapaths.values():
            self._call("EventOFPSwitchFeatures", self.openflow.features(datapath))
            self._change_state(datapath)

    def packet_in(self, event: Event) -> None:
        """Ask the application about a packet."""
        datapath, copy = self.datapaths[event.switch.name], event.copy
        data = frame_of(copy.packet, copy.header)
        self.copies[data] = copy
        self._call("EventOFPPacketIn", self.openflow.packet_in(datapath, event.port, data))

    def barrier_reply(self, switch: str) -> None:
        """Tell the application that a switch has done what came before a barrier."""
        self._call("EventOFPBarrierReply", self.openflow.barrier_reply(self.datapaths[switch]))

    def flow_removed(self, switch: str, match: Header, priority: int) -> None:
        """Tell the application that a rule is gone."""
        datapath = self.datapaths[switch]
        self._call("EventOFPFlowRemoved", self.openflow.flow_removed(datapath, match, priority))

    def port_status(self, switch: str, port: int, is_up: bool) -> None:
        """Tell the application that a link went down or came up."""
        datapath = self.datapaths[switch]
        self._call("EventOFPPortStatus", self.openflow.port_status(datapath, port, is_up))

    def hears(self, event: str) -> bool:
        """Tell whether the application has a handler for an event."""
        return bool(self._handlers(event))

    def _handlers(self, event: str) -> list[Any]:
        found = inspect.getmembers(type(self.instance), inspect.isfunction)
        return [
            getattr(self.instance, name)
            for name, function in found
            if any(one.__name__ == event for one in getattr(function, "callers", ()))
        ]

    def _call(self, event: str, message: Any) -> None:
        from os_ken.controller import ofp_event

        with _no_clock(self.app):
            for handler in self._handlers(event):
                handler(getattr(ofp_event, event)(message))

    def _change_state(self, datapath: Datapath) -> None:
        from os_ken.controller.ofp_event import EventOFPStateChange

        datapath.state = "main"
        with _no_clock(self.app):
            for handler in self._handlers("EventOFPStateChange"):
                event = EventOFPStateChange(datapath)
                event.state = "main"
                handler(event)

    # What it sends

    def sent(self, datapath: Datapath, message: Any) -> None:
        """Translate a message of the application."""
        kind = type(message).__name__
        if kind == "OFPFlowMod":
            self._tell_rule(datapath.name, message)
        elif kind == "OFPPacketOut":
            self._tell_packet(datapath.name, message)
        elif kind == "OFPBarrierRequest":
            is_answered = self.hears("EventOFPBarrierReply")
            self.net.tell(Barrier(datapath.name, is_answered=is_answered))
        elif kind not in _IGNORED:
            self._refuse(kind)

    def _refuse(self, what: str) -> None:
        raise TreadleError(
            f"{self.app.__name__} uses {what}, which networks do not have: only flow-mods of one "
            f"table, packet-outs and barriers are supported"
        )

    def _tell_rule(self, switch: str, message: Any) -> None:
        ofproto = self.openflow.ofproto
        if message.table_id not in (0, ofproto.OFPTT_ALL):
            self._refuse(f"table {message.table_id}")
        match = self.openflow.match_of(message.match)
        commands = {
            ofproto.OFPFC_ADD: (False, False),
            ofproto.OFPFC_MODIFY: (True, False),
            ofproto.OFPFC_MODIFY_STRICT: (False, False),
            ofproto.OFPFC_DELETE: (True, True),
            ofproto.OFPFC_DELETE_STRICT: (False, True),
        }
        sweeps, deletes = commands[message.command]
        actions = None if deletes else self._actions_of_rule(switch, message)
        told = FlowMod(switch, match, message.priority, actions, sweeps)
        self.net.tell(told)

    def _actions_of_rule(self, switch: str, message: Any) -> Actions:
        """Return what a rule does: drop, if it says nothing."""
        actions: list[tuple[Any, ...]] = []
        for instruction in message.instructions:
            kind = type(instruction).__name__
            if kind != "OFPInstructionActions":
                self._refuse(kind)
            actions += self._actions(switch, instruction.actions)
        if message.flags & self.openflow.ofproto.OFPFF_SEND_FLOW_REM:
            actions.append(NOTIFIES)
        return tuple(actions or [("drop",)])

    def _tell_packet(self, switch: str, message: Any) -> None:
        ofproto = self.openflow.ofproto
        if message.data is None or bytes(message.data) not in self.copies:
            self._refuse("a packet-out of a packet that no switch has sent to it")
        copy: Copy = self.copies[bytes(message.data)]
        port = message.in_port
        if port in (ofproto.OFPP_CONTROLLER, ofproto.OFPP_ANY):
            port = 0
        actions: Actions | None = tuple(self._actions(switch, message.actions, port))
        if ("table",) in (actions or ()):
            actions = None
        self.net.tell(PacketOut(switch, copy, port, actions, is_buffered=False))

    def _actions(self, switch: str, actions: Any, port: int = 0) -> list[tuple[Any, ...]]:
        translated = []
        for action in actions:
            kind = type(action).__name__
            if kind == "OFPActionOutput":
                translated.append(self._output(switch, action.port, port))
            elif kind == "OFPActionSetField":
                translated.append(("set_field", (action.key, action.value)))
            else:
                self._refuse(kind)
        return translated

    def _output(self, switch: str, port: int, in_port: int) -> tuple[Any, ...]:
        ofproto = self.openflow.ofproto
        special: dict[int, tuple[Any, ...]] = {
            ofproto.OFPP_FLOOD: ("flood",),
            ofproto.OFPP_ALL: ("flood",),
            ofproto.OFPP_CONTROLLER: ("controller",),
            ofproto.OFPP_TABLE: ("table",),
            ofproto.OFPP_IN_PORT: ("output", in_port),
        }
        if port in special:
            return special[port]
        if port > ofproto.OFPP_MAX:
            self._refuse(f"the port {port:#x}")
        self.net.check_actions(switch, (("output", port),))
        return ("output", port)


class Datapath:
    """A switch as an application sees it: takes messages for it."""

    def __init__(self, application: Application, number: int, name: str) -> None:
        self._application = application
        self.id = number
        self.name = name
        self.ofproto = application.openflow.ofproto
        self.ofproto_parser = application.openflow.parser
        self.state = "config"
        self.address = (name, 6653)
        self.is_active = True
        self.ports: dict[int, Any] = {}
        self._xid = 0

    def set_xid(self, message: Any) -> int:
        """Number a message."""
        self._xid += 1
        message.set_xid(self._xid)
        return self._xid

    def send_msg(self, message: Any, close_socket: bool = False) -> bool:
        """Take a message."""
        del close_socket
        self._application.sent(self, message)
        return True

    def send_barrier(self) -> None:
        """Take a barrier request."""
        self.send_msg(self.ofproto_parser.OFPBarrierRequest(self))

    def __repr__(self) -> str:
        return f"<datapath {self.name}>"


class OpenFlow:
    """The version of OpenFlow that an application speaks, and its messages."""

    def __init__(self, app: Any) -> None:
        from os_ken.ofproto import ofproto_v1_3, ofproto_v1_3_parser

        versions = app.OFP_VERSIONS
        if versions is not None and ofproto_v1_3.OFP_VERSION not in versions:
            raise TreadleError(
                f"{app.__name__} does not speak OpenFlow 1.3, the only version that is supported: "
                f"add ofproto_v1_3.OFP_VERSION to its OFP_VERSIONS"
            )
        self.ofproto: Any = ofproto_v1_3
        self.parser: Any = ofproto_v1_3_parser

    def features(self, datapath: Datapath) -> Any:
        """Return what a switch says about itself."""
        return self.parser.OFPSwitchFeatures(
            datapath, datapath_id=datapath.id, n_buffers=0, n_tables=1, auxiliary_id=0,
            capabilities=0,
        )  # fmt: skip

    def packet_in(self, datapath: Datapath, port: int, data: bytes) -> Any:
        """Return the question about a packet."""
        return self.parser.OFPPacketIn(
            datapath, self.ofproto.OFP_NO_BUFFER, len(data), self.ofproto.OFPR_NO_MATCH, 0, 0,
            self.parser.OFPMatch(in_port=port), data,
        )  # fmt: skip

    def barrier_reply(self, datapath: Datapath) -> Any:
        """Return the reply to a barrier request."""
        return self.parser.OFPBarrierReply(datapath)

    def flow_removed(self, datapath: Datapath, match: Header, priority: int) -> Any:
        """Return the news that a rule is gone."""
        return self.parser.OFPFlowRemoved(
            datapath, priority=priority, reason=self.ofproto.OFPRR_DELETE, table_id=0,
            match=self.parser.OFPMatch(**dict(match)),
        )  # fmt: skip

    def port_status(self, datapath: Datapath, port: int, is_up: bool) -> Any:
        """Return the news that a port went down or came up."""
        state = 0 if is_up else self.ofproto.OFPPS_LINK_DOWN
        described = self.parser.OFPPort(
            port, f"02:00:00:00:00:{port:02x}", f"{datapath.name}-eth{port}", 0, state,
            0, 0, 0, 0, 0, 0,
        )  # fmt: skip
        return self.parser.OFPPortStatus(datapath, self.ofproto.OFPPR_MODIFY, described)

    def match_of(self, match: Any) -> Header:
        """Return a match as tables hold it."""
        return tuple(sorted((name, _value(value)) for name, value in match.items()))


def _value(value: Any) -> Any:
    """Return a value of a match; one with a mask as text."""
    if not isinstance(value, tuple):
        return value
    if isinstance(value[0], str):
        return "/".join(value)
    raise TreadleError(f"a match has the mask {value!r}: only addresses can have masks")


@contextlib.contextmanager
def _no_clock(app: type) -> Iterator[None]:
    """Refuse what an application starts besides its handlers: threads, and waiting for a time."""
    from os_ken.lib import hub

    def refused(name: str) -> Any:
        def refuse(*_args: Any, **_kwargs: Any) -> None:
            raise TreadleError(
                f"{app.__name__} calls hub.{name}(), which needs a clock: only handlers of events "
                f"are supported"
            )

        return refuse

    originals = {name: getattr(hub, name) for name in _BLOCKING}
    for name in originals:
        setattr(hub, name, refused(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(hub, name, original)
