"""The classes that instructions are counted in, and the operations of a matrix product."""

from __future__ import annotations

import re

from gridstride.virtual.lowering.instructions.memory import space_of
from gridstride.virtual.ptx.module import Instruction

_KINDS = {
    "memory": "ld ldu st atom red prefetch prefetchu ldmatrix stmatrix cp",
    "branch": "bra brx",
    "control": "ret exit call trap",
    "barrier": "bar barrier",
    "tensor": "mma wmma wgmma",
    "texture": "tex tld4 suld sust sured",
    "special": "sin cos ex2 lg2 rcp rsqrt sqrt tanh",
    "warp": "shfl vote match redux activemask elect",
    "convert": "cvt",
    "move": "mov cvta selp movmatrix",
}
_KIND_OF = {opcode: kind for kind, opcodes in _KINDS.items() for opcode in opcodes.split()}
CLASSES = ("parameter", *_KINDS, "fp32", "fp32_fma", "fp64", "fp64_fma", "half", "integer", "integer_fma")
"""`parameter`: ld.param and ld.const, which machine code reads as operands of other instructions."""


def kind_of(ins: Instruction) -> str:
    """The class that an instruction is counted in, one of CLASSES."""
    kind = _KIND_OF.get(ins.opcode)
    if kind == "memory" and ins.opcode in ("ld", "st") and space_of(ins) in ("param", "const"):
        return "parameter"
    if kind == "tensor" and not {"load", "store"}.isdisjoint(ins.modifiers):
        return "memory"
    if kind == "tensor" and not {"fence", "commit_group", "wait_group"}.isdisjoint(ins.modifiers):
        return "control"
    if kind is not None:
        return kind
    type_ = ins.types[-1] if ins.types else ""
    if type_ in ("f32", "f64"):
        width = "fp32" if type_ == "f32" else "fp64"
        return f"{width}_fma" if ins.opcode in ("fma", "mad") else width
    if "f16" in type_:
        return "half"
    return "integer_fma" if ins.opcode in ("mad", "mul", "madc", "mul24", "mad24") else "integer"


def tensor_operations(ins: Instruction) -> int:
    """Operations (two for a multiply-add) of one warp in a matrix product; 0 for anything else."""
    if ins.opcode not in ("mma", "wmma", "wgmma"):
        return 0
    if {"mma", "mma_async"}.isdisjoint(ins.modifiers) and ins.opcode != "mma":
        return 0
    shapes = [re.fullmatch(r"m(\d+)n(\d+)k(\d+)", m) for m in ins.modifiers]
    for shape in filter(None, shapes):
        m, n, k = map(int, shape.groups())
        return 2 * m * n * k // (4 if ins.opcode == "wgmma" else 1)  # four warps share a wgmma
    return 0


def tensor_type(ins: Instruction) -> str:
    """The type of A, which the rate of a matrix product depends on."""
    return ins.types[1] if len(ins.types) > 2 else ins.types[0] if ins.types else ""
