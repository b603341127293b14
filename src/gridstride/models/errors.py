"""What is wrong with a model, in words for whoever named it."""

from __future__ import annotations


class ModelError(ValueError):
    """A model, its folder or its text cannot be used; the message names the file, the field, the value, the way out."""
