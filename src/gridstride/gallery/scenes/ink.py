"""Noise that becomes vortices: in the plane those of one sign merge, until few are left."""

from __future__ import annotations

import numpy as np

import gridstride as gs
from gridstride.gallery.palettes import indices
from gridstride.gallery.png import Pixels
from gridstride.gallery.rung import Rung

DT = 0.7
FASTEST = 3.0  # cells a unit of time, at the start
SMALLEST, LARGEST = 20.0, 46.0  # of the waves that the start is made of, cells
BRIGHT = 0.16  # turns that have the last colours


class Ink:
    """Velocity and pressure, and the memory of the next ones."""

    def __init__(self, width: int, height: int) -> None:
        self._sizes = (height, width)
        self._rung = Rung("stable_fluids", {"H": height, "W": width})
        self._velocity, self._pressure = gs.to_device(whirls(width, height)), gs.zeros((height, width))
        self._after, self._pressure_after = gs.empty((2, height, width)), gs.empty((height, width))
        self._work = gs.empty((5, height, width))

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            args = (self._velocity, self._pressure, self._after, self._pressure_after, self._work)
            self._rung(*args, *self._sizes, DT)
            self._velocity, self._after = self._after, self._velocity
            self._pressure, self._pressure_after = self._pressure_after, self._pressure

    def picture(self) -> Pixels:
        """Vorticity, one way blue and the other way red; its root, so that what is faint is seen as well."""
        u, v = self._velocity.numpy().astype(np.float64)
        turning = v - np.roll(v, 1, 1) - u + np.roll(u, 1, 0)
        return indices(np.copysign(np.sqrt(abs(turning)), turning), -(BRIGHT**0.5), BRIGHT**0.5)


def whirls(width: int, height: int) -> np.ndarray:
    """(2, H, W): the turned slope of noise with waves of middling length, which piles up nowhere."""
    noise = np.random.default_rng(12).standard_normal((height, width))
    wave = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width))
    band = (wave > 1 / LARGEST) & (wave < 1 / SMALLEST)
    band[0, 1] |= not band.any()  # of a field smaller than that, its longest wave
    stream = np.fft.irfft2(np.fft.rfft2(noise) * band, (height, width))
    velocity = np.stack([np.roll(stream, -1, 0) - stream, stream - np.roll(stream, -1, 1)])
    result: np.ndarray = (velocity * (FASTEST / abs(velocity).max())).astype(np.float32)
    return result
