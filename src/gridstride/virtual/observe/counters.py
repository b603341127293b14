"""What a run counted: totals, and the same for every source line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.virtual.abi.access_counters import COUNTERS
from gridstride.virtual.abi.counter_tables import AccessCounters, BlockCounters, CounterTables
from gridstride.virtual.lowering.observed.instruction_classes import CLASSES
from gridstride.virtual.observe.branch_coverage import outcomes, unreached_lines
from gridstride.virtual.observe.line_counters import LineCounters

Key = tuple[str | None, int | None]


@dataclass(slots=True)
class Counters(LineCounters):
    """Totals of a run. `kinds`: warp instructions by class, `tensor_types`: operations of matrix products by type of
    their factors. `sampled`: (blocks counted, blocks in the grid); where they differ, the totals are scaled up from
    the counted blocks. `chain`: clocks that all warps together would take one after the other, for each of
    dependencies.MEMORY_LATENCIES. `read_bytes`, `written_bytes` and `atomic_bytes` are of different sectors: what must
    come from memory and go there if caches keep all.
    """

    lines: tuple[LineCounters, ...] = ()
    sampled: tuple[int, int] = (0, 0)
    chain: tuple[float, ...] = (0.0, 0.0, 0.0)
    read_bytes: int = 0
    written_bytes: int = 0
    atomic_bytes: int = 0

    @property
    def exact(self) -> bool:
        """True where every block was counted."""
        return self.sampled[0] == self.sampled[1]

    def scaled(self, factor: float, moved: float | None = None) -> Counters:
        """Totals of a run that does `factor` times as much; `moved` says how many bytes memory gives and takes then."""
        grown = Counters()
        for name, count in self.as_dict().items():
            setattr(grown, name, round(count * factor))
        grown.kinds = {name: round(count * factor) for name, count in self.kinds.items()}
        grown.tensor_types = {name: round(count * factor) for name, count in self.tensor_types.items()}
        grown.chain = tuple(value * factor for value in self.chain)
        total_bytes = self.read_bytes + self.written_bytes
        share = factor if moved is None or not total_bytes else moved / total_bytes
        grown.atomic_bytes = self.atomic_bytes
        grown.read_bytes, grown.written_bytes = round(self.read_bytes * share), round(self.written_bytes * share)
        return grown

    def json(self) -> dict[str, Any]:
        """Everything, for a JSON file."""
        own = {"sampled": list(self.sampled), "read_bytes": self.read_bytes, "written_bytes": self.written_bytes,
               "atomic_bytes": self.atomic_bytes}  # fmt: skip
        return {**LineCounters.json(self), **own, "lines": [line.json() for line in self.lines]}


@dataclass(frozen=True, slots=True)
class LaunchCounts:
    """What the machine counted in one launch, summed over workers, in some of its blocks or in all.

    A judge asks hundreds of launches what was found and one of them what it did: lines and totals are worked out when
    they are asked for. `touched`: bytes of memory that were read, written and changed by atomics.
    """

    raw: np.ndarray[Any, Any]
    tables: CounterTables
    counted: int
    blocks: int
    touched: tuple[int, ...]

    @property
    def scale(self) -> float:
        """What one block that was counted stands for."""
        return self.blocks / self.counted if self.counted else 0.0

    @property
    def exact(self) -> bool:
        """Whether every block was counted."""
        return self.counted == self.blocks

    @property
    def instructions(self) -> int:
        """Of all warps, without the rest."""
        executed = int(self.raw[self.tables.executions].astype(np.int64) @ self.tables.instructions)
        return round(executed * self.scale)

    @property
    def outcomes(self) -> bytes:
        """Which basic blocks lanes came to, and which of its branches they went past, as bits."""
        return outcomes(self.raw, self.tables)

    @property
    def unreached(self) -> frozenset[Key]:
        """Files and lines that no lane came to."""
        return unreached_lines(self.outcomes, self.tables)

    def collect(self) -> Counters:
        """Lines and totals."""
        raw, scale = self.raw, self.scale
        lines: dict[Key, LineCounters] = defaultdict(LineCounters)
        chains = np.zeros(3)
        for block in self.tables.blocks:
            warps, lanes = (int(v) for v in raw[block.at : block.at + 2])
            if warps:
                _add_block(lines, block, warps, lanes, scale)
                chains += np.array(block.chain) * warps
        for branch in self.tables.branches:
            lines[branch.file, branch.line].divergent_branches += round(int(raw[branch.at]) * scale)
        for access in self.tables.accesses:
            for part, (space, at) in enumerate(_parts(access)):
                values = [round(int(v) * scale) for v in raw[at : at + len(COUNTERS)]]
                if part == 0 or values[0]:
                    counts = dict(zip(COUNTERS, values, strict=True))
                    _ADD[space](lines[access.file, access.line], access, counts)
        total = _total(lines, self.counted, self.blocks)
        total.chain = tuple(float(c) * scale for c in chains)
        total.read_bytes, total.written_bytes, total.atomic_bytes = self.touched
        return total


def _parts(access: AccessCounters) -> list[tuple[str, int]]:
    """The spaces that an access may have gone to, with where their counters are."""
    if access.space != "generic":
        return [(access.space, access.at)]
    return [(space, access.at + len(COUNTERS) * i) for i, space in enumerate(("global", "shared", "local"))]


def _add_block(lines: dict[Key, LineCounters], block: BlockCounters, warps: int, lanes: int, scale: float) -> None:
    for file, number, kind, count in block.lines:
        line, executed = lines[file, number], round(warps * count * scale)
        line.instructions += executed
        line.active_lanes += round(lanes * count * scale)
        line.kinds[kind] = line.kinds.get(kind, 0) + executed
        name = _COUNTER_OF_CLASS[kind]
        if name is not None:
            setattr(line, name, getattr(line, name) + executed)
    for file, number, count in block.overlapped:
        lines[file, number].overlapped_instructions += round(warps * count * scale)
    for file, number, type_, operations in block.products:
        line, done = lines[file, number], round(warps * operations * scale)
        line.tensor_operations += done
        line.tensor_types[type_] = line.tensor_types.get(type_, 0) + done


_COUNTER_OF_CLASS: dict[str, str | None] = {
    "barrier": "barriers", "branch": "branches", "special": "special_functions", "texture": "texture_requests",
    "parameter": "parameter_loads", "memory": None, "control": None, "tensor": None, "warp": None, "convert": None,
    "move": None, "fp32": None, "fp32_fma": None, "fp64": None, "fp64_fma": None, "half": None, "integer": None,
    "integer_fma": None,
}  # fmt: skip
"""The counter that counts all instructions of a class; None where only `kinds` has them, or accesses are counted."""
if unmatched := _COUNTER_OF_CLASS.keys() ^ set(CLASSES):
    raise ImportError(f"counters.py must say which counter each class has: see {', '.join(sorted(unmatched))}")
_WAYS = {"load": "load", "store": "store", "atom": "atomic", "red": "reduction"}


def _add_global(line: LineCounters, access: AccessCounters, counts: Mapping[str, int]) -> None:
    if access.merged:  # by ptxas: one lane adds for all
        line.merged_atomics += counts["requests"]
        counts = {**counts, "sectors": counts["requests"], "missed": counts["requests"], "contended": 0}
    line.global_requests += counts["requests"]
    line.global_sectors += counts["sectors"]
    line.global_lines += counts["lines"]
    line.global_ideal_sectors += counts["ideal"]
    line.global_bytes += counts["lanes"] * access.bytes
    line.l2_sectors += counts["missed"]
    line.l2_lines += counts["fetched"]
    line.l1_missed_sectors += counts["missed"] if access.kind == "load" else 0
    line.contended_lanes += counts["contended"]
    way = _WAYS[access.kind]
    for name in ("requests", "sectors"):
        field_ = f"global_{way}_{name}"
        setattr(line, field_, getattr(line, field_) + counts[name])
    if access.opcode == "cp":
        line.copy_requests += counts["requests"]
        line.copy_sectors += counts["sectors"]
    if way in ("atomic", "reduction"):
        line.atomics += counts["lanes"]
        line.global_atomic_lines += counts["lines"]


def _add_shared(line: LineCounters, access: AccessCounters, counts: Mapping[str, int]) -> None:
    wavefronts, conflicts = counts["wavefronts"], counts["wavefronts"] - counts["ideal"]
    line.shared_requests += counts["requests"]
    line.shared_bytes += counts["lanes"] * access.bytes
    line.shared_wavefronts += wavefronts
    line.bank_conflicts += conflicts
    if access.kind in ("atom", "red"):
        line.atomics += counts["lanes"]
        line.shared_atomic_wavefronts += wavefronts
        line.atomic_conflicts += conflicts
    elif access.kind == "async":
        line.shared_copy_wavefronts += wavefronts
    elif access.kind == "load":
        line.shared_load_wavefronts += wavefronts
        line.load_conflicts += conflicts
    else:
        line.shared_store_wavefronts += wavefronts
        line.store_conflicts += conflicts
    if access.opcode in ("ldmatrix", "stmatrix", "wmma"):
        line.matrix_wavefronts += wavefronts


def _add_local(line: LineCounters, access: AccessCounters, counts: Mapping[str, int]) -> None:
    line.local_bytes += counts["lanes"] * access.bytes
    if access.kind == "load":
        line.local_load_requests += counts["requests"]
        line.local_load_sectors += counts["sectors"]
    else:
        line.local_store_requests += counts["requests"]
        line.local_store_sectors += counts["sectors"]


def _add_const(line: LineCounters, access: AccessCounters, counts: Mapping[str, int]) -> None:
    line.constant_requests += counts["requests"]
    line.constant_wavefronts += counts["wavefronts"]


def _add_bulk(line: LineCounters, access: AccessCounters, counts: Mapping[str, int]) -> None:
    line.tma_copies += counts["requests"]
    line.tma_bytes += counts["lanes"]
    line.tma_sectors += counts["sectors"]
    line.l2_sectors += counts["missed"]


_ADD = {"global": _add_global, "shared": _add_shared, "local": _add_local, "const": _add_const, "bulk": _add_bulk}


def _total(lines: Mapping[Key, LineCounters], counted: int, blocks: int) -> Counters:
    total = Counters(sampled=(counted, blocks))
    for (file, number), line in lines.items():
        line.file, line.line = file, number
        total.add(line)
    total.lines = tuple(sorted(lines.values(), key=lambda c: (c.file or "", c.line or 0)))
    return total
