"""From the records of an observed launch to findings: one for each pair of places in the source, causes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gridstride.protocol import Dim3
from gridstride.virtual.abi.finding_kinds import FAULTS, kinds_from
from gridstride.virtual.abi.finding_records import MAX_FINDINGS, SINGLE_LANE_WAIT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.findings import cluster_messages, warpgroup_messages
from gridstride.virtual.findings.fault_messages import thread_of, warp_of
from gridstride.virtual.findings.finding import KernelFinding, OtherAccess
from gridstride.virtual.findings.race_messages import global_race
from gridstride.virtual.findings.value_messages import of_value, stored_nothing
from gridstride.virtual.machine.session import Session
from gridstride.virtual.machine.variant import KernelSite, Variant

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel


def reported(
    kernel: LoadedKernel, block: Dim3, session: Session, variant: Variant, packed: bytes
) -> tuple[KernelFinding, ...]:
    """The findings that did not stop the launch; one for each pair of places in the source."""
    count = min(int(session.launch["finding_count"][0]), MAX_FINDINGS)
    cluster: Dim3 = tuple(int(n) for n in session.launch["cluster"][0])  # type: ignore[assignment]
    first_of: dict[tuple[Any, ...], KernelFinding] = {}
    later: list[KernelFinding] = []
    grid: Dim3 = tuple(int(n) for n in session.launch["grid"][0])  # type: ignore[assignment]
    for record in session.findings[:count]:
        if record["space"]:
            pairs = kernel.module.device.shadow.pairs
            findings = global_race(kernel, (grid, block), record, variant, packed, pairs)
        else:
            findings = _finding(kernel, block, record, variant, packed, cluster)
        other_line = findings.other.line if findings.other else None
        reach = (within_warp(findings, block), not record["space"] and _between_blocks(findings))
        first = first_of.setdefault((findings.kind, findings.line, other_line, *reach), findings)
        other_site = _site_at(variant, int(record["other_site"]))
        if first is findings and findings.kind == "uninitialised_read" and stored_nothing(record, other_site):
            later.append(findings)
    # A barrier of the cluster is one of its blocks, too: what races within a block on the same lines is mended by it.
    wider = [_lines_of(f) for (*_, across), f in first_of.items() if across]
    causes = (f for (*_, across), f in first_of.items() if across or f.kind != "race" or _lines_of(f) not in wider)
    return explained(tuple(causes), block, later)


def explained(
    findings: tuple[KernelFinding, ...], block: Dim3, later: Sequence[KernelFinding] = ()
) -> tuple[KernelFinding, ...]:
    """The causes, the widest first.

    What comes too early (a race, a copy not waited for) reads what is not there yet: that is said once, as is the
    `later` use of a value that was read so. A barrier of the block also brings the lanes of a warp together: where
    warps race, races of lanes on the same lines are no cause of their own, or will be seen once that is mended.
    """
    early = [f for f in findings if f.kind in ("race", "unwaited_copy")]
    lines = {f.line for f in early} | {f.other.line for f in early if f.other}
    warps = {line for f in findings if f.kind == "race" and not within_warp(f, block) for line in _lines_of(f)}
    causes = [
        f for f in findings
        if not (f.kind == "uninitialised_read" and (f.line in lines or (early and f in later)))
        and not (within_warp(f, block) and _lines_of(f) & warps)
    ]  # fmt: skip
    causes.sort(key=lambda f: (f.kind == "uninitialised_read", within_warp(f, block)))
    return tuple(causes)


def beside(stopped: Sequence[KernelFinding], findings: tuple[KernelFinding, ...]) -> tuple[KernelFinding, ...]:
    """Those that are no consequence of what stopped the launch: an access that goes out of bounds has gone over places
    of other threads before, and a race of its line with itself says only that.
    """
    outside = {(f.file, f.line) for f in stopped if f.kind == "out_of_bounds"}
    return tuple(f for f in findings if f.kind != "race" or not _lines_of(f) <= outside)


def within_warp(finding: KernelFinding, block: Dim3) -> bool:
    """Whether it is a race between lanes of one warp."""
    other = finding.other
    if finding.kind != "race" or other is None or other.thread is None or finding.thread is None:
        return False
    return finding.block == other.block and warp_of(block, finding.thread) == warp_of(block, other.thread)


def _between_blocks(finding: KernelFinding) -> bool:
    """Whether it is a race with another block, in shared memory one of the same cluster."""
    return finding.kind == "race" and finding.other is not None and finding.other.block != finding.block


def _lines_of(finding: KernelFinding) -> frozenset[Any]:
    other = finding.other
    return frozenset((access.file, access.line) for access in (finding, other) if access is not None)


@dataclass(frozen=True, slots=True)
class _Note:
    """What the words for a record of the observed build are made of: `site` and `thread` are where it was noticed,
    `other` and `other_thread` the other side, in block `elsewhere`; `at` is what the record's address says.
    """

    of: LoadedKernel
    variant: Variant
    kind: str
    record: Any
    packed: bytes
    cluster: Dim3
    ctaid: Dim3
    site: KernelSite | None
    other_site: KernelSite | None
    thread: Dim3
    other_thread: Dim3
    at: cluster_messages.ClusterAddress
    elsewhere: Dim3
    other: OtherAccess


_Words = tuple[str, int | None, OtherAccess | None]
"""The message, and what of address and other side the finding shows."""


def _finding(
    of: LoadedKernel, block: Dim3, record: Any, variant: Variant, packed: bytes, cluster: Dim3
) -> KernelFinding:
    kind = FAULTS[int(record["kind"])]
    site, other_site = (_site_at(variant, int(record[f])) for f in ("site", "other_site"))
    ctaid: Dim3 = tuple(int(c) for c in record["ctaid"])  # type: ignore[assignment]
    thread = thread_of(block, int(record["warp"]), int(record["lane"]))
    other_thread = thread_of(block, int(record["other_warp"]), int(record["other_lane"]) & (LANES - 1))
    at = cluster_messages.ClusterAddress.of(int(record["address"]))
    elsewhere = ctaid if at.other is None else cluster_messages.block_of(ctaid, cluster, at.other)
    other = OtherAccess(
        _verb(other_site),
        other_site.file if other_site else None,
        other_site.line if other_site else None,
        elsewhere,
        other_thread,
    )
    note = _Note(
        of, variant, kind, record, packed, cluster, ctaid, site, other_site, thread, other_thread, at, elsewhere, other
    )
    message, address, second = _WORDS[kind](note)
    file, line = (site.file, site.line) if site else (None, None)
    return KernelFinding(kind, message, of.title, file, line, ctaid, thread, address, second)


def _barrier_divergence(note: _Note) -> _Words:
    line = note.other.line
    past = note.record["site"] == note.record["other_site"] or line is None
    lost = "went past it" if past else f"is at another barrier, in line {line}"
    message = (
        f"only part of the warp reached this barrier: thread {note.other_thread} {lost}; "
        "every thread of a block must come to the same __syncthreads()"
    )
    return message, None, note.other


def _stack_overflow(note: _Note) -> _Words:
    message = (
        f"the local arrays of the calls under way take {int(note.record['address']):,} bytes of each thread here, and "
        f"hardware's stack has {note.of.module.device.stack:,} where calls are recursive (cudaLimitStackSize raises "
        "it): take a loop with a stack of your own, smaller arrays, or go less deep"
    )
    return message, None, None


def _value(note: _Note) -> _Words:
    message, address = of_value(note.of, note.kind, note.record, note.site, note.other_site, note.packed)
    return message, address, note.other if note.kind == "inactive_lane" else None


def _owner(note: _Note) -> tuple[Dim3, int]:
    """The block of the cluster whose shared memory it is, and its rank."""
    assert note.at.owner is not None
    return cluster_messages.block_of(note.ctaid, note.cluster, note.at.owner), note.at.owner


def _race(note: _Note) -> _Words:
    if note.at.owner is not None:
        return _race_in_cluster(note)
    record, other_site, address, line = note.record, note.other_site, note.at.offset, note.other.line
    did = f"thread {note.thread} {_does(note.site)} shared memory at offset {address}, which thread {note.other_thread}"
    same_warp = record["warp"] == record["other_warp"]
    if int(record["other_lane"]) & SINGLE_LANE_WAIT:
        message = (
            f"{did} {_did(other_site)} in line {line}, and one lane told of it or waited for it (at an mbarrier, by "
            "a flag "
            "or a counter) for its whole warp: that says nothing of the other lanes, behind a fence or not. Is a "
            "__syncwarp() missing before the one tells, or after it has waited?"
        )
    elif same_warp and record["site"] == record["other_site"] and note.other.kind == "write":
        message = (
            f"{did} of the same warp {_did(other_site)} in line {line} too: they store different values, and any of "
            "them may stay; give each thread a place of its own, or let one of them store"
        )
    elif same_warp:
        message = (
            f"{did} of the same warp {_did(other_site)} in line {line} with nothing between that orders the lanes' "
            "accesses: is a __syncwarp() missing? Lanes of a warp need not run in step, and volatile, fences, votes, "
            "shuffles and matrix instructions do not change that"
        )
    elif (passed := _site_at(note.variant, int(record["passed"]) - 1)) is not None:
        message = (
            f"{did} {_did(other_site)} in line {line}. That thread had returned before the barrier in line "
            f"{passed.line}, "
            "and a barrier says nothing of threads that do not come to it: all threads of the block must come to the "
            "__syncthreads(), also those that have nothing to do after it"
        )
    else:
        message = f"{did} {_did(other_site)} in line {line} with no barrier between: is a __syncthreads() missing?"
    return message, address, note.other


def _race_in_cluster(note: _Note) -> _Words:
    owner, _ = _owner(note)
    message = cluster_messages.race(
        note.site, note.thread, note.at, owner, note.elsewhere, note.other_thread, note.other_site
    )
    return message, note.at.offset, note.other


def _exited_block(note: _Note) -> _Words:
    return cluster_messages.ended(note.site, note.thread, *_owner(note)), None, None


def _unstarted_block(note: _Note) -> _Words:
    return cluster_messages.early(note.site, note.thread, *_owner(note)), None, None


def _copy(note: _Note) -> _Words:
    if note.at.owner is not None:
        return _race_in_cluster(note)
    if note.record["site"] == note.record["other_site"]:
        return _left_behind(note)
    they = str(note.other_thread) if note.at.other is None else f"{note.other_thread} of block {note.elsewhere}"
    message = _asynchronous(note.kind, note.thread, they, note.at.offset, note.site, note.other.line)
    return message, note.at.offset, note.other


def _left_behind(note: _Note) -> _Words:
    message = (
        f"thread {note.thread} ends, and the bulk copy that it starts here may not have read shared memory at offset "
        f"{note.at.offset} by then: what the block leaves goes to the next one. Wait with "
        "cp.async.bulk.wait_group.read 0 before the end"
    )
    return message, note.at.offset, None


def _wgmma(note: _Note) -> _Words:
    address = int(note.record["address"])  # of a descriptor more than an offset
    message = warpgroup_messages.message(note.kind, note.thread, note.other_thread, address, note.site, note.other.line)
    return message, address if note.kind == "wgmma_operand" else None, replace(note.other, block=note.ctaid)


def _asynchronous(
    kind: str, thread: Dim3, other_thread: str, address: int, site: KernelSite | None, line: int | None
) -> str:
    if kind == "proxy_fence":
        what = "wgmma" if site is not None and site.name.startswith("wgmma") else "bulk copy"
        return (
            f"the {what} reads shared memory at offset {address}, which thread {other_thread} wrote in line {line} "
            "with no "
            "fence.proxy.async since: it may see what was there before"
        )
    return (
        f"thread {thread} {_does(site)} shared memory at offset {address}, where the copy that thread {other_thread} "
        "started "
        f"in line {line} has not been waited for: cp.async needs a wait_group (__pipeline_wait_prior) and a barrier, a "
        "bulk copy a wait on its mbarrier or its group"
    )


def _site_at(variant: Variant, site: int) -> KernelSite | None:
    return variant.tables.sites[site] if 0 <= site < len(variant.tables.sites) else None


def _verb(site: KernelSite | None) -> str:
    if site is None:
        return "read"
    spaces = [word for word in site.name.replace("::", ".").split(".") if word in ("shared", "global")]
    copies_in = site.name.startswith("cp.") and spaces[:1] == ["shared"]
    return "write" if site.name.startswith(("st", "wmma.store")) or copies_in else "read"


def _does(site: KernelSite | None) -> str:
    return "changes atomically" if _atomic(site) else f"{_verb(site)}s"


def _did(site: KernelSite | None) -> str:
    return "changed atomically" if _atomic(site) else "wrote" if _verb(site) == "write" else "read"


def _atomic(site: KernelSite | None) -> bool:
    return site is not None and site.name.partition(".")[0] in ("atom", "red")


_GLOBAL_ONLY = frozenset({"non_coherent_read"})
"""Kinds whose records are all about global memory: race_messages.py has their words."""

_WORDS: dict[str, Callable[[_Note], _Words]] = {
    "barrier_divergence": _barrier_divergence,
    "race": _race,
    "stack_overflow": _stack_overflow,
    "uninitialised_read": _value,
    "inactive_lane": _value,
    "member_mask": _value,
    "unwaited_copy": _copy,
    "proxy_fence": _copy,
    "exited_block": _exited_block,
    "unstarted_block": _unstarted_block,
    "wgmma_operand": _wgmma,
    "wgmma_register": _wgmma,
    "wgmma_fence": _wgmma,
    "wgmma_warps": _wgmma,
    "wgmma_wait": _wgmma,
    "wgmma_descriptor": _wgmma,
}
"""What is said of each kind that the observed build notes."""

if unmatched := kinds_from("recorded") ^ (_WORDS.keys() | _GLOBAL_ONLY):
    raise ImportError(f"recorded.py needs words for the kinds that are recorded, and no others: see {unmatched}")
