"""All primitives that are replaced while a test is explored."""

from __future__ import annotations

import sys

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
    pipes.PATCHES,
]


def patches() -> list[Patches]:
    """Return what is replaced; some only if it is used, as importing it takes long."""
    found = [*PATCHES, handles.patches()]
    if "socket" in sys.modules:
        from treadle.threads.primitives.channels import hosts, selecting, sockets

        found += [sockets.PATCHES, hosts.PATCHES, selecting.PATCHES]
        if "ssl" in sys.modules:
            found.append(selecting.of_ssl())
    if "unittest.mock" in sys.modules:
        from treadle.threads.primitives import mocks

        found.append(mocks.PATCHES)
    if "asyncio" in sys.modules:
        from treadle.threads.primitives import event_loops

        found.append(event_loops.PATCHES)
    if "multiprocessing.connection" in sys.modules:
        from treadle.threads.primitives.channels import connections

        found.append(connections.PATCHES)
    if "multiprocessing.pool" in sys.modules:
        found.append(forbidden.pools())
    if "tempfile" in sys.modules:
        from treadle.threads.primitives.outside import temporary_names

        found.append(temporary_names.patches())
    return found
