"""Spectra of frames: A[f][k] = |sum over j of X[f][j] exp(-2 pi i j k / N)| / N, for k from 0 to N / 2."""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

TONES = 3


def chords(v: Values) -> dict[str, object]:
    """In each frame three tones, whose frequencies and strengths are drawn, and noise a tenth as strong."""
    drawn = np.asarray(v["X"], np.float64)
    turns = np.arange(drawn.shape[1])
    sound = 0.1 * drawn
    for tone in range(TONES):
        pitch = np.abs(drawn[:, tone : tone + 1]) % 1.0 / 2
        sound += np.abs(drawn[:, -tone - 1 :][:, :1]) * np.sin(2 * np.pi * pitch * turns + tone)
    return {"X": sound.astype(np.float32)}


def reference(v: Values) -> dict[str, Array]:
    """By NumPy, in float64."""
    return {"A": abs(np.fft.rfft(v["X"], axis=1)) / v["X"].shape[1]}


def magnitude(v: Values) -> dict[str, Array]:
    """The mean of the samples' absolute values, at each frequency."""
    bins = v["X"].shape[1] // 2 + 1
    return {"A": np.repeat(abs(v["X"]).mean(axis=1, keepdims=True), bins, axis=1)}


problem = Problem(
    name="spectra",
    title="The spectra of frames of samples, float32",
    parameters=(
        array("X", "float32", "frames", "N"),
        array("A", "float32", "frames", "N//2 + 1", role="out"),
        size("frames"),
        size("N"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=chords,
    terms="N",
    public=({"frames": 3, "N": 100}, {"frames": 1, "N": 31}),
    largest={"frames": 8, "N": 2048},
    observed={"frames": 8, "N": 2048},
    timed={"frames": 8, "N": 2048},
    flops="25*frames*N",
    bytes="4*frames*(N + N//2 + 1)",
)
