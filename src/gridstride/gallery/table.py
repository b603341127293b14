"""The table of scenes."""

from __future__ import annotations

from gridstride.gallery.palettes import BALANCE, EDDIES, EMBERS, INK, RINGS
from gridstride.gallery.scene import Scene
from gridstride.gallery.scenes.collapse import Collapse
from gridstride.gallery.scenes.heat import Heat
from gridstride.gallery.scenes.ink import Ink
from gridstride.gallery.scenes.ising import Ising
from gridstride.gallery.scenes.life import Life
from gridstride.gallery.scenes.mandelbrot import Mandelbrot
from gridstride.gallery.scenes.marbles import Marbles
from gridstride.gallery.scenes.nbody import NBody
from gridstride.gallery.scenes.specks import Specks
from gridstride.gallery.scenes.temple import Temple
from gridstride.gallery.scenes.wake import Wake

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
    "heat": Scene(
        title="heat that spreads from warm and cold bodies in a plate whose edge is held at 0",
        step="four explicit steps of the heat equation",
        kernel="kernels/heat/rungs/04_walking_rows.cu",
        size=(360, 240),
        least=(8, 8),
        steps=300,
        palette=BALANCE,
        start=Heat,
    ),
    "life": Scene(
        title="Conway's Game of Life from the R-pentomino, in a field with dead edges",
        step="one generation",
        kernel="kernels/life/rungs/03_walking_column.cu",
        size=(480, 320),
        least=(64, 64),
        steps=1103,
        palette=INK,
        start=Life,
    ),
    "galaxies": Scene(
        title="two discs of stars, each around a heavy body, that meet",
        step="one leapfrog of gravity between all pairs",
        kernel="kernels/nbody/rungs/04_register_tile.cu",
        size=(480, 320),
        least=(32, 32),
        steps=300,
        palette=EMBERS,
        start=NBody,
    ),
    "collapse": Scene(
        title="a cloud of stars that falls together by its own weight, in clumps first",
        step="one leapfrog of gravity by a tree, which is grown anew",
        kernel="kernels/barnes_hut/rungs/04_two_bodies.cu",
        size=(480, 320),
        least=(32, 32),
        steps=90,
        palette=EMBERS,
        start=Collapse,
    ),
    "wake": Scene(
        title="flow past a cylinder, by which way and how fast it turns",
        step="one step of the lattice Boltzmann method",
        kernel="kernels/lattice_boltzmann/rungs/03_four_cells.cu",
        size=(400, 160),
        least=(64, 32),
        steps=4000,
        palette=EDDIES,
        start=Wake,
    ),
    "ink": Scene(
        title="a fluid that was stirred, by which way and how fast it turns: whirls of one sign merge",
        step="one step of stable fluids",
        kernel="kernels/stable_fluids/rungs/03_register_strips.cu",
        size=(360, 240),
        least=(16, 16),
        steps=400,
        palette=BALANCE,
        start=Ink,
    ),
    "ising": Scene(
        title="a magnet that was hot and is held just below its critical temperature: domains grow",
        step="one sweep of Metropolis over all spins",
        kernel="kernels/ising/rungs/03_bytes_in_a_word.cu",
        size=(360, 240),
        least=(16, 16),
        steps=400,
        palette=INK,
        start=Ising,
    ),
    "specks": Scene(
        title="discs and squares under salt and pepper, which a median takes away and leaves their edges",
        step="the median of 3 by 3 pixels",
        kernel="kernels/median/rungs/03_four_pixels.cu",
        size=(360, 240),
        least=(8, 8),
        steps=12,
        palette=INK,
        start=Specks,
    ),
    "temple": Scene(
        title="a round temple of signed distances, with rays from the eye that come to rest on it",
        step="eight steps of each ray's march, and the light where it is",
        kernel="kernels/sdf_shader/rungs/03_warp_chooses.cu",
        size=(480, 320),
        least=(8, 8),
        steps=16,
        palette=None,
        start=Temple,
    ),
    "marbles": Scene(
        title="glass, mirrors and matt spheres on a floor under a sky, by path tracing",
        step="one path for each pixel",
        kernel="gallery/scenes/marbles.cu",
        size=(300, 200),
        least=(8, 8),
        steps=200,
        palette=None,
        start=Marbles,
    ),
}
