"""What differs between the lanes of a warp: special registers, and results of instructions."""

from __future__ import annotations

from gridstride.virtual.lowering.analysis import affine
from gridstride.virtual.lowering.analysis.affine import Affine
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.analysis.control_flow import Code
from gridstride.virtual.ptx.isa import ISA, Uniformity
from gridstride.virtual.ptx.module import Address, Immediate, Instruction, Symbol

UNIFORM_SPECIALS = frozenset(
    "ntid ctaid nctaid warpid nwarpid smid nsmid gridid clock clock64 clock_hi globaltimer globaltimer_lo "
    "globaltimer_hi dynamic_smem_size total_smem_size aggr_smem_size clusterid nclusterid cluster_ctaid "
    "cluster_nctaid cluster_ctarank cluster_nctarank is_explicit_cluster current_graph_exec pm".split()
)

_SPECIAL_TOP = {"ntid": 1024, "ctaid": 2**31 - 1, "nctaid": 2**31 - 1, "warpid": 63, "laneid": 31}


def is_uniform(shape: Affine | None) -> bool:
    """True for the shape of what is the same in all lanes."""
    return shape is not None and shape.uniform


def width_of(ptx_type: str) -> int:
    """The width in bits that a linear form of a register of this type has."""
    return 64 if ptx_type.endswith("64") else 32


def special_shape(block_shape: BlockShape, name: str, component: str | None) -> Affine | None:
    """The shape of a special register."""
    if name == "tid" and component == "w":
        return Affine(32, top=0)
    if name == "tid":
        return block_shape.thread("xyz".index(component or "x"), None)
    if name == "laneid":
        return Affine(32, None, affine.LANE, align=affine.ANY_ALIGN, top=31)
    if name in UNIFORM_SPECIALS or name.startswith(("envreg", "pm", "reserved_smem")):
        align = 32 if name == "ntid" and component == "x" and block_shape.kind == "rows" else 1
        wide = name in ("clock64", "globaltimer", "current_graph_exec") or name.endswith("_64")
        return Affine(64 if wide else 32, align=align, top=_SPECIAL_TOP.get(name))
    return None


def broadcast_lane(ins: Instruction) -> int | None:
    """The lane whose value shfl.sync gives to all 32, as in `__shfl_sync(mask, x, 0)`; None where it does not."""
    if ins.opcode != "shfl" or not {"sync", "idx"} <= set(ins.modifiers):
        return None
    lane, clamp = ins.operands[2:4]
    if not (isinstance(lane, Immediate) and isinstance(clamp, Immediate)):
        return None
    return lane.bits & 31 if clamp.bits & 31 == 31 and clamp.bits >> 8 & 31 == 0 else None


def varies(code: Code, ins: Instruction) -> bool:
    """True where the result differs between lanes even if the operands do not."""
    row = ISA[ins.opcode]
    if row.result is Uniformity.VARYING or "cc" in ins.modifiers or not row.varies_with.isdisjoint(ins.modifiers):
        return True
    if ins.opcode != "ld" or not any(m.partition("::")[0] == "param" for m in ins.modifiers):
        return False
    address = ins.operands[1]
    names_variable = isinstance(address, Address) and isinstance(address.base, Symbol)
    return names_variable and address.base.name not in code.uniform_params  # type: ignore[union-attr]
