"""The two machines that a test of device code can run on: the virtual GPU, and a physical one where there is one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gridstride as gs

BOTH = ["virtual", pytest.param("physical", marks=pytest.mark.gpu)]


def opened(kind: str) -> Iterator[gs.VirtualGPU | gs.PhysicalGPU]:
    """The machine in use while the test runs."""
    made = gs.VirtualGPU(workers=2, memory=256 << 20, time_limit=20) if kind == "virtual" else gs.PhysicalGPU(0)
    with gs.use(made) as device:
        yield device


BUILDS_AND_GPU = ["fast", "observed", pytest.param("physical", marks=pytest.mark.gpu)]


def opened_for_clusters(kind: str) -> Iterator[str]:
    """One of the two builds of the virtual GPU, or the physical one, in use; its kind."""
    if kind == "physical":
        with gs.use("physical") as device:
            if not device.properties.max_cluster:
                pytest.skip(f"{device.name} has no clusters")
            yield kind
        return
    with gs.use(gs.VirtualGPU(workers=2, time_limit=20, sanitize=kind == "observed")):
        yield kind
