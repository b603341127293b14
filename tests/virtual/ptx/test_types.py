"""PTX types: widths, classes, and the elements of packed ones."""

from __future__ import annotations

import pytest

from gridstride.virtual.ptx.types import DECLARABLE, TYPES


@pytest.mark.parametrize(
    ("name", "kind", "size"),
    [("b8", "bits", 1), ("u16", "unsigned", 2), ("s64", "signed", 8), ("bf16", "float", 2), ("pred", "pred", 1),
     ("b128", "bits", 16), ("texref", "opaque", 8), ("e2m1", "float", 1)],
)  # fmt: skip
def test_a_scalar(name: str, kind: str, size: int) -> None:
    assert (TYPES[name].kind, TYPES[name].size, TYPES[name].align, TYPES[name].lanes) == (kind, size, size, 1)


def test_a_packed_type_has_lanes_of_a_scalar_and_room_for_all_of_them() -> None:
    packed = [kind for kind in TYPES.values() if kind.lanes > 1]
    assert {kind.name for kind in packed} >= {"f16x2", "bf16x2", "u8x4", "e4m3x2", "e2m1x4"}
    for kind in packed:
        assert kind.element in TYPES
        assert kind.bits >= kind.lanes * TYPES[kind.element].bits


@pytest.mark.parametrize(
    ("name", "kind"), [("u16x2", "unsigned"), ("s8x4", "signed"), ("ue8m0x2", "float"), ("s2f6x2", "float")]
)
def test_a_packed_type_is_of_its_elements_class(name: str, kind: str) -> None:
    assert TYPES[name].kind == kind


def test_what_may_be_declared_is_a_type() -> None:
    assert TYPES.keys() >= DECLARABLE
    assert "u2" not in DECLARABLE
