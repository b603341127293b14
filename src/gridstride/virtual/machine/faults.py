"""From the record that stopped a launch to a finding in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.virtual.machine import clusters, tensor_faults
from gridstride.virtual.machine.address_faults import address_message, signed, verb
from gridstride.virtual.machine.layout import FAULTS, LANES, MOST_GROUPS, SPINNING, WAITING
from gridstride.virtual.machine.object_faults import object_message
from gridstride.virtual.machine.session import Dim3, Session
from gridstride.virtual.machine.variant import Place, Tables
from gridstride.virtual.machine.waiting import barriers, polled, waiting_for
from gridstride.virtual.observe.findings import Finding

if TYPE_CHECKING:
    from gridstride.virtual.gpu import VirtualGPU

ADDRESSED = ("out_of_bounds", "misaligned", "use_after_free", "invalid_free", "exited_block")
"""Kinds that are about an address."""

NOWHERE = 0xFFFFFFFF
"""The site of a warp that has not waited yet."""
_SPACES = {0: "global", 1: "shared", 2: "local", 3: "parameter"}


def thread_of(block: Dim3, warp: int, lane: int) -> Dim3:
    """%tid of a lane of a warp."""
    number = warp * LANES + lane
    return (number % block[0], number // block[0] % block[1], number // (block[0] * block[1]))


def complete(session: Session) -> None:
    """Fills in the record of a launch that was stopped while all its warps were giving way: one stands for them."""
    record = session.launch[0]
    if record["faulted"]:
        return
    record["fault_kind"], record["fault_site"] = record["abort"], NOWHERE
    for warps in session.warps:
        for warp in warps[np.isin(warps["state"], (SPINNING, WAITING))][:1]:
            live = int(warp["live"])
            for name in ("site", "warp", "ctaid"):
                record[f"fault_{name}"] = warp[name]
            record["fault_lane"] = (live & -live).bit_length() - 1 if live else 0
            return


def finding(kernel: str, block: Dim3, session: Session, tables: Tables, device: VirtualGPU) -> Finding:
    """What the launch record says, with the place in the source."""
    record = session.launch[0]
    kind = FAULTS[int(record["fault_kind"])]
    site = int(record["fault_site"])
    place = tables.sites[site] if site < len(tables.sites) else None
    thread = thread_of(block, int(record["fault_warp"]), min(int(record["fault_lane"]), LANES - 1))
    ctaid: Dim3 = tuple(int(c) for c in record["fault_ctaid"])  # type: ignore[assignment]
    message = _message(kind, record, place, session, tables, device)
    address = int(record["fault_address"]) if kind in ADDRESSED else None
    file, line = (place.file, place.line) if place else (None, None)
    if kind == "assert":
        message, file, line = _assertion(record, session, device, ctaid, thread) or (message, file, line)
    return Finding(kind, message, kernel, file, line, ctaid, thread, address)


def _message(kind: str, record: Any, place: Place | None, session: Session, tables: Tables, device: VirtualGPU) -> str:
    match kind:
        case "out_of_bounds" | "misaligned" | "use_after_free" | "invalid_free":
            return address_message(kind, record, place, device)
        case "timeout":
            limit = f"{device.time_limit:g} s"
            more = "VirtualGPU(time_limit=…) or GRIDSTRIDE_TIME_LIMIT gives it longer"
            started, blocks = min(int(record["next"]), int(record["blocks"])), int(record["blocks"])
            state = "the loop here had not ended" if place else f"{started:,} of {blocks:,} blocks had been started"
            return f"stopped after {limit}: {state} ({more}){polled(session, tables, device)}"
        case "deadlock":
            if session.demand.cluster:
                return clusters.deadlock(session, tables)
            return _deadlock(session, tables, device)
        case "stack_overflow":
            return "the calls go deeper than the stack: does the recursion end?"
        case "too_many_groups":
            return (
                f"more than {MOST_GROUPS} groups of lanes of one block wait inside functions that are recursive or "
                "called through pointers: the virtual GPU has no more stacks for them"
            )
        case "trap":
            at = place is not None and place.name == "brkpt"
            return "a breakpoint (brkpt), and no debugger" if at else "the kernel stopped itself (trap)"
        case "assert":
            return "an assertion failed"
        case "tensor_map":
            return tensor_faults.unfit(record)
        case "tensor_corner":
            return tensor_faults.corner(record)
        case "tensor_reduction":
            return tensor_faults.reduction(record)
        case "mbarrier":
            return _mbarrier(record)
        case "exited_block":
            return clusters.exited(f"{verb(place)} of {int(record['fault_size'])} bytes", record)
        case "cluster_barrier":
            return clusters.barrier_misuse(record)
        case "invalid_instruction":
            return _invalid(place, record)
        case "texture" | "surface":
            return object_message(kind, record, place, device)
    return kind


def _assertion(
    record: Any, session: Session, device: VirtualGPU, ctaid: Dim3, thread: Dim3
) -> tuple[str, str, int] | None:
    """The message as the CUDA runtime prints it, and where the assertion stands; None where it was lost."""
    grid = session.launch[0]["grid"]
    block = ctaid[0] + int(grid[0]) * (ctaid[1] + int(grid[1]) * ctaid[2])
    said = device.output.assertion(record, block, int(record["fault_warp"]), int(record["fault_lane"]))
    if said is None:
        return None
    where, who = (",".join(map(str, d)) for d in (ctaid, thread))
    message = (
        f"{said.file}:{said.line}: {said.function}: block: [{where}], thread: [{who}] "
        f"Assertion `{said.expression}` failed."
    )
    others = int(record["fault_mask"]).bit_count() - 1
    if others:
        message += f" (and in {others} other thread{'s' if others > 1 else ''} of the warp)"
    return message, said.file, said.line


def _mbarrier(record: Any) -> str:
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


def _deadlock(session: Session, tables: Tables, device: VirtualGPU) -> str:
    """Who waits where: the lines at which the warps of the stuck block stand."""
    waiting: dict[tuple[str | None, int | None], list[int]] = {}
    record = session.launch[0]
    ctaid = [int(c) for c in record["fault_ctaid"]]
    objects = ""
    for warps in session.warps:
        held = warps[(warps["state"] == WAITING) & (warps["ctaid"] == np.array(ctaid, np.uint32)).all(axis=1)]
        objects += "".join(waiting_for(held, session, tables, device))
        for warp in held:
            site = int(warp["site"])
            place = tables.sites[site] if site < len(tables.sites) else None
            waiting.setdefault((place.file, place.line) if place else (None, None), []).append(int(warp["warp"]))
    parts = [f"{_warps(w)} at the barrier in line {line}" for (_, line), w in sorted(waiting.items(), key=str)]
    return f"no warp of the block can go on: {'; '.join(parts)} wait for threads that never arrive" + (
        objects or barriers(session, ctaid)
    )


def _warps(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:8])) + (", …" if len(numbers) > 8 else "")
    return f"warp{'s' if len(numbers) > 1 else ''} {shown}"


def _invalid(place: Place | None, record: Any) -> str:
    if place is not None and place.name.startswith("call"):
        return "a call through a pointer that is no function of this module"
    if place is not None and place.name.startswith("wgmma"):
        return "sparse tf32 takes metadata 0b0100 (the first of two) or 0b1110 (the second): others have no meaning"
    if place is not None and place.name.startswith("cp.async.bulk"):
        return f"a bulk copy of {int(record['fault_address'])} bytes: it moves a multiple of 16"
    count = int(record["fault_address"])
    if count % LANES:
        return f"a barrier of {count} threads: it counts whole warps, a multiple of {LANES}"
    return (
        "an operand the hardware does not take (barrier numbers are 0 to 15, and the same in all threads of a warp "
        "that arrive together)"
    )
