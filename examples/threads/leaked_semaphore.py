"""A semaphore that an exception leaks.

A pool lends one connection at a time. A query that fails skips the line that gives the connection
back, and the next one waits for ever: only if it comes second. `with` gives it back in any case.
"""

import threading


class Pool:
    """Lends connections."""

    def __init__(self, size: int) -> None:
        self._free = threading.Semaphore(size)

    def query(self, text: str) -> int:
        """Run a query on a connection; one that fails keeps it."""
        self._free.acquire()
        answer = _answer(text)
        self._free.release()
        return answer


class SafePool(Pool):
    """Lends connections and gets them back."""

    def query(self, text: str) -> int:
        """Run a query on a connection, and give it back in any case."""
        with self._free:
            return _answer(text)


def _answer(text: str) -> int:
    if not text:
        raise ValueError("empty query")
    return len(text)


def leaking() -> None:
    """The good query waits for ever if the bad one was faster."""
    _good_and_bad(Pool(1))


def returning() -> None:
    """Both queries end in every order."""
    _good_and_bad(SafePool(1))


def _good_and_bad(pool: Pool) -> None:
    answers = []

    def good() -> None:
        answers.append(pool.query("select"))

    def bad() -> None:
        try:
            pool.query("")
        except ValueError:
            return

    threads = [threading.Thread(target=good), threading.Thread(target=bad)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [6]
