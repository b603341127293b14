"""Settings of another library that are ours while anybody wants them, and as they were before after the last."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from gridstride.closed_at_end import ClosedAtEnd


class SharedSetting(ABC):
    """One such setting. It is the process's, and threads come and go in any order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0

    def take(self) -> None:
        with self._lock:
            if not self._users:
                self.put_ours()
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self.put_back()

    @abstractmethod
    def put_ours(self) -> None: ...

    @abstractmethod
    def put_back(self) -> None: ...


class SettingUser(ClosedAtEnd):
    """Has the setting from `take` to `deactivate`, or to the end of a `with`."""

    def __init__(self, setting: SharedSetting) -> None:
        self._setting, self._active = setting, False

    def take(self) -> None:
        self._setting.take()
        self._active = True

    def deactivate(self) -> None:
        """Put back what was there before, unless others have ours too; a second time does nothing."""
        was_taken, self._active = self._active, False
        if was_taken:
            self._setting.leave()

    close = deactivate
