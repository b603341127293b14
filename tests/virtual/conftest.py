"""Lets the tests of this folder import its helpers, and gives each test a small virtual GPU of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gridstride as gs

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), *(str(HERE / folder) for folder in ("cases", "models", "forms"))]


@pytest.fixture
def gpu() -> Iterator[gs.VirtualGPU]:
    """A virtual GPU in use, with two workers and a time limit far above what any test needs."""
    with gs.use(gs.VirtualGPU(workers=2, memory=256 << 20, time_limit=20)) as device:
        yield device


if "GRIDSTRIDE_LOWERED_FORMS" in os.environ:
    import lowered_forms

    lowered_forms.install()
