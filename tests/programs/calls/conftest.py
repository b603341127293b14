"""A board with a module loaded on it, as the runtime has it when a program starts."""

from __future__ import annotations

import pytest

from gridstride.virtual.gpu import VirtualGPU

from .boards import Setup


@pytest.fixture
def setup() -> Setup:
    return Setup(VirtualGPU(memory=64 << 20, workers=1))
