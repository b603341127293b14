"""The colour of each category, by the name of its class in profile.css, the same in every picture."""

from __future__ import annotations

_CLASSES = {
    "kernels": "c-work", "operators": "c-work", "communication": "c-talk", "copies": "c-copy", "staging": "c-copy",
    "data_loading": "c-data", "launch_gaps": "c-launch", "allocation": "c-talk", "profiler": "c-rest",
    "host": "c-host",
}  # fmt: skip


def class_of(category: str) -> str:
    """The class for a category's key."""
    return _CLASSES[category]
