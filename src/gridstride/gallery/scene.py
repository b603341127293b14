"""What a scene is: a state on the device that goes on step by step, and has a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gridstride.gallery.png import Pixels


class Drawing(Protocol):
    """A scene under way, on the device that was in use when it began."""

    def advance(self, steps: int) -> None:
        """Go on by so many steps, one or more."""

    def picture(self) -> Pixels:
        """The state as it is now: (H, W) indices into the scene's palette, or (H, W, 3) RGB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A row of the table of scenes; every column must be filled."""

    title: str  # what the picture shows
    step: str  # what one step is
    kernel: str  # whose work it is, from src/gridstride/
    size: tuple[int, int]  # width and height unless the command says otherwise
    least: tuple[int, int]  # the smallest width and height that show anything
    steps: int  # likewise
    palette: Pixels | None  # None: pictures are RGB
    start: Callable[[int, int], Drawing]  # from width and height to the state before the first step
