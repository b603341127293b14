"""Palettes: what colour an index has, by a few colours that the others lie between."""

from __future__ import annotations

import numpy as np

from gridstride.gallery.png import Pixels

SIZE = 256


def palette(*colours: str) -> Pixels:
    """(256, 3): from the first colour to the last in equal steps; colours as `#rrggbb`."""
    nodes = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours], np.float64)
    where = np.linspace(0, len(colours) - 1, SIZE)
    return (
        np.stack([np.interp(where, np.arange(len(colours)), channel) for channel in nodes.T], 1)
        .round()
        .astype(np.uint8)
    )


def with_first(first: str, base: Pixels) -> Pixels:
    """The palette with another colour for index 0."""
    changed = base.copy()
    changed[0] = palette(first, first)[0]
    return changed


def indices(values: np.ndarray, low: float, high: float) -> Pixels:
    """Values as indices, `low` as 0 and `high` as 255, those beyond cut off."""
    scaled = (np.asarray(values, np.float64) - low) / (high - low)
    rounded: Pixels = np.rint(scaled.clip(0, 1) * (SIZE - 1)).astype(np.uint8)
    return rounded


RINGS = with_first(
    "#000000", palette("#071b3a", "#1d6fa5", "#f4f1de", "#f2a541", "#7a2e1d", "#160a2b", "#2f4b8f", "#071b3a")
)
"""For counts: begins where it ends, and black for what is not counted."""
EMBERS: Pixels = palette("#05040f", "#3b0f54", "#9b2257", "#e2572b", "#f9b233", "#fdf6d3")
"""Dark to bright, for what is 0 or more."""
BALANCE: Pixels = palette("#0b3c6f", "#3f8fc4", "#cfe3ee", "#f7f4ef", "#f3cdb4", "#d4603f", "#7c1222")
"""Blue through white to red, for what has both signs."""
INK: Pixels = palette("#f6f1e5", "#1b3a4b")
"""For what is either there or not."""
EDDIES = BALANCE.copy()
EDDIES[-1] = palette("#23232b", "#23232b")[0]
"""The same with a dark colour for bodies in the flow, as the last."""
