"""Reads PNG and APNG files by the specification, byte by byte, so that the writer is not held against itself."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Frame:
    place: tuple[int, int, int, int]  # left, top, width, height
    milliseconds: int
    data: bytes = b""


@dataclass
class Decoded:
    kinds: list[bytes] = field(default_factory=list)
    still: np.ndarray = field(default_factory=lambda: np.empty(0))
    frames: list[np.ndarray] = field(default_factory=list)
    milliseconds: list[int] = field(default_factory=list)


def decode(data: bytes) -> Decoded:
    """The still picture and every frame of the animation as RGB (H, W, 3)."""
    assert data[:8] == bytes([137, 80, 78, 71, 13, 10, 26, 10])
    decoded, still, frames, palette, sequence = Decoded(), b"", [], None, 0
    at = 8
    while at < len(data):
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        at += 12 + length
        decoded.kinds.append(kind)
        if kind == b"IHDR":
            width, height, depth, colours, *rest = struct.unpack(">IIBBBBB", body)
            assert (depth, rest) == (8, [0, 0, 0])
        elif kind == b"PLTE":
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3)
        elif kind == b"IDAT":
            still += body
        elif kind in (b"fcTL", b"fdAT"):
            assert struct.unpack(">I", body[:4])[0] == sequence
            sequence += 1
            if kind == b"fcTL":
                w, h, left, top, shown, of, dispose, blend = struct.unpack(">IIIIHHBB", body[4:])
                assert (of, dispose, blend) == (1000, 0, 0)
                frames.append(Frame((left, top, w, h), shown))
            else:
                frames[-1].data += body[4:]
        elif kind == b"acTL":
            count, plays = struct.unpack(">II", body)
            assert plays == 0
    assert (palette is not None) == (colours == 3)
    decoded.still = _colours(_unfiltered(still, width, height, colours), palette)
    canvas = np.zeros_like(decoded.still)
    for frame in frames:
        left, top, w, h = frame.place
        canvas[top : top + h, left : left + w] = _colours(_unfiltered(frame.data, w, h, colours), palette)
        decoded.frames.append(canvas.copy())
        decoded.milliseconds.append(frame.milliseconds)
    assert not frames or len(frames) == count
    return decoded


def _colours(pixels: np.ndarray, palette: np.ndarray | None) -> np.ndarray:
    return pixels if palette is None else palette[pixels[..., 0]]


def _unfiltered(packed: bytes, width: int, height: int, colours: int) -> np.ndarray:
    depth = 1 if colours == 3 else 3
    raw = zlib.decompress(packed)
    assert len(raw) == height * (width * depth + 1)
    rows = np.zeros((height + 1, width * depth), int)
    for y in range(height):
        number, line = raw[y * (width * depth + 1)], raw[y * (width * depth + 1) + 1 : (y + 1) * (width * depth + 1)]
        for x, byte in enumerate(line):
            a = rows[y + 1, x - depth] if x >= depth else 0
            b = rows[y, x]
            c = rows[y, x - depth] if x >= depth else 0
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            rows[y + 1, x] = (byte + (0, a, b, (a + b) // 2, near)[number]) % 256
    return rows[1:].reshape(height, width, depth).astype(np.uint8)
