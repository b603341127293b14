"""Conformance: what a physical GPU makes of random PTX programs, bit for bit, against the virtual GPU.

    python bench/conformance.py record tests/virtual/fixtures/conformance_h200.npz --count 2400    # with a GPU
    python bench/conformance.py compare    # the virtual GPU against the recording, anywhere

`compare`, which no command means too, leaves its tally in bench/results/conformance.json.
`record … --outputs DIR` also keeps what every program gave, for `explain … --outputs DIR`: compare, then operands and
results of the first wrong statements.

A recording holds a digest of every slot of every program of `tests/virtual/cases/conformance_programs.py`; the programs
are made again from their numbers. NaNs count as equal whatever their payload; other payloads are counted apart. A
program's first slot that differs is its disagreement: what comes after may follow from it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "virtual"
sys.path[:0] = [str(ROOT / "src"), str(TESTS / "cases")]

import conformance_programs as programs  # noqa: E402
from common import save  # noqa: E402

import gridstride as gs  # noqa: E402

FIXTURE = TESTS / "fixtures" / "conformance_h200.npz"
PER_MODULE = 50
"""Programs in one PTX module: enough that loading costs little, few enough that one failure names its place."""

RECORDERS = 8
"""Processes that record at a time: most of the time goes into the driver's compiler."""

SHOWN = 60
"""Most disagreements to print."""

MISCOMPILED = {
    685: "cvt.rpi.u32.f32 of a negative number, 0, is read as a 16-bit negative amount by the shift that follows",
    1129: "cvt.rzi.u32.bf16 of what cvt.rm.bf16.f16 gave saturates, though that is the number expected",
    1662: "neg.f16 is folded into cvt.rzi.u64.f16, which then rounds away from 0",
    2326: "selp of a set's result compared with 0 loses its second value, and rem divides by 0",
}
"""Programs of the recording where the GPU's result contradicts the operands that it stored itself: ptxas 13.0's errors.

None of these statements lies in a branch or a loop; each instruction by itself agrees.
"""


@dataclass(frozen=True, slots=True)
class Group:
    """Programs `first`… of one module, with the digests recorded of them."""

    first: int
    values: np.ndarray
    bits: np.ndarray


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the virtual GPU made of a group: slots whose values, and whose NaNs' payloads alone, differ."""

    first: int
    wrong: list[tuple[int, int]]
    payloads: list[tuple[int, int]]
    failure: str = ""


def record(path: Path, count: int, outputs: Path | None) -> None:
    """Runs programs 0 to count - 1 on the physical GPU and stores the digests of what comes out.

    `outputs`: a folder for what every program gave, which `explain` reads.
    """
    if outputs is not None:
        outputs.mkdir(parents=True, exist_ok=True)
    ranges = [range(first, min(count, first + PER_MODULE)) for first in range(0, count, PER_MODULE)]
    with ProcessPoolExecutor(RECORDERS, get_context("spawn")) as pool:
        found = list(pool.map(recorded, ranges, repeat(outputs)))
    values, bits = (np.concatenate([each[i] for each in found]) for i in range(2))
    sample = programs.version([programs.program(seed) for seed in range(PER_MODULE)])
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, version=sample, values=values, bits=bits)
    print(f"{count} programs, {path.stat().st_size} bytes")


def recorded(seeds: range, outputs: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Digests of some programs from the physical GPU, whose results go to the folder too."""
    some = [programs.program(seed) for seed in seeds]
    with gs.use("physical"):
        found = programs.run(some)
    if outputs is not None:
        np.savez_compressed(outputs / f"{seeds[0]}.npz", found)
    return programs.digests(some, found)


def groups(path: Path) -> list[Group]:
    """The recording, module by module; SystemExit where it is of other programs than are made now."""
    with np.load(path) as recorded:
        values, bits, version = recorded["values"], recorded["bits"], str(recorded["version"])
    if version != programs.version([programs.program(seed) for seed in range(PER_MODULE)]):
        sys.exit(f"{path}: recorded from other programs than conformance_programs.py makes now; record again")
    return [Group(i, values[i : i + PER_MODULE], bits[i : i + PER_MODULE]) for i in range(0, len(values), PER_MODULE)]


def held(group: Group) -> Outcome:
    """Runs a group on the virtual GPU, on one core, and holds it against the recording."""
    some = [programs.program(seed) for seed in range(group.first, group.first + len(group.values))]
    try:
        with gs.use(gs.VirtualGPU(workers=1, memory=256 << 20)):
            values, bits = programs.digests(some, programs.run(some))
    except gs.DeviceError as error:
        return Outcome(group.first, [], [], str(error))
    wrong = values != group.values
    return Outcome(group.first, _places(wrong, group.first), _places((bits != group.bits) & ~wrong, group.first))


def _places(which: np.ndarray, first: int) -> list[tuple[int, int]]:
    """(program, slot) of what is set, for the slots that a program has."""
    return [(first + int(p), int(s)) for p, s in zip(*np.nonzero(which), strict=True)]


def compare(path: Path) -> list[tuple[int, int]]:
    """Prints the agreement by family and the statements that differ; returns the first place of each program."""
    work = groups(path)
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        outcomes = list(pool.map(held, work))
    wrong = [place for each in outcomes for place in each.wrong]
    payloads = [place for each in outcomes for place in each.payloads]
    firsts = [place for i, place in enumerate(wrong) if i == 0 or wrong[i - 1][0] != place[0]]
    count = sum(len(each.values) for each in work)
    for each in outcomes:
        if each.failure:
            print(f"programs from {each.first} failed: {each.failure}")
    families = _by_family(count, firsts, payloads)
    differing = [_described(*place) for place in firsts]
    print(*differing[:SHOWN], sep="\n")
    failed = sum(len(one.values) for one, each in zip(work, outcomes, strict=True) if each.failure)
    print(f"{count - failed - len(firsts)} of {count} programs agree")
    summary = {"programs": count, "agree": count - failed - len(firsts), "families": families, "differ": differing}
    save("conformance", summary)
    return firsts


def _described(seed: int, slot: int) -> str:
    cause = f" (ptxas: {MISCOMPILED[seed]})" if seed in MISCOMPILED else ""
    return f"program {seed} slot {slot}: {programs.program(seed).slots[slot].text}{cause}"


def _by_family(count: int, firsts: list[tuple[int, int]], payloads: list[tuple[int, int]]) -> dict[str, dict[str, int]]:
    """Prints, and returns by family, the results held against the GPU's and how many differ."""
    made = {seed: programs.program(seed) for seed in range(count)}
    statements = Counter(slot.family for each in made.values() for slot in each.slots)
    wrong, differ = (Counter(made[p].slots[s].family for p, s in places) for places in (firsts, payloads))
    print(f"{'family':12s}{'results':>9s}{'first to differ':>17s}{'payloads differ':>17s}")
    for family, number in sorted(statements.items()):
        print(f"{family:12s}{number:9d}{wrong[family]:17d}{differ[family]:17d}")
    names = Counter(made[p].slots[s].text.rsplit("; ", 1)[-1].split(" ")[0] for p, s in payloads)
    print("payloads differ most often after", ", ".join(f"{n} {c}" for n, c in names.most_common(12)) or "nothing")
    return {
        family: {"results": number, "first_to_differ": wrong[family], "payloads_differ": differ[family]}
        for family, number in sorted(statements.items())
    }


def explain(path: Path, outputs: Path) -> None:
    """Compares, then prints the first wrong statement's operands and results on both GPUs, from a folder of outputs."""
    for seed, slot in compare(path)[:SHOWN]:
        each = programs.program(seed)
        with np.load(outputs / f"{seed // PER_MODULE * PER_MODULE}.npz") as kept:
            wanted = kept["arr_0"][seed % PER_MODULE]
        with gs.use(gs.VirtualGPU(workers=1, memory=256 << 20)):
            ours = programs.run([each])[0]
        differs = np.not_equal(*(programs.without_payloads(each.slots[slot].kind, x[slot]) for x in (ours, wanted)))
        lanes = np.flatnonzero(differs).tolist()
        print(f"\nprogram {seed} slot {slot}: {each.slots[slot].text}: threads {lanes}")
        for lane in lanes[:3]:
            operands = _operands(each, slot, wanted, lane)
            print(f"  thread {lane}: {operands}: {ours[slot, lane]:#x} here, {wanted[slot, lane]:#x} on the GPU")


def _operands(each: programs.Program, slot: int, output: np.ndarray, lane: int) -> str:
    """The registers of a slot's statement with the values they had before it, as far as slots tell."""
    text, rows, found = each.slots[slot].text, programs.rows(), []
    for register in sorted(set(re.findall(r"%[a-z]\d+", text))):
        before = [s for s in range(slot) if each.slots[s].register == register and each.slots[s].text != text]
        if before:
            found.append(f"{register} = {int(output[before[-1], lane]):#x}")
        elif register in rows:
            width = 8 * programs.BYTES[register[1]]
            found.append(f"{register} = {int(programs.inputs(each.seed)[rows[register], lane]) % (1 << width):#x}")
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(work=compare, path=FIXTURE)
    commands = parser.add_subparsers()
    for function in (record, compare, explain):
        command = commands.add_parser(function.__name__)
        command.add_argument("path", type=Path, nargs="?", default=FIXTURE)
        if function is record:
            command.add_argument("--count", type=int, default=2400)
        if function is not compare:
            command.add_argument("--outputs", type=Path, required=function is explain)
        command.set_defaults(work=function)
    given = vars(parser.parse_args())
    given.pop("work")(**given)


if __name__ == "__main__":
    main()
