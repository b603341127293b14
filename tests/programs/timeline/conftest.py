"""A timeline with three streams, and how tests give it work."""

from __future__ import annotations

import pytest

from gridstride.programs.timeline.model import Timeline

from .timelines import with_streams


@pytest.fixture
def timeline() -> Timeline:
    return with_streams("h200")
