"""PTX types as LLVM types."""

from __future__ import annotations

import pytest

from gridstride.virtual.lowering.value_types import llvm_type
from gridstride.virtual.ptx.types import DECLARABLE, TYPES


@pytest.mark.parametrize(
    ("ptx", "llvm"),
    [("pred", "i1"), ("f32", "float"), ("f64", "double"), ("f16", "i16"), ("bf16x2", "i32"), ("u8", "i8"),
     ("b4", "i8"), ("b128", "i128")],
)  # fmt: skip
def test_a_type(ptx: str, llvm: str) -> None:
    assert llvm_type(ptx) == llvm


@pytest.mark.parametrize("ptx", sorted(DECLARABLE - {"pred", "f32", "f64"}))
def test_what_is_no_float_of_llvm_s_is_held_as_its_bits(ptx: str) -> None:
    assert llvm_type(ptx) == f"i{max(8, TYPES[ptx].bits)}"
