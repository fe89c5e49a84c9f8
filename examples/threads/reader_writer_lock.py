"""A reader-writer lock: many readers, or one writer.

The first reader locks writers out and the last one lets them in again; a counter says who is first
and last. The counter needs a lock of its own, also where readers leave: without it two that leave
at the same time can both miss that they are the last, and the writer waits for ever; or the writer
is let in while somebody reads.
"""

import threading


class ReaderWriterLock:
    """Readers share, writers exclude."""

    def __init__(self) -> None:
        self._readers = 0
        self._counter = threading.Lock()
        self._writing = threading.Lock()

    def acquire_read(self) -> None:
        """Wait until nobody writes."""
        with self._counter:
            self._readers += 1
            if self._readers == 1:
                self._writing.acquire()

    def release_read(self) -> None:
        """Leave; the last one lets writers in."""
        with self._counter:
            self._readers -= 1
            if self._readers == 0:
                self._writing.release()

    def acquire_write(self) -> None:
        """Wait until nobody reads or writes."""
        self._writing.acquire()

    def release_write(self) -> None:
        """Leave."""
        self._writing.release()


class LastReaderForgotten(ReaderWriterLock):
    """Counts readers that leave without the lock of the counter."""

    def release_read(self) -> None:
        """Leave; two at once can both miss that they are the last."""
        self._readers -= 1
        if self._readers == 0:
            self._writing.release()


class Table:
    """Two values that belong together."""

    def __init__(self, lock: ReaderWriterLock) -> None:
        self._lock = lock
        self.left = 0
        self.right = 0

    def read(self) -> None:
        """See both values, of the same time."""
        self._lock.acquire_read()
        assert self.left == self.right, "read in the middle of a write"
        self._lock.release_read()

    def write(self) -> None:
        """Change both."""
        self._lock.acquire_write()
        self.left += 1
        self.right += 1
        self._lock.release_write()


def uncounted_leaving() -> None:
    """Readers that leave at the same time can lock the writer out, or let it in too early."""
    _two_readers_and_a_writer(LastReaderForgotten())


def counted_leaving() -> None:
    """No reader sees half a write, and everybody gets in."""
    _two_readers_and_a_writer(ReaderWriterLock())


def _two_readers_and_a_writer(lock: ReaderWriterLock) -> None:
    table = Table(lock)
    threads = [
        threading.Thread(target=table.read),
        threading.Thread(target=table.read),
        threading.Thread(target=table.write),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (table.left, table.right) == (1, 1)
