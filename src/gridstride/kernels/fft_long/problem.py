"""The discrete Fourier transform of rows of 1,048,576 complex numbers, float32, real and imaginary part side by side.

X[k] = sum over n of x[n] exp(-2 pi i k n / 1048576)

`scratch` and `counters` are memory for the kernel's own use, whose contents at the start nobody knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size

LENGTH = 1 << 20


def parts(values: Array) -> Array:
    """Complex numbers as their two parts along a last axis."""
    return np.stack([values.real, values.imag], -1)


def reference(v: Values) -> dict[str, Array]:
    """Of each row; not divided by anything."""
    return {"X": parts(np.fft.fft(v["x"][..., 0] + 1j * v["x"][..., 1], axis=1))}


def magnitude(v: Values) -> dict[str, Array]:
    """Both parts of every number go into each part of every result."""
    return {"X": np.broadcast_to(abs(v["x"]).sum((1, 2), keepdims=True), v["x"].shape)}


def waves_and_impulses(v: Values, draw: Generator) -> dict[str, Any]:
    """Each row one wave or a single 1: all that there is lies at one frequency, and the others are nothing but
    rounding; or the result is the factors themselves, each by itself.
    """
    x, rows = np.zeros_like(v["x"]), len(v["x"])
    for row, frequency, part in zip(x, draw.integers(LENGTH, size=rows), draw.integers(4, size=rows), strict=True):
        if part < 2:
            row[frequency, part] = 1.0
        else:
            row[:] = parts(np.exp(2j * np.pi / LENGTH * (frequency * np.arange(LENGTH) % LENGTH)))
    return {"x": x}


def torch_fft(v: Values) -> object:
    """cuFFT by PyTorch, into the result's memory."""
    import torch

    return torch.fft.fft(torch.view_as_complex(v["x"]), dim=1, out=torch.view_as_complex(v["X"]))


problem = Problem(
    name="fft_long",
    title="Fourier transform of rows of 1,048,576 complex numbers, float32",
    parameters=(
        array("x", "float32", "rows", "1048576", "2"),
        array("X", "float32", "rows", "1048576", "2", role="out"),
        array("scratch", "float32", "rows", "1048576", "2", role="scratch"),
        array("counters", "uint32", "2*rows+1", role="scratch"),
        size("rows"),
    ),
    reference=reference,
    magnitude=magnitude,
    special={"waves and impulses": waves_and_impulses},
    terms="2048",  # however plainly both steps of the usual way, of 1,024 each, add up
    alignment=256,  # where allocators begin an array; a row is 8 MB, so that none begins elsewhere
    zeros=("rows",),
    without={
        "nonfinite": "what becomes of an infinity hangs on which factors of 1 and 0 are multiplied by",
        "not a number": "the same: a factor of 1 leaves the imaginary part of a number alone whose real part is NaN",
        "spikes": "impulses, and what normal data says besides",
        "small": "a transform is linear: of numbers of another size it is what it is of others, times as much",
        "denormal": "the same, and of a million of them what rounding leaves",
        "zeros": "the same, times 0",
        "equal": "a wave of frequency 0, which waves may have",
        "whole": "factors are not whole numbers, and so no answer is exact",
        "cancellation": "all frequencies of normal data but for a few cancel as much",
    },
    public=({"rows": 2}, {"rows": 1}),
    largest={"rows": 1},
    widest={"rows": 7},
    wide_data=("normal",),
    tiles=(2,),
    observed={"rows": 2},
    timed={"rows": 64},
    flops="104857600*rows",
    bytes="16777216*rows",
    pieces="rows",
    peers={"torch.fft": Peer(torch_fft)},
)
