"""What bench/rodinia.py gives Rodinia's programs to read, drawn by seeds, and answers of NumPy's."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
BASES = "ACGT"


def uniform(count: int, seed: int) -> Array:
    """Numbers from 0 to 1."""
    return np.random.default_rng(seed).random(count)


def column(numbers: Array) -> bytes:
    """One number a line."""
    return "".join(f"{each:.6f}\n" for each in numbers).encode()


def graph(nodes: int = 4000, degree: int = 4) -> bytes:
    """As bfs reads it: nodes (first edge, how many), the source, edges (to, weight)."""
    to = np.random.default_rng(3).integers(0, nodes, nodes * degree)
    lines = [str(nodes), *(f"{node * degree} {degree}" for node in range(nodes)), "", "0", "", str(nodes * degree)]
    return "\n".join([*lines, *(f"{each} 1" for each in to), ""]).encode()


def keys(count: int = 10_000) -> bytes:
    """As b+tree reads them: how many, then each."""
    order = np.random.default_rng(11).permutation(count)
    return "\n".join(map(str, (count, *order, ""))).encode()


def mesh(width: int = 26, height: int = 15) -> bytes:
    """As cfd reads it: unit squares around an obstacle of 3 by 2; each has an area (for its time step) and four faces,
    with the neighbour from 1 on (0: a wall, below: the far field) and the face's normal."""
    obstacle = {(x, y) for x in (8, 9, 10) for y in (6, 7)}
    cells = [(x, y) for y in range(height) for x in range(width) if (x, y) not in obstacle]
    number = {cell: at for at, cell in enumerate(cells, 1)}
    lines = [str(len(cells))]
    for x, y in cells:
        words = ["4.0"]
        for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            beside = (x + dx, y + dy)
            words.append(f"{number.get(beside, 0 if beside in obstacle else -1)} {dx}.0 {dy}.0 0.0")
        lines.append(" ".join(words))
    return "\n".join([*lines, ""]).encode()


def film(frames: Sequence[Array]) -> bytes:
    """An AVI of uncompressed frames, a byte a pixel, the lowest line first."""
    height, width = frames[0].shape

    def chunk(name: bytes, data: bytes) -> bytes:
        return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)

    count, size = len(frames), width * height
    header = struct.pack("<14I", 40_000, 0, 0, 16, count, 0, 1, size, width, height, 0, 0, 0, 0)
    stream = b"vidsDIB " + struct.pack("<IHH8I4h", 0, 0, 0, 0, 1, 25, 0, count, size, 2**32 - 1, 0, 0, 0, width, height)
    picture = struct.pack("<IiiHH4sIiiII", 40, width, height, 1, 8, b"\0" * 4, size, 0, 0, 0, 0)
    streams = chunk(b"LIST", b"strl" + chunk(b"strh", stream) + chunk(b"strf", picture))
    chunks = [chunk(b"00db", np.ascontiguousarray(frame[::-1]).tobytes()) for frame in frames]
    places = [struct.pack("<4sIII", b"00db", 16, 4 + sum(map(len, chunks[:at])), size) for at in range(count)]
    body = b"AVI " + chunk(b"LIST", b"hdrl" + chunk(b"avih", header) + streams)
    body += chunk(b"LIST", b"movi" + b"".join(chunks)) + chunk(b"idx1", b"".join(places))
    return chunk(b"RIFF", body)


def heart(frames: int = 4) -> bytes:
    """A ring that grows by a pixel a frame, where heartwall expects the wall, on a pattern that it can follow."""
    y, x = np.mgrid[0:744, 0:656]
    rng = np.random.default_rng(1)
    pattern = 100 + 40 * np.sin(x / 17) * np.cos(y / 23)
    rings = [60 * np.exp(-(((np.hypot(x - 323, y - 378) - 85 - time) / 8) ** 2)) for time in range(frames)]
    return film([(pattern + ring + rng.normal(0, 2, x.shape)).clip(0, 255).astype("u1") for ring in rings])


def cells(frames: int = 4) -> bytes:
    """Three bright rings of a leukocyte's radius, which drift by a pixel a frame through leukocyte's window."""
    y, x = np.mgrid[0:360, 0:320]
    rng = np.random.default_rng(2)
    drawn = []
    for time in range(frames):
        away = [np.hypot(x - at - time, y - line) for at, line in ((80, 180), (150, 250), (220, 200))]
        rings = sum(80 * np.exp(-(((each - 9) / 3) ** 2)) - 30 * (each < 7) for each in away)
        drawn.append((120 + rings + rng.normal(0, 2, x.shape)).clip(0, 255).astype("u1"))
    return film(drawn)


def points() -> bytes:
    """400 points of 6 features around four places that lie far apart, in turn from each, as kmeans reads them."""
    rows = 10 * uniform(2400, 4).reshape(100, 4, 6) + 30 * np.arange(4).reshape(1, 4, 1)
    lines = (f"{at} {' '.join(f'{each:.4f}' for each in row)}\n" for at, row in enumerate(rows.reshape(400, 6)))
    return "".join(lines).encode()


def hurricanes(count: int = 2000) -> bytes:
    """Lines as nn's own hurricane_gen writes them."""
    rng = np.random.default_rng(5)
    lines = []
    for latitude, longitude in zip(7 + 63 * rng.random(count), 358 * rng.random(count), strict=True):
        year, day, speed = rng.integers(1950, 2005), rng.integers(1, 29), rng.integers(10, 165)
        storm = f"{year:4d} {7:2d} {day:2d} {12:2d} {3:2d} {'ISAAC':9}"
        lines.append(f"{storm} {latitude:5.1f} {longitude:5.1f} {speed:4d} {900:4d}\n")
    return "".join(lines).encode()


def picture(rows: int = 502, columns: int = 458) -> bytes:
    """The PGM that srad_v1 reads, of the size that it has built in."""
    drawn = np.random.default_rng(5).integers(1, 256, (rows, columns))
    return f"P2\n{columns} {rows}\n255\n{chr(10).join(' '.join(map(str, row)) for row in drawn)}\n".encode()


def symbols(count: int = 1 << 16) -> bytes:
    """Bytes of unequal frequency, which a Huffman code shortens."""
    return np.random.default_rng(6).geometric(0.2, count).clip(1, 255).astype("u1").tobytes()


def genome(length: int = 3000) -> str:
    """A line of bases."""
    return "".join(BASES[each] for each in np.random.default_rng(7).integers(0, 4, length))


def reference_genome() -> bytes:
    text = genome()
    return f">reference\n{chr(10).join(text[at : at + 70] for at in range(0, len(text), 70))}\n".encode()


def reads(count: int = 64, length: int = 50) -> bytes:
    """Pieces of the genome as mummergpu's genreads.py takes them; of every third the middle is another base."""
    text, rng = genome(), np.random.default_rng(8)
    lines = []
    for at, start in enumerate(rng.integers(0, len(text) - length, count)):
        piece = text[start : start + length]
        if at % 3 == 0:
            piece = piece[: length // 2] + BASES[(BASES.index(piece[length // 2]) + 1) % 4] + piece[length // 2 + 1 :]
        lines.append(f">read{at}\n{piece}\n")
    return "".join(lines).encode()


def eliminated(size: int) -> Array:
    """What gaussian leaves of its own matrix and right side: above the diagonal, and the side behind it."""
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    matrix: Array = 10 * np.exp(-0.01 * distance)
    side = np.ones(size)
    for at in range(size - 1):
        factors = matrix[at + 1 :, at] / matrix[at, at]
        matrix[at + 1 :] -= factors[:, None] * matrix[at]
        side[at + 1 :] -= factors * side[at]
    return np.concatenate([matrix.ravel(), side])


def well_conditioned(size: int) -> Array:
    """Random numbers under a diagonal that outweighs them."""
    matrix: Array = uniform(size * size, 9).reshape(size, size).round(4) + size * np.eye(size)
    return matrix


def matrix_file(matrix: Array) -> bytes:
    """As lud reads it."""
    return f"{len(matrix)}\n{chr(10).join(' '.join(f'{each:.4f}' for each in row) for row in matrix)}\n".encode()


def factors(matrix: Array) -> Array:
    """L without its diagonal and U in one matrix, without pivots."""
    left = matrix.copy()
    for at in range(len(left) - 1):
        left[at + 1 :, at] /= left[at, at]
        left[at + 1 :, at + 1 :] -= np.outer(left[at + 1 :, at], left[at, at + 1 :])
    return left.ravel()


def colours(side: int = 192) -> Array:
    """A picture of three colours for dwt2d: smooth, with noise."""
    y, x, colour = np.mgrid[0:side, 0:side, 0:3]
    noise = np.random.default_rng(10).normal(0, 6, x.shape)
    drawn: Array = 128 + 90 * np.sin(x / 19 + colour) * np.cos(y / 31) + noise
    return drawn.clip(0, 255).astype("u1")


def wavelets(picture: Array, levels: int) -> Array:
    """The reversible transform of JPEG 2000 (T.800, F.8 and F.9) of each colour, bands as dwt2d writes them, a byte
    each: low, then per level from the last on horizontal, vertical and diagonal."""
    written = []
    for colour in range(3):
        low = picture[:, :, colour].astype(int) - 128
        bands: list[Array] = []
        for _ in range(levels):
            rows = lifted(low)
            low, horizontal = (half.T for half in lifted(rows[0].T))
            vertical, diagonal = (half.T for half in lifted(rows[1].T))
            bands = [horizontal, vertical, diagonal, *bands]
        written += [band.ravel() for band in (low, *bands)]
    samples: Array = np.clip(np.concatenate(written) + 128, 0, 255)
    return samples


def lifted(values: Array) -> tuple[Array, Array]:
    """Low and high half along the first dimension, mirrored at the ends; C's division, towards zero."""

    def divided(total: Array, by: int) -> Array:
        quotient: Array = np.sign(total) * (np.abs(total) // by)
        return quotient

    even, odd = values[::2].copy(), values[1::2].copy()
    odd -= divided(even + np.concatenate([even[1:], even[-1:]]), 2)
    even += divided(np.concatenate([odd[:1], odd[:-1]]) + odd + 2, 4)
    return even, odd
