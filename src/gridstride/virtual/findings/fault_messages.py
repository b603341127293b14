"""From the record that stopped a launch to a finding in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.protocol import Dim3
from gridstride.virtual.abi.address_spaces import NO_SITE
from gridstride.virtual.abi.execution_records import IN_LOOPS, MOST_GROUPS, SPINNING, WAITING
from gridstride.virtual.abi.finding_kinds import FAULTS, kinds_from
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.findings import cluster_faults, tensor_faults
from gridstride.virtual.findings.address_faults import address_message, signed, verb
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.findings.object_faults import object_message
from gridstride.virtual.findings.waiting import barriers, not_started, polled, stalled, waiting_for
from gridstride.virtual.machine.session import Session
from gridstride.virtual.machine.variant import KernelSite, Tables

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import VirtualDevice

ADDRESSED = ("out_of_bounds", "misaligned", "use_after_free", "invalid_free", "exited_block")
"""Kinds that are about an address."""

_SPACES = {0: "global", 1: "shared", 2: "local", 3: "parameter"}


def thread_of(block: Dim3, warp: int, lane: int) -> Dim3:
    """%tid of a lane of a warp."""
    number = warp * LANES + lane
    return (number % block[0], number // block[0] % block[1], number // (block[0] * block[1]))


def warp_of(block: Dim3, thread: Dim3) -> int:
    """The warp of a thread."""
    x, y, z = thread
    return (x + block[0] * (y + block[1] * z)) // LANES


def complete(session: Session) -> None:
    """Fills in the record of a launch that was stopped while all its warps were giving way: one stands for them."""
    record = session.launch[0]
    if record["faulted"]:
        return
    record["fault_kind"], record["fault_site"] = record["abort"], NO_SITE
    for warps in session.warps:
        for warp in warps[np.isin(warps["state"], (SPINNING, WAITING))][:1]:
            live = int(warp["live"])
            for name in ("site", "warp", "ctaid"):
                record[f"fault_{name}"] = warp[name]
            record["fault_lane"] = (live & -live).bit_length() - 1 if live else 0
            return


def finding(kernel: str, block: Dim3, session: Session, tables: Tables, device: VirtualDevice) -> KernelFinding:
    """What the launch record says, with the place in the source."""
    record = session.launch[0]
    kind = FAULTS[int(record["fault_kind"])]
    site = int(record["fault_site"])
    kernel_site = tables.sites[site] if site < len(tables.sites) else None
    thread = thread_of(block, int(record["fault_warp"]), min(int(record["fault_lane"]), LANES - 1))
    ctaid: Dim3 = tuple(int(c) for c in record["fault_ctaid"])  # type: ignore[assignment]
    message = _WORDS[kind](_Stop(kind, record, kernel_site, session, tables, device))
    address = int(record["fault_address"]) if kind in ADDRESSED else None
    file, line = (kernel_site.file, kernel_site.line) if kernel_site else (None, None)
    if kind == "assert":
        message, file, line = _assertion(record, session, device, ctaid, thread) or (message, file, line)
    return KernelFinding(kind, message, kernel, file, line, ctaid, thread, address)


@dataclass(frozen=True, slots=True)
class _Stop:
    """What the words for a launch that was stopped are made of; `record` is the launch's."""

    kind: str
    record: Any
    site: KernelSite | None
    session: Session
    tables: Tables
    device: VirtualDevice


def _address(stop: _Stop) -> str:
    return address_message(stop.kind, stop.record, stop.site, stop.device)


def _timeout(stop: _Stop) -> str:
    session, device = stop.session, stop.device
    started, blocks = min(int(stop.record["next"]), int(stop.record["blocks"])), int(stop.record["blocks"])
    state = "the loop here had not ended" if stop.site else f"{started:,} of {blocks:,} blocks had been started"
    limited = device.schedule is not None and device.schedule.resident is not None
    waits = polled(session, stop.tables, device) + (not_started(session) if limited else "")
    more = "VirtualGPU(time_limit=…) or GRIDSTRIDE_TIME_LIMIT gives it longer"
    return f"stopped after {session.time_limit:.3g} s: {state} ({more}){waits}"


def _deadlock(stop: _Stop) -> str:
    if int(stop.record["fault_space"]) == IN_LOOPS:
        return stalled(stop.session, stop.tables, stop.device)
    if stop.session.demand.cluster:
        return cluster_faults.deadlock(stop.session, stop.tables)
    return _stuck_block(stop.session, stop.tables, stop.device)


def _stack_overflow(stop: _Stop) -> str:
    return (
        f"the calls go deeper than the stack: does the recursion end? A thread has {stop.device.stack:,} bytes for "
        "recursive calls (cudaLimitStackSize)"
    )


def _too_many_groups(_stop: _Stop) -> str:
    return (
        f"more than {MOST_GROUPS} groups of lanes of one block wait inside functions that are recursive or "
        "called through pointers: the virtual GPU has no more stacks for them"
    )


def _trap(stop: _Stop) -> str:
    at = stop.site is not None and stop.site.name == "brkpt"
    return "a breakpoint (brkpt), and no debugger" if at else "the kernel stopped itself (trap)"


def _exited_block(stop: _Stop) -> str:
    size, address = int(stop.record["fault_size"]), int(stop.record["fault_address"])
    return cluster_faults.exited(f"{verb(stop.site)} of {size} bytes", address)


def _object(stop: _Stop) -> str:
    return object_message(stop.kind, stop.record, stop.site, stop.device)


def _assertion(
    record: Any, session: Session, device: VirtualDevice, ctaid: Dim3, thread: Dim3
) -> tuple[str, str, int] | None:
    """The message as the CUDA runtime prints it, and where the assertion stands; None where it was lost."""
    grid = session.launch[0]["grid"]
    block = ctaid[0] + int(grid[0]) * (ctaid[1] + int(grid[1]) * ctaid[2])
    assertion = device.output.assertion(record, block, int(record["fault_warp"]), int(record["fault_lane"]))
    if assertion is None:
        return None
    where, who = (",".join(map(str, d)) for d in (ctaid, thread))
    message = (
        f"{assertion.file}:{assertion.line}: {assertion.function}: block: [{where}], thread: [{who}] "
        f"Assertion `{assertion.expression}` failed."
    )
    other_count = int(record["fault_mask"]).bit_count() - 1
    if other_count:
        message += f" (and in {other_count} other thread{'s' if other_count > 1 else ''} of the warp)"
    return message, assertion.file, assertion.line


def _mbarrier(stop: _Stop) -> str:
    record = stop.record
    value = signed(int(record["fault_address"]))
    match int(record["fault_size"]):
        case 1:
            return (
                f"no mbarrier object at offset {value} of shared memory: mbarrier.init must come first, and a barrier "
                "between it and the other threads' first use (or it was invalidated, or written over)"
            )
        case 2:
            return f"an mbarrier cannot expect {value} arrivals: 1 to 1048575 is what it counts"
        case 3:
            return (
                f"one arrival too many: the phase of this mbarrier expects {value}, and all of them have come; "
                "is its init count too small, or did a thread not wait for the phase before?"
            )
    return f"the bytes that this mbarrier waits for come to {value}: it counts at most 1048575"


def _stuck_block(session: Session, tables: Tables, device: VirtualDevice) -> str:
    """Who waits where: the lines at which the warps of the stuck block stand."""
    waiting: dict[tuple[str, int | None], list[int]] = {}
    record = session.launch[0]
    ctaid = [int(c) for c in record["fault_ctaid"]]
    objects = ""
    for warps in session.warps:
        held = warps[(warps["state"] == WAITING) & (warps["ctaid"] == np.array(ctaid, np.uint32)).all(axis=1)]
        objects += "".join(waiting_for(held, session, tables, device))
        for warp in held:
            site = int(warp["site"])
            kernel_site = tables.sites[site] if site < len(tables.sites) else None
            at = "wgmma" if kernel_site and kernel_site.name.startswith("wgmma") else "barrier"
            waiting.setdefault((at, kernel_site.line if kernel_site else None), []).append(int(warp["warp"]))
    parts = [f"{_warps(w)} at the {at} in line {line}" for (at, line), w in sorted(waiting.items(), key=str)]
    if any(at == "wgmma" for at, _ in waiting):
        parts[-1] += " (which all four warps of a warpgroup must execute)"
    return f"no warp of the block can go on: {'; '.join(parts)} wait for threads that never arrive" + (
        objects or barriers(session, ctaid)
    )


def _warps(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:8])) + (", …" if len(numbers) > 8 else "")
    return f"warp{'s' if len(numbers) > 1 else ''} {shown}"


def _invalid(stop: _Stop) -> str:
    site, record = stop.site, stop.record
    if site is not None and site.name.startswith("call"):
        return "a call through a pointer that is no function of this module"
    if site is not None and site.name.startswith("wgmma"):
        return "sparse tf32 takes metadata 0b0100 (the first of two) or 0b1110 (the second): others have no meaning"
    if site is not None and site.name.startswith("cp.async.bulk"):
        return f"a bulk copy of {int(record['fault_address'])} bytes: it moves a multiple of 16"
    count = int(record["fault_address"])
    if count % LANES:
        return f"a barrier of {count} threads: it counts whole warps, a multiple of {LANES}"
    return (
        "an operand the hardware does not take (barrier numbers are 0 to 15, and the same in all threads of a warp "
        "that arrive together)"
    )


_WORDS: dict[str, Callable[[_Stop], str]] = {
    "out_of_bounds": _address,
    "misaligned": _address,
    "use_after_free": _address,
    "invalid_free": _address,
    "timeout": _timeout,
    "deadlock": _deadlock,
    "stack_overflow": _stack_overflow,
    "too_many_groups": _too_many_groups,
    "trap": _trap,
    "assert": lambda _: "an assertion failed",  # where its record was lost
    "tensor_map": lambda stop: tensor_faults.unfit(stop.record),
    "tensor_corner": lambda stop: tensor_faults.corner(stop.record),
    "tensor_reduction": lambda stop: tensor_faults.reduction(stop.record),
    "mbarrier": _mbarrier,
    "exited_block": _exited_block,
    "cluster_barrier": lambda stop: cluster_faults.barrier_misuse(stop.record),
    "invalid_instruction": _invalid,
    "texture": _object,
    "surface": _object,
}
"""What is said of each kind that ends a launch."""

if unmatched := kinds_from("ends") ^ _WORDS.keys():
    raise ImportError(f"fault_messages.py needs words for the kinds that end a launch, and no others: see {unmatched}")
