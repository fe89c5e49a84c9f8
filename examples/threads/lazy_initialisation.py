"""Double-checked initialisation: create something at its first use, without locking ever after.

Two classic mistakes. Without the second check under the lock, a thread that waited for the lock
creates it again. And if the object is stored before it is complete, a thread that finds it does not
wait for the lock and uses it half-made.
"""

import threading


class Settings:
    """Something expensive: filled after it was created."""

    def __init__(self) -> None:
        self.colour = ""

    def load(self) -> None:
        """Fill it."""
        self.colour = "blue"


class CheckedOnce:
    """Checks, locks and creates: two threads may both have found nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._settings: Settings | None = None

    def get(self) -> Settings:
        """Return the settings."""
        if self._settings is None:
            with self._lock:
                settings = Settings()
                settings.load()
                self._settings = settings
        return self._settings


class StoredTooEarly(CheckedOnce):
    """Stores the settings before they are loaded."""

    def get(self) -> Settings:
        """Return the settings, perhaps half-made."""
        if self._settings is None:
            with self._lock:
                if self._settings is None:
                    self._settings = Settings()
                    self._settings.load()
        return self._settings


class DoubleChecked(CheckedOnce):
    """Checks again under the lock, and stores what is complete."""

    def get(self) -> Settings:
        """Return the settings."""
        if self._settings is None:
            with self._lock:
                if self._settings is None:
                    settings = Settings()
                    settings.load()
                    self._settings = settings
        return self._settings


def checked_once() -> None:
    """Two threads can get different settings."""
    _use(CheckedOnce())


def stored_too_early() -> None:
    """A thread can get settings that are not loaded yet."""
    _use(StoredTooEarly())


def double_checked() -> None:
    """Both threads get the same settings, complete."""
    _use(DoubleChecked())


def _use(lazy: CheckedOnce) -> None:
    seen: list[Settings | None] = [None, None]

    def use(index: int) -> None:
        settings = lazy.get()
        assert settings.colour == "blue", "the settings are not loaded"
        seen[index] = settings

    threads = [threading.Thread(target=use, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[0] is seen[1], "the settings were created twice"
