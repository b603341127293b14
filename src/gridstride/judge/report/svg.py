"""Drawing: elements with everything escaped, and the scale of a logarithmic axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup, escape

WIDE = 1180
"""Pixels across a picture in a window."""
NARROW = 340
"""On a phone: a picture of the other width would be shrunk until nobody can read its letters."""
_GROWN = 1.25  # a narrow picture may grow by so much, on what is no phone and no window either


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """An element; `class_` is class, `stroke_width` is stroke-width, and numbers are cut to a tenth of a pixel."""
    attribute_text = (
        f' {key.rstrip("_").replace("_", "-")}="{escape(_cut(value))}"' for key, value in attributes.items()
    )
    inside = Markup("").join(escape(child) for child in children)
    return Markup(f"<{name}{''.join(attribute_text)}>{inside}</{name}>")  # every part is escaped


def drawing(width: float, height: float, label: str, *children: object) -> Markup:
    """A whole picture, as wide as its place on the page, with a label for those who cannot see it."""
    view = f"0 0 {_cut(width)} {_cut(height)}"
    most = width if width == WIDE else _GROWN * width
    return tag("svg", *children, viewBox=view, role="img", aria_label=label, style=f"max-width:{_cut(most)}px")


def fitting(draw: Callable[[int], Markup]) -> Markup:
    """A picture for a page of either width: drawn for each, letters as large in both, and the page shows one."""
    return tag("div", draw(WIDE), class_="on-wide") + tag("div", draw(NARROW), class_="on-phone")


@dataclass(frozen=True, slots=True)
class LogScale:
    """From values to pixels on a logarithmic axis."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return self.start + share * (self.end - self.start)

    def decades(self) -> list[float]:
        """Powers of ten on the axis."""
        first, last = ceil(log10(self.low) - 1e-9), floor(log10(self.high) + 1e-9)
        return [10.0**power for power in range(first, last + 1)]

    def minors(self) -> list[float]:
        """Twos and fives between them."""
        first, last = floor(log10(self.low)), floor(log10(self.high))
        marks = [digit * 10.0**power for power in range(first, last + 1) for digit in (2, 5)]
        return [mark for mark in marks if self.low <= mark <= self.high]


def _cut(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
