"""The table of scenes."""

from __future__ import annotations

from gridstride.gallery.palettes import RINGS
from gridstride.gallery.scene import Scene
from gridstride.gallery.scenes.mandelbrot import Mandelbrot

SCENES: dict[str, Scene] = {
    "mandelbrot": Scene(
        title="the Mandelbrot set, and by colour how soon the points outside leave",
        step="one iteration of z = z² + c",
        kernel="gallery/scenes/mandelbrot.cu",
        size=(480, 320),
        least=(16, 16),
        steps=400,
        palette=RINGS,
        start=Mandelbrot,
    ),
}
