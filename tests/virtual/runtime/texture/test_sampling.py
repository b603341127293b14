"""Texture reads give the bits that an H200 gave: every mode, format and dimension, edges and odd coordinates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from texture_cases import Case, cases, differing, read, source

import gridstride as gs

EXACT = [name for name, case in cases().items() if not case.near]
BOUNDED = [name for name, case in cases().items() if case.near]


@pytest.fixture(scope="module")
def module() -> Iterator[gs.Module]:
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20)):
        yield gs.cuda(source(list(cases().values())))


def wrong(module: gs.Module, names: list[str]) -> dict[str, object]:
    """Cases that differ, with one coordinate, what was read and what was recorded."""
    found: dict[str, object] = defaultdict(list)
    for name in names:
        case = cases()[name]
        words = read(case, module)
        for row in differing(case, words)[:1]:
            found[name] = _shown(case, words, int(row))
    return dict(found)


def _shown(case: Case, words: np.ndarray, row: int) -> tuple[object, ...]:
    dtype = np.float32 if case.out == "float4" else np.int32
    return case.coordinates[row].tolist(), words[row].view(dtype).tolist(), case.results[row].view(dtype).tolist()


def test_the_recording_covers_what_there_is() -> None:
    how = [case.how for case in cases().values()]
    assert {h.get("filter", "point") for h in how} == {"point", "linear"}
    assert {"clamp", "wrap", "mirror", "border"} <= {h.get("address") for h in how if isinstance(h.get("address"), str)}
    dtypes = {case.levels[0].dtype.name for case in cases().values()}
    assert {"uint8", "int8", "uint16", "int16", "int32", "float16", "float32"} <= dtypes
    assert len(EXACT) > 140


@pytest.mark.parametrize("part", range(4))
def test_same_bits_as_the_gpu(module: gs.Module, part: int) -> None:
    assert wrong(module, EXACT[part::4]) == {}


def test_what_differs_stays_within_its_bound(module: gs.Module) -> None:
    assert wrong(module, BOUNDED) == {}


@pytest.mark.gpu
def test_the_gpu_still_does_what_was_recorded() -> None:
    with gs.use("physical"):
        on_gpu = gs.cuda(source(list(cases().values())))
        changed = [name for name, case in cases().items() if (read(case, on_gpu) != case.results).any()]
    assert changed == []
