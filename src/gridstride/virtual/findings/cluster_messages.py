"""Findings between the blocks of a cluster, in words."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.abi.address_spaces import RANK_SHIFT
from gridstride.virtual.machine.variant import KernelSite

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """What a finding's address says: an offset, the rank of the block whose memory it is, that of the other side."""

    offset: int
    owner: int | None
    other: int | None

    @staticmethod
    def of(address: int) -> ClusterAddress:
        owner, other = (address >> shift & 0xFF for shift in (RANK_SHIFT, 32))
        return ClusterAddress(
            address & (1 << RANK_SHIFT) - 1, owner - 1 if owner else None, other - 1 if other else None
        )


def block_of(ctaid: Dim3, cluster: Dim3, rank: int) -> Dim3:
    """The block with a rank in the cluster of another block."""
    own = (rank % cluster[0], rank // cluster[0] % cluster[1], rank // (cluster[0] * cluster[1]))
    x, y, z = (i - i % n + o for i, n, o in zip(ctaid, cluster, own, strict=True))
    return (x, y, z)


def _verb(site: KernelSite | None) -> str:
    """What an instruction does to memory: reads, writes, or changes as atomics do."""
    opcode = site.name.partition(".")[0] if site else "ld"
    copies = site is not None and site.name.startswith("cp.") and ".shared" in site.name.partition("global")[0]
    if opcode == "st" or copies:
        return "writes"
    return "changes" if opcode in ("atom", "red") else "reads"


def _past_verb(site: KernelSite | None) -> str:
    return {"writes": "wrote", "changes": "changed", "reads": "read"}[_verb(site)]


def race(
    site: KernelSite | None,
    thread: Dim3,
    address: ClusterAddress,
    owner: Dim3,
    other: Dim3,
    other_thread: Dim3,
    other_site: KernelSite | None,
) -> str:
    """Two blocks at one place with nothing between."""
    return (
        f"thread {thread} {_verb(site)} shared memory of block {owner} (rank {address.owner}) at offset "
        f"{address.offset}, which thread {other_thread} of block {other} {_past_verb(other_site)} in line "
        f"{other_site.line if other_site else None} with nothing between that orders the two blocks: is a "
        "cluster.sync() "
        "missing, or a wait on an mbarrier?"
    )


def early(site: KernelSite | None, thread: Dim3, owner: Dim3, rank: int) -> str:
    """An access that nothing orders after the beginning of the block whose memory it is."""
    return (
        f"thread {thread} {_verb(site)} shared memory of block {owner} (rank {rank}), of which it does not "
        "know whether it has begun: only after a first cluster.sync() are all blocks of a cluster there"
    )


def ended(site: KernelSite | None, thread: Dim3, owner: Dim3, rank: int) -> str:
    """An access that nothing orders before the end of the block whose memory it is."""
    return (
        f"thread {thread} {_verb(site)} shared memory of block {owner} (rank {rank}), which does not wait for that "
        "before it ends: the hardware may have given its memory away by then; a cluster.sync() at the end keeps it"
    )
