"""Eight steps of rays through a scene of signed distances, and the light where they then are, float32 (sphere tracing).

The distance d of a place p from a body, negative inside, is that of a box with rounded edges and, inside, a hollow:

    q = |p - centre| - half      e = |max(q, 0)| + min(max(qx, qy, qz), 0) - radius      d = max(e, -wall - e)

A box of half = 0 is a sphere. The eight numbers of a body are its centre (x, y, z), its radius, half (x, y, z) and its
wall; radius and wall are 0.05 at least. The scene's distance is the least of the bodies', which are up to 32. A pixel's
ray is

    p(t) = eye + t v / |v|
    v = forward + ((2 x + 1) / W - 1) right + ((2 y + 1) / H - 1) down

with `camera` the rows eye, forward, right, down; and a step is t += distance(p(t)): nothing lies nearer. `start` is
where a ray begins, before the eye or behind it (t < 0), `depth` where it is after exactly eight steps, however small or
large they are. `light` is the slope of the distance there along LIGHT = (0.48, 0.64, 0.6), over a tetrahedron with the
corners (h, h, h), (h, -h, -h), (-h, h, -h) and (-h, -h, h), h = 1/16:

    light = max(0, sum over its corners of (corner · LIGHT) distance(p + corner) / (4 h²))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Problem, Values, array, size

STEPS = 8
H = 0.0625
CORNERS = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))  # in units of h
LIGHT = (0.48, 0.64, 0.6)
CENTRE, RADIUS, HALF, WALL = slice(0, 3), 3, slice(4, 7), 7  # of a body's eight numbers


def distances(p: Array, bodies: Array) -> Array:
    """(n, …) of every body at places (3, …)."""
    each = bodies.reshape(*bodies.shape, *[1] * (p.ndim - 1))  # its numbers beside all places
    q = [abs(p[axis] - each[:, axis]) - each[:, 4 + axis] for axis in range(3)]
    outside = sum(np.maximum(along, 0) ** 2 for along in q) ** 0.5
    e = outside + np.minimum(np.maximum(np.maximum(q[0], q[1]), q[2]), 0) - each[:, RADIUS]
    return np.maximum(e, -each[:, WALL] - e)


def directions(camera: Array, height: int, width: int) -> Array:
    """(3, H, W): of the rays, of length 1."""
    _, forward, right, down = camera[:, :, None, None]
    y, x = np.mgrid[:height, :width]
    v = forward + ((2 * x + 1) / width - 1) * right + ((2 * y + 1) / height - 1) * down
    unit: Array = v / (v**2).sum(0) ** 0.5
    return unit


def marched(v: Values, *, bounded: bool) -> tuple[Array, Array, Array]:
    """Where rays are after eight steps, as places (3, H, W) and as depths, and an error's bound in roundings, 0 unless
    `bounded`.

    A step turns an error of t into (1 + slope) times that, with the slope of the distance along the ray, and adds the
    rounding of the numbers that it is made of.
    """
    eye, t = v["camera"][0][:, None, None], v["start"]
    way, bodies = directions(v["camera"], *t.shape), v["bodies"]
    reach = abs(bodies[:, [0, 1, 2, 4, 5, 6, 7]]).max(initial=0) + abs(eye).max()
    error = abs(t) * bounded
    for _ in range(STEPS):
        p = eye + t * way
        d = distances(p, bodies)
        if bounded:
            slope = (way * slopes(p, bodies[d.argmin(0)])).sum(0)
            error = error * abs(1 + slope) + abs(t) + reach
        t = t + d.min(0)
    return eye + t * way, t, error + abs(t)


def slopes(p: Array, nearest: Array) -> Array:
    """(3, H, W): the gradient of the distance from the nearest body (H, W, 8) of each place."""
    away = p - np.moveaxis(nearest[..., CENTRE], -1, 0)
    q = abs(away) - np.moveaxis(nearest[..., HALF], -1, 0)
    out = np.maximum(q, 0)
    length = (out**2).sum(0) ** 0.5
    inside = np.arange(3)[:, None, None] == q.argmax(0)
    gradient = np.where(length > 0, out / np.where(length > 0, length, 1), inside) * np.sign(away)
    e = length + np.minimum(q.max(0), 0) - nearest[..., RADIUS]
    return np.where(2 * e < -nearest[..., WALL], -gradient, gradient)


def weights() -> list[float]:
    """Of the distances at the corners in the light."""
    return [sum(a * b for a, b in zip(corner, LIGHT, strict=True)) / (4 * H) for corner in CORNERS]


def reference(v: Values) -> dict[str, Array]:
    """March, then light."""
    p, t, _ = marched(v, bounded=False)
    corners = p[:, None] + H * np.array(CORNERS).T[:, :, None, None]
    d = distances(corners, v["bodies"]).min(0)
    light = sum(weight * there for weight, there in zip(weights(), d, strict=True))
    return {"depth": t, "light": np.maximum(light, 0)}


def magnitude(v: Values) -> dict[str, Array]:
    """The error of a depth moves the place by as much, and a corner's distance by no more; that is divided by h."""
    _, _, error = marched(v, bounded=True)
    return {"depth": error, "light": sum(map(abs, weights())) * error}


def squashed(x: Any) -> Any:
    """Between -1 and 1."""
    return x / (1 + abs(x))


def near_the_eye(v: Values) -> dict[str, Any]:
    """Bodies up to 3 away from the middle, of all sizes, solid and hollow, the first a wide wall behind the others; an
    eye before them that looks their way. Rays have come about as far, as those of a picture have.
    """
    drawn = squashed(v["bodies"])
    bodies = np.empty_like(drawn)
    bodies[:, CENTRE] = 3 * drawn[:, CENTRE]
    bodies[:, RADIUS] = 0.05 + 0.6 * abs(drawn[:, RADIUS])
    bodies[:, HALF] = 0.9 * np.maximum(drawn[:, HALF], 0)
    bodies[:, WALL] = 0.1 + 2 * abs(drawn[:, WALL])
    bodies[:1, [2, 4, 5]] = -3, 9, 9
    middle = np.array([[0, 0, 5], [0, 0, -2], [1, 0, 0], [0, 1, 0]])
    camera = middle + 0.5 * squashed(v["camera"])
    start = abs(squashed(v["start"]))
    return {
        "bodies": bodies.astype(np.float32),
        "camera": camera.astype(np.float32),
        "start": (2 * start.flat[:1].sum() + start / 8).astype(np.float32),
    }


def from_the_eye(v: Values, draw: Generator) -> dict[str, Any]:
    """All rays begin at the eye and lie close to one another; what is near to one is near to all."""
    camera = v["camera"].copy()
    camera[2:] /= 8
    return {"start": np.zeros_like(v["start"]), "camera": camera}


def scattered(v: Values, draw: Generator) -> dict[str, Any]:
    """Rays that are neighbours have come differently far, and lie in other parts of the scene, some behind the eye."""
    return {"start": draw.uniform(-4, 6, v["start"].shape)}


def into_the_distance(v: Values, draw: Generator) -> dict[str, Any]:
    """The eye looks away from all bodies: rays get away from them, each step as long as all before it together."""
    camera = v["camera"].copy()
    camera[1, 2] = abs(camera[1, 2])
    return {"camera": camera, "start": draw.uniform(0, 60, v["start"].shape)}


def along_a_wall(v: Values, draw: Generator) -> dict[str, Any]:
    """Rays go along the face of a plate, some millionths above it: steps are small, and eight of them are seen."""
    bodies, above = np.full_like(v["bodies"], 0), 10 ** draw.uniform(-6, -4.5)
    bodies[:, RADIUS] = bodies[:, WALL] = 0.0625
    bodies[-1] = (0, 0, 0, 0.0625, 1, 1, 0.0625, 0.5)
    camera = np.array([[0, 0, 0.125 + above], [0.8, 0.6, 0], [0.0625, 0, 0], [0, 0.0625, 0]])
    return {"bodies": bodies, "camera": camera, "start": draw.uniform(-0.25, 0.25, v["start"].shape)}


def close_to_walls(v: Values, draw: Generator) -> dict[str, Any]:
    """The eye is within a hollow box: every ray is near its wall, which is turned inwards."""
    bodies = v["bodies"].copy()
    bodies[-1] = (0.1, -0.2, 4.0, 0.3, 2.0, 1.6, 2.4, 0.15)
    return {"bodies": bodies, "start": np.zeros_like(v["start"])}


problem = Problem(
    name="sdf_shader",
    title="Signed distances, eight steps of rays and their light, float32",
    parameters=(
        array("bodies", "float32", "n", "8"),
        array("camera", "float32", "4", "3"),
        array("start", "float32", "H", "W"),
        array("depth", "float32", "H", "W", role="out"),
        array("light", "float32", "H", "W", role="out"),
        size("n"),
        size("H"),
        size("W"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=near_the_eye,
    special={
        "from the eye": from_the_eye,
        "scattered": scattered,
        "close to walls": close_to_walls,
        "into the distance": into_the_distance,
        "along a wall": along_a_wall,
    },
    terms="4",
    without={
        "nonfinite": "bodies have a place and rays a direction",
        "not a number": "which of two is the less, where one is no number, is said by no formula of a distance",
    },
    public=(
        {"n": 5, "H": 16, "W": 64},
        {"n": 32, "H": 13, "W": 37},
        {"n": 12, "H": 37, "W": 21},
        {"n": 3, "H": 1, "W": 1},
        {"n": 1, "H": 2, "W": 130},
        {"n": 7, "H": 38, "W": 5},
    ),
    largest={"n": 32, "H": 29, "W": 36},
    widest={"n": 32, "H": 1500, "W": 1600},
    tiles=(4, 8, 32),
    observed={"n": 24, "H": 32, "W": 96},
    timed={"n": 32, "H": 1024, "W": 1024},
    flops="300*n*H*W",
    bytes="12*H*W",
)
