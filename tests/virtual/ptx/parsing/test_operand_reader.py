"""Operands: what each is read as, and what is said of one that is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gridstride.virtual.ptx import PtxError
from gridstride.virtual.ptx.module import (
    Address,
    DestinationPair,
    Immediate,
    Instruction,
    Register,
    Sink,
    Special,
    Vector,
)

One = Callable[..., Instruction]


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("mov.u32 %r1, %tid.x;", (Register, Special)), ("mov.u32 %r1, 5;", (Register, Immediate)),
        ("ld.global.v2.u32 {%r1, %r2}, [%rd1+8];", (Vector, Address)),
        ("setp.eq.u32 %p1|%p2, %r1, %r2;", (DestinationPair, Register, Register)),
        ("atom.global.add.u32 _, [%rd1], %r1;", (Sink, Address, Register)),
    ],
)  # fmt: skip
def test_what_an_operand_is(one: One, line: str, kinds: tuple[type, ...]) -> None:
    assert tuple(type(operand) for operand in one(line).operands) == kinds


@pytest.mark.parametrize(
    ("line", "message"),
    [("mov.u32 %r1, %nothing;", "%nothing"), ("ld.global.u32 %r1, [%rd1;", "expected"), ("mov.u32 %r1, ;", "expected")],
)
def test_what_is_none_is_refused(one: One, line: str, message: str) -> None:
    with pytest.raises(PtxError, match=message):
        one(line)
