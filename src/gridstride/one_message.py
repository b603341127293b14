"""Errors that a notebook shows as one message: what is wrong and what to do, without forty lines of traceback."""

from __future__ import annotations


class OneMessage:
    """An exception whose message says all there is to say; IPython asks it how it is to be shown."""

    def _render_traceback_(self) -> list[str]:
        notes = getattr(self, "__notes__", ())
        return [f"{type(self).__name__}: {self}", *notes]
