"""What is wrong with a model, in words for whoever named it."""

from __future__ import annotations


class ModelError(ValueError):
    """A model, its folder or its text cannot be used; the message names the file, the field, the value, the way out."""


class TemplateError(ModelError):
    """A chat template that is not there, or that refuses; `reason` says it without the folder's place."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
