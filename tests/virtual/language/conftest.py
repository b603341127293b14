"""What tests of whole algorithms share."""

from __future__ import annotations

import pytest

import gridstride as gs


@pytest.fixture(params=[False, True], ids=["fast", "observed"])
def both_builds(request: pytest.FixtureRequest, gpu: gs.VirtualGPU) -> bool:
    """Whether the test runs on the observed build; it runs on either."""
    gpu.sanitize = request.param
    return gpu.sanitize
