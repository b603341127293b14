"""What makes a kernel one that knows of its cluster: such kernels run cluster by cluster, the others block by block."""

from __future__ import annotations

from collections.abc import Iterable

from gridstride.virtual.ptx.module import Function, Instruction, Special

SPECIALS = frozenset(
    "clusterid nclusterid cluster_ctaid cluster_nctaid cluster_ctarank cluster_nctarank is_explicit_cluster".split()
)
_ALWAYS = frozenset(["mapa", "getctarank"])
_ADDRESSING = frozenset("ld ldu st atom red cvta isspacep mbarrier".split())


def knows_clusters(functions: Iterable[Function]) -> bool:
    """True where any instruction asks for the cluster, or for another block's shared memory."""
    return any(_asks(ins) for f in functions for ins in f.instructions)


def _asks(ins: Instruction) -> bool:
    said = ins.modifiers
    if ins.opcode in _ALWAYS or "multicast::cluster" in said:
        return True
    if ins.opcode in ("bar", "barrier"):
        return "cluster" in said
    if "shared::cluster" in said and (ins.opcode in _ADDRESSING or "shared::cta" in said):
        return True  # a bulk copy from global memory names shared::cluster in every kernel
    return any(isinstance(o, Special) and o.name in SPECIALS for o in ins.operands)
