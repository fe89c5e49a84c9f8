"""Messages between processes: pickled, with their length ahead; half a message is none.

Whoever is killed may have written a part of an answer: that is a death, not an answer.
"""

from __future__ import annotations

import os
import pickle
import struct
from typing import Any

_LENGTH = struct.Struct("!Q")

_read, _write = os.read, os.write
"""Taken before any program is under control."""


def send(descriptor: int, message: object) -> None:
    """Write a message; raise `OSError` if nobody reads."""
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    data = memoryview(_LENGTH.pack(len(content)) + content)
    while data:
        data = data[_write(descriptor, data) :]


def receive(descriptor: int) -> Any:
    """Read a message; raise `EOFError` if there is none, or only a part of one."""
    (length,) = _LENGTH.unpack(_exactly(descriptor, _LENGTH.size))
    return pickle.loads(_exactly(descriptor, length))


def _exactly(descriptor: int, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        some = _read(descriptor, min(length - len(found), 1 << 20))
        if not some:
            raise EOFError
        found += some
    return bytes(found)
