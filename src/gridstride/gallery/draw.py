"""A scene from its start to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gridstride.gallery.png import Pixels, apng, png
from gridstride.gallery.scene import Drawing, Scene

MILLISECONDS = 50  # a frame of an animation
MOST_AT_ONCE = 256  # steps without a word of progress


def marks(steps: int, frames: int) -> list[int]:
    """The steps at which an animation has a frame, the first before any step and the last behind all."""
    last = min(steps, frames - 1)
    return [round(frame * steps / last) for frame in range(last + 1)]


def draw(
    scene: Scene, width: int, height: int, *, steps: int, frames: int | None, progress: Callable[[int], None]
) -> bytes:
    """The file: a still picture behind the last step, or an animation of so many frames (two or more).

    On the device in use. `progress` is told how many steps are done.
    """
    drawing = scene.start(width, height)
    if frames is None:
        done = 0
        for mark in marks(steps, 11):
            _advance(drawing, done, mark, progress)
            done = mark
        return png(drawing.picture(), scene.palette)
    return apng(_pictures(drawing, marks(steps, frames), progress), scene.palette, milliseconds=MILLISECONDS)


def _pictures(drawing: Drawing, at: list[int], progress: Callable[[int], None]) -> Iterator[Pixels]:
    done = 0
    for mark in at:
        _advance(drawing, done, mark, progress)
        done = mark
        yield drawing.picture()


def _advance(drawing: Drawing, done: int, target: int, progress: Callable[[int], None]) -> None:
    while done < target:
        count = min(MOST_AT_ONCE, target - done)
        drawing.advance(count)
        done += count
        progress(done)
