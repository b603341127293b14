"""Calibration of a recording: samples of four sensors take turns, and each sensor has a curve of its own.

Sample i is of sensor i mod 4, and y[i] its curve at v = x[i]:

  0  thermistor   sum of v^k / k! for k from 0 to 10
  1  microphone   six times v <- v (1.5 - 0.5 v^2)
  2  photodiode   eight times v <- v + 0.125 v^2
  3  flow meter   (1 + v^2) u, where u begins as 0.85 and becomes four times u (1.5 - 0.5 (1 + v^2) u^2)

A converter gives x from -1 to 1, or NaN for a sample that is missing, which is NaN in y. No other x is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

CHANNELS = 4


def thermistor(v: Array) -> Array:
    """e to the v, by ten terms of its series."""
    r = np.ones_like(v)
    for k in range(10, 0, -1):
        r = 1.0 + r * v / k
    return r


def microphone(v: Array) -> Array:
    """A soft limiter: six steps towards -1, 0 or 1."""
    for _ in range(6):
        v = v * (1.5 - 0.5 * v * v)
    return v


def photodiode(v: Array) -> Array:
    """Bent upwards, eight times by a little."""
    for _ in range(8):
        v = v + 0.125 * v * v
    return v


def flow_meter(v: Array) -> Array:
    """The square root of 1 + v², by four of Newton's steps."""
    square = 1.0 + v * v
    inverse = np.full_like(v, 0.85)
    for _ in range(4):
        inverse = inverse * (1.5 - 0.5 * square * inverse * inverse)
    return square * inverse


CURVES = (thermistor, microphone, photodiode, flow_meter)


def reference(v: Values) -> dict[str, Array]:
    """Sample i is of channel i mod 4."""
    y = np.empty_like(v["x"])
    for channel, curve in enumerate(CURVES):
        y[channel::CHANNELS] = curve(v["x"][channel::CHANNELS])
    return {"y": y}


def magnitude(v: Values) -> dict[str, Array]:
    """The thermistor's terms have both signs below 0; the other curves keep the relative error that they begin with."""
    y = abs(reference(v)["y"])
    y[::CHANNELS] = thermistor(abs(v["x"][::CHANNELS]))
    return {"y": y}


def in_range(v: Values) -> dict[str, Any]:
    """A converter gives -1 to 1, or NaN."""
    return {"x": np.clip(v["x"], -1.0, 1.0)}


problem = Problem(
    name="calibrate",
    title="Calibration curves of four interleaved channels, float32",
    parameters=(array("x", "float32", "n"), array("y", "float32", "n", role="out"), size("n")),
    reference=reference,
    magnitude=magnitude,
    terms="32",
    arrange=in_range,
    without={
        "spikes": "x is from -1 to 1",
        "cancellation": "x is from -1 to 1",
        "nonfinite": "x is from -1 to 1, or NaN",
    },
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 2055}, {"n": 514}, {"n": 3}, {"n": 1}),
    largest={"n": 6000},
    widest={"n": 300_000},
    tiles=(4, 32, 128, 256, 1024),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="19*n",
    bytes="8*n",
)
