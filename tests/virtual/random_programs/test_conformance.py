"""Random programs of every family give the bits that an H200 gave, NaNs' payloads apart."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import conformance_programs as programs
import numpy as np
import pytest

import gridstride as gs

FIXTURE = Path(__file__).parents[1] / "fixtures" / "conformance_h200.npz"
TESTED = 48
"""Programs that are run here; `python bench/conformance.py compare` runs all that are recorded."""

PER_MODULE = 12


@cache
def recorded() -> tuple[np.ndarray, str]:
    """Digests by program and slot, and the version of the first 50 programs."""
    with np.load(FIXTURE) as file:
        return file["values"], str(file["version"])


def test_the_recording_is_of_these_programs() -> None:
    values, version = recorded()
    assert len(values) >= 2000
    assert version == programs.version([programs.program(seed) for seed in range(50)]), "record again"


@pytest.mark.parametrize("first", range(0, TESTED, PER_MODULE))
def test_same_bits_as_the_gpu(gpu: gs.VirtualGPU, first: int) -> None:
    some = [programs.program(seed) for seed in range(first, first + PER_MODULE)]
    values, _ = programs.digests(some, programs.run(some))
    wrong = np.argwhere(values != recorded()[0][first : first + PER_MODULE])
    assert [f"program {some[p].seed}: {some[p].slots[s].text}" for p, s in wrong] == []
