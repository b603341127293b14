"""What is wrong with a model, its inputs or the machine, in one sentence for whoever named it."""

from __future__ import annotations

from gridstride.one_message import OneMessage


class OnnxError(OneMessage, ValueError):
    """A model or an input that cannot be used; the message has the name, the value and the way out."""


class UnsupportedOperator(OnnxError):
    """A node that the engine has no kernel for."""
