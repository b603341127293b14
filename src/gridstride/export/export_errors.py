"""What keeps a kernel from being exported."""

from __future__ import annotations

from gridstride.one_message import OneMessage


class ExportError(OneMessage, Exception):
    """A kernel, a folder or a compiler that is no use; the message names it and the way out."""
