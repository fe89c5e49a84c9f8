"""All primitives that are replaced while a test is explored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection

from treadle.threads.primitives import (
    barrier,
    cached_property,
    clock,
    condition,
    events_and_semaphores,
    forbidden,
    futures,
    imports,
    local,
    locks,
    pools,
    queues,
    randomness,
    raw_thread,
    thread,
)
from treadle.threads.primitives.channels import pipes
from treadle.threads.primitives.outside import (
    file_objects,
    handles,
    os_functions,
    printing,
    surroundings,
)
from treadle.threads.primitives.patches import Patches

PATCHES: list[Patches] = [
    thread.PATCHES,
    raw_thread.PATCHES,
    clock.PATCHES,
    randomness.PATCHES,
    local.PATCHES,
    forbidden.PATCHES,
    locks.PATCHES,
    condition.PATCHES,
    events_and_semaphores.PATCHES,
    barrier.PATCHES,
    queues.PATCHES,
    futures.PATCHES,
    pools.PATCHES,
    cached_property.PATCHES,
    imports.PATCHES,
    surroundings.PATCHES,
    os_functions.PATCHES,
    file_objects.PATCHES,
    printing.PATCHES,
    handles.PATCHES,
    pipes.PATCHES,
]


def _of_mocks() -> list[Patches]:
    from treadle.threads.primitives import mocks

    return [mocks.PATCHES]


def _of_monkeypatch() -> list[Patches]:
    from treadle.threads.primitives import put_in_place

    return [put_in_place.PATCHES]


def _of_captured_logs() -> list[Patches]:
    from treadle.threads.primitives.outside import captured_logs

    return [captured_logs.patches()]


def _of_databases() -> list[Patches]:
    from treadle.threads.primitives.outside import databases

    return [databases.PATCHES]


def _of_event_loops() -> list[Patches]:
    from treadle.threads.primitives import event_loops

    return [event_loops.PATCHES]


def _of_sockets() -> list[Patches]:
    from treadle.threads.primitives.channels import hosts, selecting, sockets

    return [sockets.PATCHES, hosts.PATCHES, selecting.PATCHES]


def _of_ssl() -> list[Patches]:
    from treadle.threads.primitives.channels import selecting

    return [selecting.of_ssl()]


def _of_descriptor_flags() -> list[Patches]:
    from treadle.threads.primitives.channels import descriptor_flags

    return [descriptor_flags.PATCHES]


def _of_connections() -> list[Patches]:
    from treadle.threads.primitives.channels import connections

    return [connections.PATCHES]


def _of_temporary_names() -> list[Patches]:
    from treadle.threads.primitives.outside import temporary_names

    return [temporary_names.patches()]


_WHEN_LOADED: dict[str, Callable[[], list[Patches]]] = {
    "socket": _of_sockets,
    "ssl": _of_ssl,
    "fcntl": _of_descriptor_flags,
    "unittest.mock": _of_mocks,
    "_pytest.monkeypatch": _of_monkeypatch,
    "_pytest.logging": _of_captured_logs,
    "sqlite3": _of_databases,
    "asyncio": _of_event_loops,
    "multiprocessing.connection": _of_connections,
    "multiprocessing.pool": lambda: [forbidden.pools()],
    "tempfile": _of_temporary_names,
}
"""What is replaced only if some module is used, as importing it takes long."""


def patches() -> list[Patches]:
    """Return what is replaced."""
    return [*PATCHES, *patches_of(loaded())]


def loaded() -> frozenset[str]:
    """Return the modules that are loaded now, of those for which something is replaced.

    One whose code still runs, and imports others, may not have yet what is to be replaced.
    """
    return frozenset(filter(_is_there, _WHEN_LOADED))


def _is_there(name: str) -> bool:
    """Tell whether a module is loaded; `None` stands for one that must not be."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return module is not None and not getattr(spec, "_initializing", False)


def patches_of(modules: Collection[str]) -> list[Patches]:
    """Return what is replaced because of some modules."""
    return [one for name, of in _WHEN_LOADED.items() if name in modules for one in of()]
