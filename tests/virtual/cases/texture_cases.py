"""Texture reads recorded on an H200 (fixtures/textures_h200.npz): texels, modes, coordinates and results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gridstride as gs

FIXTURE = Path(__file__).parents[1] / "fixtures" / "textures_h200.npz"


@dataclass(frozen=True, slots=True)
class Case:
    """`call` sets `v` from the texture `t` and the coordinates `p`; `near` names what may differ, "" for nothing."""

    name: str
    call: str
    out: str
    levels: tuple[np.ndarray, ...]
    linear: bool
    how: dict[str, Any]
    coordinates: np.ndarray
    results: np.ndarray
    near: str = ""
    kernel: str = field(default="", compare=False)

    def texture(self) -> gs.Texture:
        """The texture on the device in use."""
        first: object = gs.to_device(self.levels[0]) if self.linear else self.levels[0]
        return gs.texture(first, mipmaps=self.levels[1:], **self.how)


@cache
def cases() -> dict[str, Case]:
    """All cases by name."""
    with np.load(FIXTURE) as file:
        return {case.name: case for case in _read(dict(file))}


def _read(file: dict[str, np.ndarray]) -> Iterator[Case]:
    index = json.loads(file["cases"].tobytes())
    kernels: dict[tuple[str, str], str] = {}
    given, taken = 0, 0
    for name, case in index.items():
        rows = case["rows"]
        coordinates = np.zeros((rows, 4), np.float32)
        results = np.zeros((rows, 4), np.int32)
        first = file["coordinates"][given : given + rows]
        coordinates[:] = first[:, None]  # components that are the first one again are not stored
        for column in case["in"]:
            coordinates[:, column] = file["coordinates"][given : given + rows]
            given += rows
        for column in case["result"]:
            results[:, column] = file["results"][taken : taken + rows]
            taken += rows
        levels = tuple(file[f"texels{case['texels']}.{level}"] for level in range(case["levels"]))
        kernel = kernels.setdefault((case["call"], case["out"]), f"read{len(kernels)}")
        place, near = case["place"], case.get("near", "")
        yield Case(
            name, case["call"], case["out"], levels, place == "linear", case["how"], coordinates, results, near, kernel
        )


def source(some: Sequence[Case]) -> str:
    """One kernel for each call that the cases make."""
    kernels = {case.kernel: case for case in some}
    return "\n".join(
        f"""extern "C" __global__ void {name}(cudaTextureObject_t t, const float4* c, int n, {case.out}* o) {{
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i >= n) return;
            float4 p = c[i]; {case.out} v; {case.call}; o[i] = v;
        }}"""
        for name, case in kernels.items()
    )


def read(case: Case, module: gs.Module) -> np.ndarray:
    """The words that the device in use reads, four for each coordinate."""
    found = np.zeros((len(case.coordinates), 4), np.float32 if case.out == "float4" else np.int32)
    blocks = -(-len(found) // 128)
    module[case.kernel][blocks, 128](case.texture(), case.coordinates, len(found), found)
    return found.view(np.int32)


def differing(case: Case, found: np.ndarray) -> np.ndarray:
    """Rows that are not what was recorded, as far as the case may differ at all; one NaN is as good as another."""
    if case.out != "float4":
        return np.flatnonzero((found != case.results).any(1))
    x, y = found.view(np.float32), case.results.view(np.float32)
    with np.errstate(invalid="ignore"):
        apart = np.abs(x.astype(np.float64) - y.astype(np.float64))
        most = _ALLOWED[case.near](case, np.abs(y).astype(np.float64))
    same = (found == case.results) | (np.isnan(x) & np.isnan(y))
    return np.flatnonzero(~(same | (apart <= most)).all(1))


_ALLOWED = {
    "": lambda case, y: np.full_like(y, -1.0),
    # mipmap levels from differences: the hardware's lengths are cut somewhere on the way
    "level": lambda case, y: np.full_like(y, 2 / 256),
    # sRGB between texels
    "light": lambda case, y: np.full_like(y, 2.0**-8),
    # sums of two slices of a volume: the last bits of the largest texel
    "last": lambda case, y: np.full_like(y, np.abs(case.levels[0]).max() * 2.0**-25),
    "half": lambda case, y: np.full_like(y, np.abs(case.levels[0].astype(np.float32)).max() * 2.0**-12),
}
"""The bounds of what differs, by the word in the recording."""
