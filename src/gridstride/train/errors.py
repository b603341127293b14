"""What training says when it cannot go on."""

from __future__ import annotations


class TrainError(ValueError):
    """Something asked for that cannot be: configuration, data, a folder. The message names it and the way out."""


class TrainFailed(RuntimeError):
    """Training began and could not go on; what was saved before is intact. The message says where and how to go on."""
