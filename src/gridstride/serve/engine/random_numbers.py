"""The random number behind each token: it depends on the request's seed and the token's index alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1


def uniforms(seeds: Sequence[int], index: NDArray[Any]) -> NDArray[np.float64]:
    """Random numbers [..., S] in [0, 1) of tokens `index` [..., S] of requests with `seeds` [S].

    They are the same in any batch, on any device: SplitMix64's finaliser over seed and index (Steele, Lea, Flood 2014).
    """
    start = np.array([seed * 0x9E3779B97F4A7C15 & _MASK for seed in seeds], np.uint64)
    z = start + (index.astype(np.uint64) + np.uint64(1)) * np.uint64(0xD1B54A32D192ED03)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
