"""Textures as C describes them, in the words of the virtual GPU."""

from __future__ import annotations

import ctypes
import struct

from gridstride.programs.images import image_at, sampling_at
from gridstride.protocol import ImageLayout, Sampling


def test_an_image_is_read_field_by_field() -> None:
    raw = ctypes.create_string_buffer(struct.pack("<Q11q", 4096, 2, 32, 4, 64, 32, 0, 3, 0, 2, 1, 0))
    layout = ImageLayout("float32", 4, 64, 32, 0, 3, False, 2, True, 0)
    assert image_at(ctypes.addressof(raw)) == (layout, 4096)


def test_sampling_is_read_field_by_field() -> None:
    raw = ctypes.create_string_buffer(
        struct.pack("<8q7d", 0, 1, 3, 1, 1, 0, 1, 0, 0.25, 0.5, 0.75, 1.0, -0.5, 1.0, 2.0)
    )
    assert sampling_at(ctypes.addressof(raw)) == Sampling(
        ("wrap", "clamp", "border"), "linear", True, "normalized_float", False, (0.25, 0.5, 0.75, 1.0), "point", -0.5,
        (1.0, 2.0),
    )  # fmt: skip


def test_without_normalised_coordinates_what_goes_round_is_clamped() -> None:
    """As CUDA has it: NVIDIA's convolutionTexture asks for wrap and compares with edges repeated."""
    raw = ctypes.create_string_buffer(struct.pack("<8q7d", 0, 2, 3, 1, 0, 0, 0, 0, *[0.0] * 7))
    assert sampling_at(ctypes.addressof(raw)).address == ("clamp", "clamp", "border")
