"""The approximate functions over all 2³² single-precision inputs: within the ISA's bounds, and how far from a GPU.

    python bench/approximate.py bounds [NAME …]   # the virtual GPU against float64, anywhere; minutes
    python bench/approximate.py distance          # also a physical GPU; writes results/approximate_h200.json
    python bench/approximate.py sample FILE       # what a physical GPU gives for some inputs of every exponent

Distances are in units in the last place of f32 (ulp), counted over the ordered floats; sin and cos are compared in
absolute terms too, as the ISA bounds them so, and only where it does: to 100π.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src")]

import gridstride as gs  # noqa: E402

RESULT = ROOT / "bench" / "results" / "approximate_h200.json"
BLOCK = 1 << 24
"""Inputs at a time: the floats of two exponents."""
PART = 1 << 16
EDGES = [0, 1, 2, 3, 5, 9, 17, 33, 65, 257, 1 << 32]
"""Where the bars of a histogram of distances start."""


@dataclass(frozen=True)
class Function:
    """An instruction, its exact value, and the half of its inputs that says all (`odd`, `even` or `positive`)."""

    name: str
    exact: Callable[[np.ndarray], np.ndarray]
    kind: str = "positive"

    @property
    def blocks(self) -> range:
        """Numbers of the blocks that are looked at: all, or those of positive inputs."""
        return range(256 if self.kind == "all" else 128)


FUNCTIONS = (
    Function("ex2.approx.f32", np.exp2, "all"), Function("lg2.approx.f32", np.log2),
    Function("sin.approx.f32", np.sin, "odd"), Function("cos.approx.f32", np.cos, "even"),
    Function("rcp.approx.f32", lambda x: 1 / x, "odd"), Function("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x)),
    Function("sqrt.approx.f32", np.sqrt), Function("tanh.approx.f32", np.tanh, "odd"),
)  # fmt: skip
FLUSHING = tuple(f.name.replace("approx", "approx.ftz") for f in FUNCTIONS[:-1])
HALVES = ("ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16")
BOUNDS = {
    "ex2": ("ulp", 2.0), "lg2": ("near", 2.0**-22), "sin": ("absolute", 2.0**-20.5), "cos": ("absolute", 2.0**-20.5),
    "rcp": ("ulp", 1.0), "rsqrt": ("relative", 2.0**-22.9), "sqrt": ("relative", 2.0**-23),
    "tanh": ("relative", 2.0**-11),
}  # fmt: skip
"""What the PTX ISA 9 allows; lg2 absolutely in [0.5, 2] and relatively outside; sin and cos to 2π."""


# -- running ----------------------------------------------------------------------------------------------------------
def program(name: str) -> str:
    """PTX of the kernel `probe(out, first)`: the function of the bits first + i for each i."""
    narrow = name.endswith("16")
    load = "cvt.u16.u32 %h, %x; " if narrow else ""
    apply = f"{name} %h, %h; cvt.u32.u16 %y, %h;" if narrow else f"{name} %y, %x;"
    if name.startswith("oob"):
        _, k, one = name.split()
        narrow, load = True, "cvt.u16.u32 %h, %x; "
        apply = f"mov.b16 %g, {one}; fma.rn.oob.{k} %h, %h, %g, %g; cvt.u32.u16 %y, %h;"
    size, store = (2, "st.global.u16 [%at], %y;") if narrow else (4, "st.global.u32 [%at], %y;")
    return f""".version 8.5
.target sm_90a
.address_size 64
.visible .entry probe(.param .u64 out, .param .u32 first)
{{
    .reg .b16 %h, %g; .reg .b32 %i, %n, %x, %y; .reg .b64 %at;
    mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %x, %tid.x; mad.lo.u32 %i, %i, %n, %x;
    ld.param.u32 %x, [first]; add.u32 %x, %x, %i;
    {load}{apply}
    ld.param.u64 %at, [out]; mad.wide.u32 %at, %i, {size}, %at; {store}
    ret;
}}
"""


@cache
def _machine(device: str) -> tuple[gs.Device, dict[str, gs.Module]]:
    machine: gs.Device = gs.VirtualGPU(workers=1) if device == "virtual" else gs.PhysicalGPU(0)
    return machine, {}


def run(device: str, name: str, first: int, count: int) -> np.ndarray:
    """Bits of the function's values for the `count` inputs from the bits `first` on."""
    machine, kernels = _machine(device)
    with gs.use(machine):
        out = gs.empty(count, np.uint16 if "f16" in name else np.uint32)
        kernel = kernels.setdefault(name, gs.ptx(program(name)))
        kernel["probe"][count // 256, 256](out, np.uint32(first))
        return out.numpy()


def inputs(first: int, count: int) -> np.ndarray:
    return (np.arange(count, dtype=np.uint32) + np.uint32(first)).view(np.float32)


# -- measures ---------------------------------------------------------------------------------------------------------
def ordered(bits: np.ndarray) -> np.ndarray:
    """Floats' bits as integers in the order of the numbers; both zeros are one."""
    signed = bits.view(np.int32).astype(np.int64)
    return np.where(signed < 0, np.int64(-(2**31)) - signed, signed)


def nan(bits: np.ndarray) -> np.ndarray:
    return (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)


def ulps(bits: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """|value - exact| in spacings of f32 at the exact value; 0 where neither is finite."""
    value = bits.view(np.float32).astype(np.float64)
    exponent = np.maximum((exact.view(np.int64) >> 52 & 0x7FF) - 1046, -149)
    error = np.abs(value - exact) * ((1023 - exponent) << 52).view(np.float64)
    return np.where(np.isfinite(value) & np.isfinite(exact), error, 0)


def bound_of(opcode: str, x: np.ndarray, bits: np.ndarray, exact: np.ndarray) -> float:
    """The largest error as a share of what the ISA allows."""
    kind, most = BOUNDS[opcode]
    value = bits.view(np.float32).astype(np.float64)
    finite = np.isfinite(value) & np.isfinite(exact) & (exact != 0)
    normal = finite & (np.abs(exact) >= 2.0**-126)
    error = np.abs(value - exact)
    if kind == "absolute":
        far = np.abs(x) <= 100 * np.pi
        share = np.where(np.abs(x) <= 2 * np.pi, error / most, np.where(far, error / 2.0**-14.7, 0))
    elif kind == "ulp":
        share = np.where(finite, ulps(bits, exact) / most, 0)
    elif kind == "near":
        share = np.where((x >= 0.5) & (x <= 2), error, error / np.abs(exact)) / most
    else:
        share = error / np.abs(exact) / most
    return float(np.max(share, where=normal if kind == "relative" else finite, initial=0))


def block(job: tuple[str, int, bool]) -> dict[str, object]:
    """What is measured of one function on one block of inputs, in parts that stay in the cache."""
    name, number, physical = job
    first = number * BLOCK
    mine = run("virtual", name, first, BLOCK)
    theirs = run("physical", name, first, BLOCK) if physical else None
    found: dict[str, object] = {}
    for at in range(0, BLOCK, PART):
        some = slice(at, at + PART)
        _merge(found, _part(name, inputs(first + at, PART), mine[some], None if theirs is None else theirs[some]))
    return {"name": name, **found}


def _part(name: str, single: np.ndarray, mine: np.ndarray, theirs: np.ndarray | None) -> dict[str, object]:
    found: dict[str, object] = {}
    opcode, x = name.split(".")[0], single.astype(np.float64)
    if ".ftz" not in name:
        exact = next(f.exact for f in FUNCTIONS if f.name == name)(x)
        for who, bits in (("virtual", mine), ("physical", theirs)):
            if bits is not None:
                error = float(_told(opcode, x, ulps(bits, exact)))
                found[who] = {"share": bound_of(opcode, x, bits, exact), "ulp": error}
    return found if theirs is None else found | _distance(opcode, x, mine, theirs)


def _told(opcode: str, x: np.ndarray, error: np.ndarray) -> float:
    """The largest, of sin and cos up to 100π."""
    return float(np.max(error, where=np.abs(x) <= 100 * np.pi, initial=0) if opcode in ("sin", "cos") else error.max())


def _distance(opcode: str, x: np.ndarray, mine: np.ndarray, theirs: np.ndarray) -> dict[str, object]:
    both = ~(nan(mine) | nan(theirs))
    apart = np.where(both, np.abs(ordered(mine) - ordered(theirs)), 0)
    absolute = np.abs(mine.view(np.float32).astype(np.float64) - theirs.view(np.float32).astype(np.float64))
    usual = both & np.isfinite(absolute)
    if opcode in ("sin", "cos"):
        usual &= np.abs(x) <= 100 * np.pi
    counted = apart[usual]
    return {
        "count": len(counted), "sum": float(counted.sum()), "max": int(counted.max(initial=0)),
        "absolute": float(absolute[usual].max(initial=0)), "histogram": np.histogram(counted, EDGES)[0].tolist(),
        "nan_differs": int((nan(mine) != nan(theirs)).sum()),
        "infinity_differs": int((both & ~np.isfinite(absolute) & (mine != theirs)).sum()),
        "nan_bits_differ": int((nan(mine) & nan(theirs) & (mine != theirs)).sum()),
    }  # fmt: skip


# -- all of them ------------------------------------------------------------------------------------------------------
def jobs(physical: bool, names: Sequence[str]) -> Iterator[tuple[str, int, bool]]:
    """Every block of every function, or of those named; of the flushing forms those where something is flushed."""
    for function in FUNCTIONS:
        if names and function.name.partition(".")[0] not in names:
            continue
        yield from ((function.name, number, physical) for number in function.blocks)
    for name in FLUSHING if physical else ():
        some = {0, 1, 125, 126, 127, 128} | ({66, 67, 194, 195} if name.startswith("ex2") else set())
        yield from ((name, number, True) for number in sorted(some))


def collect(physical: bool, processes: int, names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """The measures of each function over all its blocks."""
    table: dict[str, dict[str, Any]] = {}
    start = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for done, found in enumerate(pool.imap_unordered(block, jobs(physical, names), chunksize=2)):
            _merge(table.setdefault(str(found["name"]), {}), found)
            if done % 200 == 199:
                print(f"{done + 1} blocks, {time.monotonic() - start:.0f} s", file=sys.stderr)
    for row in table.values():
        if "count" in row:
            row["mean"] = float(f"{row.pop('sum') / max(row['count'], 1):.4g}")
    return table


def _merge(row: dict[str, Any], found: dict[str, Any]) -> None:
    for key, value in found.items():
        old, new = row.get(key), value
        if key in ("name", "block"):
            continue
        if isinstance(value, dict):
            new = {k: max(v, old[k]) if isinstance(old, dict) else v for k, v in value.items()}
        elif isinstance(value, list):
            new = [a + b for a, b in zip(value, old, strict=True)] if isinstance(old, list) else value
        elif key in ("max", "absolute"):
            new = max(value, old) if old is not None else value
        elif old is not None:
            new = value + old
        row[key] = new


def halves() -> dict[str, dict[str, Any]]:
    """Distances of the 16-bit functions over all their inputs, as steps between neighbouring numbers."""
    table: dict[str, dict[str, Any]] = {}
    for name in HALVES:
        mine, theirs = (run(device, name, 0, 1 << 16) for device in ("virtual", "physical"))
        infinity = 0x7F80 if "bf16" in name else 0x7C00
        special = [(v & 0x7FFF) > infinity for v in (mine, theirs)]
        signed = [np.where(v & 0x8000, -(v & 0x7FFF).astype(np.int64), v & 0x7FFF) for v in (mine, theirs)]
        apart = np.abs(signed[0] - signed[1])[~(special[0] | special[1])]
        table[name] = {
            "count": len(apart), "max": int(apart.max()), "mean": float(f"{apart.mean():.4g}"),
            "histogram": np.histogram(apart, EDGES)[0].tolist(), "nan_differs": int((special[0] != special[1]).sum()),
        }  # fmt: skip
    return table


def sample(path: Path) -> None:
    """Bits of inputs spread over every exponent and sign, and what each function gives for them."""
    chosen: dict[str, np.ndarray] = {}
    for function in FUNCTIONS:
        rows = []
        for number in range(256):
            first = number * BLOCK + (number * 5 % 8 << 21)
            values = run("physical", function.name, first, 1 << 21)[::4099]
            rows.append(np.stack([np.arange(first, first + (1 << 21), 4099, dtype=np.int64).astype(np.uint32), values]))
        chosen[function.name] = np.concatenate(rows, axis=1)
    for name in HALVES:
        chosen[name] = run("physical", name, 0, 1 << 16)
    for kind, one in (("f16", 0x3C00), ("bf16", 0x3F80)):
        chosen[f"oob {kind}"] = run("physical", f"oob {kind} {one}", 0, 1 << 16)
    np.savez_compressed(path, **chosen)  # type: ignore[arg-type]  # its allow_pickle is no name of an instruction


def show(table: dict[str, dict[str, object]]) -> bool:
    """Prints the table; whether every value is inside the ISA's bounds."""
    inside = True
    for name, row in table.items():
        mine = row.get("virtual", {})
        share = mine.get("share", 0.0) if isinstance(mine, dict) else 0.0
        inside &= share <= 1
        print(f"{name:22} {share:7.1%} of the bound  {json.dumps({k: v for k, v in row.items() if k != 'histogram'})}")
    return inside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(names=(), processes=os.cpu_count() or 1)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", help="without one: bounds of all")
    bounds = commands.add_parser("bounds", help="the virtual GPU against float64")
    bounds.add_argument("names", nargs="*", metavar="NAME", help="of instructions; all unless given")
    distance = commands.add_parser("distance", help="the virtual GPU against a physical one")
    for command in (bounds, distance):
        command.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    commands.add_parser("sample", help="what a physical GPU gives").add_argument("file", type=Path)
    options = parser.parse_args()
    np.seterr(all="ignore")
    if options.command == "sample":
        sample(options.file)
        return
    physical = options.command == "distance"
    table = collect(physical, options.processes, () if physical else options.names)
    table |= halves() if physical else {}
    inside = show(table)
    if physical:
        record = {
            "command": "python bench/approximate.py distance", "date": datetime.now(UTC).date().isoformat(),
            "machine": "NVIDIA H200", "histogram_edges": EDGES, "functions": table,
        }  # fmt: skip
        Path(os.environ.get("OUT", RESULT.parent), RESULT.name).write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(not inside)


if __name__ == "__main__":
    main()
