"""PNG and APNG files, written with zlib alone.

Formats: PNG specification, third edition (W3C, 2025), which includes animation (acTL, fcTL, fdAT).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""(H, W) indices into a palette, or (H, W, 3) RGB."""

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_INDEXED, _RGB = 3, 2  # colour types
_LEVEL = 9  # zlib's: pictures are written once and fetched often


def png(pixels: Pixels, palette: Pixels | None) -> bytes:
    """A still picture; `palette` is (up to 256, 3) for indices, None for RGB."""
    height, width = pixels.shape[:2]
    return b"".join((SIGNATURE, *_head(width, height, palette), _chunk(b"IDAT", _packed(pixels)), _chunk(b"IEND", b"")))


def apng(frames: Iterable[Pixels], palette: Pixels | None, *, milliseconds: int) -> bytes:
    """An animation without end, each frame shown for `milliseconds`, the last one four times as long.

    A viewer that knows no animation shows the last frame: it stands in front, outside of the animation. A frame holds
    the rectangle that changed, no more.
    """
    encoded: list[_Frame] = []
    previous: Pixels | None = None
    for pixels in frames:
        encoded.append(_frame(pixels, previous))
        previous = pixels
    assert previous is not None, "an animation has a frame"
    height, width = previous.shape[:2]
    sequence = 0
    chunks = [_chunk(b"acTL", struct.pack(">II", len(encoded), 0))]
    chunks += _head(width, height, palette)[1:]
    chunks.append(_chunk(b"IDAT", _packed(previous)))
    for number, frame in enumerate(encoded, 1):
        shown = milliseconds * (4 if number == len(encoded) else 1)
        control = struct.pack(
            ">IIIIIHHBB", sequence, frame.width, frame.height, frame.left, frame.top, shown, 1000, 0, 0
        )
        chunks.append(_chunk(b"fcTL", control))
        chunks.append(_chunk(b"fdAT", struct.pack(">I", sequence + 1) + frame.data))
        sequence += 2
    return b"".join((SIGNATURE, _head(width, height, palette)[0], *chunks, _chunk(b"IEND", b"")))


@dataclass(frozen=True, slots=True)
class _Frame:
    """A rectangle of the picture, compressed."""

    left: int
    top: int
    width: int
    height: int
    data: bytes


def _frame(pixels: Pixels, previous: Pixels | None) -> _Frame:
    """What is to be drawn over the frame before; one pixel where nothing has changed."""
    rows, columns = slice(0, pixels.shape[0]), slice(0, pixels.shape[1])
    if previous is not None:
        changed = (pixels != previous).reshape(*pixels.shape[:2], -1).any(-1)
        rows, columns = _extent(changed.any(1)), _extent(changed.any(0))
    part = pixels[rows, columns]
    return _Frame(columns.start, rows.start, part.shape[1], part.shape[0], _packed(part))


def _extent(changed: NDArray[np.bool_]) -> slice:
    """From the first to the last that changed."""
    where = np.flatnonzero(changed)
    return slice(int(where[0]), int(where[-1]) + 1) if where.size else slice(0, 1)


def _head(width: int, height: int, palette: Pixels | None) -> list[bytes]:
    """IHDR, and PLTE where there is a palette: 8 bits, no interlacing."""
    colours = _RGB if palette is None else _INDEXED
    head = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0))]
    return head if palette is None else [*head, _chunk(b"PLTE", palette.tobytes())]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _packed(pixels: Pixels) -> bytes:
    """Rows behind the number of their filter, compressed. Neighbouring indices say nothing of each other: no filter."""
    if pixels.ndim == 2:
        rows = np.pad(pixels, ((0, 0), (1, 0)))
    else:
        candidates = np.stack(list(_filtered(pixels)))  # (filter, H, 3 W)
        cost = np.abs(candidates.astype(np.int8).astype(np.int32)).sum(-1)  # the specification's rule of thumb
        best = cost.argmin(0)
        chosen = np.take_along_axis(candidates, best[None, :, None], 0)[0]
        rows = np.column_stack((best.astype(np.uint8), chosen))
    return zlib.compress(np.ascontiguousarray(rows).tobytes(), _LEVEL)


def _filtered(pixels: Pixels) -> Iterator[Pixels]:
    """The rows by each of the five filters, in the order of their numbers: none, sub, up, average, Paeth."""
    x = pixels.astype(np.int16)
    left, up, corner = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    left[:, 1:], up[1:], corner[1:, 1:] = x[:, :-1], x[:-1], x[:-1, :-1]
    estimate = left + up - corner
    far_left, far_up, far_corner = abs(estimate - left), abs(estimate - up), abs(estimate - corner)
    nearest: Any = np.where(
        (far_left <= far_up) & (far_left <= far_corner), left, np.where(far_up <= far_corner, up, corner)
    )
    for prediction in (np.zeros_like(x), left, up, (left + up) // 2, nearest):
        yield (x - prediction).astype(np.uint8).reshape(x.shape[0], -1)
