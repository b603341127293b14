"""What keeps a load from being run."""

from __future__ import annotations


class LoadError(ValueError):
    """The load asked for cannot be; the message names what and the way out."""


class ServerGone(Exception):
    """The server cannot be reached, or no longer."""
