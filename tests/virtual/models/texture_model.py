"""What a texture read gives, in NumPy: the programming guide's formulas with the roundings of NVIDIA's hardware."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Array = np.ndarray


def span(x: Array, size: int, mode: str, *, linear: bool, normalized: bool) -> tuple[Array, Array, Array]:
    """First and second texel (-1: the border) and the second's weight in 1/256."""
    x = np.nan_to_num(x, nan=0.0, posinf=1e9, neginf=-1e9).astype(np.float64)
    if normalized:
        x = np.floor(np.clip(x, -(2.0**30), 2.0**30) * 2.0**21) / 2.0**21
        x = np.mod(x, {"wrap": 1, "mirror": 2}.get(mode, 2.0**40)) if mode in ("wrap", "mirror") else x
        x = x * size
    fixed = np.floor(np.clip(x, -1e8, 1e8) * 256 + 0.5).astype(np.int64) - 128
    first = fixed >> 8 if linear else np.floor(np.clip(x, -1e8, 1e8)).astype(np.int64)
    weight = fixed & 255 if linear else np.zeros_like(first)
    if mode == "clamp":
        weight = np.where((first < 0) | (first >= size - 1), 0, weight)
    return _turned(first, size, mode), _turned(first + 1, size, mode), weight


def _turned(texel: Array, size: int, mode: str) -> Array:
    if mode == "clamp":
        return np.clip(texel, 0, size - 1)
    if mode == "wrap":
        return texel % size
    if mode == "mirror":
        return np.minimum(texel % (2 * size), 2 * size - 1 - texel % (2 * size))
    return np.where((texel >= 0) & (texel < size), texel, -1)


def weights(across: Array, down: Array, deep: Array) -> dict[tuple[int, int, int], Array]:
    """Weights in 1/256 by (z, y, x), each a whole number: z is divided first, then x, then y."""
    found = {}
    for z, slice_ in ((0, 256 - deep), (1, deep)):
        right = across * slice_ + 128 >> 8
        for x, column in ((0, slice_ - right), (1, right)):
            share = column * (down if x else 256 - down) + 128 >> 8
            found[z, 1, x], found[z, 0, x] = (share, column - share) if x else (column - share, share)
    return found


def rounded(sum_: Array, digits: int = 24) -> Array:
    """To so many binary digits, half away from zero."""
    mantissa, exponent = np.frexp(sum_)
    return np.ldexp(np.copysign(np.floor(np.abs(mantissa) * 2.0**digits + 0.5), mantissa), exponent - digits)


def blend(taps: Sequence[tuple[Array, Array]], bits: int = 28) -> Array:
    """Σ weight · texel / 256 of four taps, with `bits` bits below the largest texel kept."""
    most = np.max([np.where((w == 0) | (v == 0), -200, np.frexp(v)[1]) for w, v in taps], axis=0)
    unit = np.ldexp(1.0, most - bits)
    return sum(w * np.trunc(v / unit) for w, v in taps) * unit / 256


def sample(
    texels: Array, at: Array, *, address: str = "clamp", filter: str = "point", normalized: bool = False,
    border: float = 0.0,
) -> Array:  # fmt: skip
    """float32 texels of one channel in one to three dimensions at coordinates [n, x y z]."""
    volume = texels.reshape((1,) * (3 - texels.ndim) + texels.shape)
    linear, none = filter == "linear", np.zeros(len(at), np.int64)
    spans = [
        span(at[:, axis], volume.shape[2 - axis], address, linear=linear, normalized=normalized)
        if axis < texels.ndim
        else (none, none, none)
        for axis in range(3)
    ]
    taps = []
    for (z, y, x), weight in weights(*(s[2] for s in spans)).items():
        where = [spans[2][z], spans[1][y], spans[0][x]]
        value = volume[tuple(where)].astype(np.float64)
        taps.append((weight, np.where(np.min(where, axis=0) < 0, border, value)))
    return rounded(blend(taps[:4]) + blend(taps[4:])).astype(np.float32)


def cube_face(x: float, y: float, z: float) -> tuple[int, float, float]:
    """Face and both normalised coordinates of a direction."""
    if abs(z) >= max(abs(x), abs(y)):
        face, major, s, t = (5, z, -x, -y) if z < 0 else (4, z, x, -y)
    elif abs(y) >= abs(x):
        face, major, s, t = (3, y, x, -z) if y < 0 else (2, y, x, z)
    else:
        face, major, s, t = (1, x, z, -y) if x < 0 else (0, x, -z, -y)
    return face, (s / abs(major) + 1) / 2, (t / abs(major) + 1) / 2
