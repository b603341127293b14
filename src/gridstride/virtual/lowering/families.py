"""All instruction families in one table: opcode to the function that writes it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gridstride.virtual.lowering import calls
from gridstride.virtual.lowering.instructions import memory
from gridstride.virtual.lowering.program import Family

if TYPE_CHECKING:
    from gridstride.virtual.lowering.function import Lowering
    from gridstride.virtual.ptx.module import Instruction

_FLOAT_TYPES = frozenset(["f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2", "tf32"])


def _by_type(integer: Family | None, floating: Family) -> Family:
    """An opcode that integers and floats share."""

    def lower(cx: Lowering, ins: Instruction) -> None:
        family = floating if ins.types and ins.types[-1] in _FLOAT_TYPES else integer
        if family is None:
            raise cx.unsupported(f"`{ins.name}`")
        family(cx, ins)

    return lower


def _collect() -> dict[str, Family]:
    found: dict[str, Family] = {}
    rooms = (
        *("integer", "compare", "conversion", "approximate", "floating", "half", "warp", "atomics", "builtins"),
        *("matrix", "warpgroup", "asynchronous", "mbarrier", "tensor_maps", "policies"),
        *("clusters", "textures", "surfaces"),
    )
    for room in rooms:
        module = import_module(f"gridstride.virtual.lowering.instructions.{room}")
        found.update(getattr(module, "FAMILY", {}))
        for opcode, floating in getattr(module, "FLOATING", {}).items():
            found[opcode] = _by_type(found.get(opcode), floating)
    found.update(memory.FAMILY)
    found.update(calls.FAMILY)
    return found


FAMILIES: dict[str, Family] = _collect()
