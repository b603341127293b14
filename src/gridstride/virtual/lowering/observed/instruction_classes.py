"""The classes that instructions are counted in, and the operations of a matrix product."""

from __future__ import annotations

import re

from gridstride.virtual.lowering.analysis.memory_operands import space_of
from gridstride.virtual.ptx.isa import ISA, Class
from gridstride.virtual.ptx.module import Instruction

_COUNTED = {
    Class.CONVERT: "convert", Class.MOVE: "move", Class.MEMORY: "memory", Class.TEXTURE: "texture",
    Class.TENSOR: "tensor", Class.WARP: "warp", Class.BARRIER: "barrier", Class.BRANCH: "branch",
    Class.LEAVE: "control", Class.CALL: "control", Class.SPECIAL: "special", Class.ROOT: "special",
    Class.ARITHMETIC: None, Class.MULTIPLY: None, Class.MULTIPLY_ADD: None, Class.DIVISION: None, Class.QUERY: None,
    Class.OTHER: None,
}  # fmt: skip
"""What is counted by its opcode; None for what is by its type."""
if unmatched := {member.value for member in set(Class) - _COUNTED.keys()}:
    raise ImportError(f"instruction_classes.py must say how each class is counted: see {', '.join(sorted(unmatched))}")
_BY_OPCODE = {name: _COUNTED[row.kind] for name, row in ISA.items()}
CLASSES = (
    *("parameter", "memory", "branch", "control", "barrier", "tensor", "texture", "special", "warp", "convert", "move"),
    *("fp32", "fp32_fma", "fp64", "fp64_fma", "half", "integer", "integer_fma"),
)
"""`parameter`: ld.param and ld.const, which machine code reads as operands of other instructions."""

TENSOR_TYPES = ("f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1")
"""Types of the factors of matrix products that the virtual GPU has."""


def kind_of(ins: Instruction) -> str:
    """The class that an instruction is counted in, one of CLASSES."""
    kind = ISA[ins.opcode].kind
    if kind is Class.MEMORY and ins.opcode in ("ld", "st") and space_of(ins) in ("param", "const"):
        return "parameter"
    if kind is Class.TENSOR and not {"load", "store"}.isdisjoint(ins.modifiers):
        return "memory"
    if kind is Class.TENSOR and not {"fence", "commit_group", "wait_group"}.isdisjoint(ins.modifiers):
        return "control"
    return _BY_OPCODE[ins.opcode] or _by_type(kind, ins.types[-1] if ins.types else "")


def _by_type(kind: Class, type_: str) -> str:
    if type_ in ("f32", "f64"):
        return f"fp{type_[1:]}" + ("_fma" if kind is Class.MULTIPLY_ADD else "")
    if "f16" in type_:
        return "half"
    return "integer_fma" if kind in (Class.MULTIPLY, Class.MULTIPLY_ADD) else "integer"


def tensor_operations(ins: Instruction) -> int:
    """Operations (two for a multiply-add) of one warp in a matrix product; 0 for anything else."""
    if ISA[ins.opcode].kind is not Class.TENSOR:
        return 0
    if {"mma", "mma_async"}.isdisjoint(ins.modifiers) and ins.opcode != "mma":
        return 0
    shapes = [re.fullmatch(r"m(\d+)n(\d+)k(\d+)", m) for m in ins.modifiers]
    for shape in filter(None, shapes):
        m, n, k = map(int, shape.groups())
        return 2 * m * n * k // (4 if ins.opcode == "wgmma" else 1)  # four warps share a wgmma
    return 0


def tensor_type(ins: Instruction) -> str:
    """The type of A, one of TENSOR_TYPES, which the rate of a matrix product depends on. A wmma that names only the
    types of its sums has factors of f16.
    """
    return ins.types[1] if len(ins.types) > 2 else "f16"
