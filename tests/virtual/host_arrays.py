"""Arrays of the host that kernels of the tests write to."""

from __future__ import annotations

import numpy as np


def zeros(n: int) -> np.ndarray:
    """Whole numbers of 32 bits."""
    return np.zeros(n, np.int32)
