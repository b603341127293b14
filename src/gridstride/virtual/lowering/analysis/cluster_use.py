"""What makes a kernel one that knows of its cluster: such kernels run cluster by cluster, the others block by block."""

from __future__ import annotations

from collections.abc import Iterable

from gridstride.virtual.ptx.isa import ISA
from gridstride.virtual.ptx.module import Function, Instruction, Special

SPECIALS = frozenset(
    "clusterid nclusterid cluster_ctaid cluster_nctaid cluster_ctarank cluster_nctarank is_explicit_cluster".split()
)


def knows_clusters(functions: Iterable[Function]) -> bool:
    """True where any instruction asks for the cluster, or for another block's shared memory."""
    return any(_asks(ins) for f in functions for ins in f.instructions)


def _asks(ins: Instruction) -> bool:
    words, asks = ins.modifiers, ISA[ins.opcode].cluster
    if asks == "always" or asks in words or "multicast::cluster" in words:
        return True
    if "shared::cluster" in words and "shared::cta" in words:
        return True  # a bulk copy from global memory names shared::cluster in every kernel
    return any(isinstance(o, Special) and o.name in SPECIALS for o in ins.operands)
