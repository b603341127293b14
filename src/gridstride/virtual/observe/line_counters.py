"""What is counted of one source line; without NumPy, as commands that run nothing themselves want its names."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from gridstride.virtual.abi.hardware_limits import LANES


@dataclass(slots=True)
class LineCounters:
    """Counts of one source line (of a whole kernel: `Counters`). Instructions are of PTX, one per warp that runs it.

    A request is one warp's access; a sector is 32 bytes of global or local memory, a line 128; a wavefront is one pass
    over the banks of shared memory. Names say the rest; where they do not:

    `active_lanes` sums the lanes of the instructions. `divergent_branches` are those that lanes of one warp leave on
    different ways. `global_*_sectors` of atomics and reductions count a sector again for lanes that meet at one address
    (`contended_lanes`), but for those that ptxas adds up in the warp first (`merged_atomics`). `global_load_requests`
    hold those of cp.async (`copy_requests`) too; `overlapped_instructions` stand between such a copy and the wait for
    it. `l1_missed_sectors` are what loads miss in a picture of L1 that each block has a share of; `l2_sectors` those,
    stores and atomics, `l2_lines` the lines that they are of. `bank_conflicts` are wavefronts beyond those that the
    bytes need; `global_ideal_sectors` the sectors that they need. `tma_*` are bulk and tensor copies,
    `matrix_wavefronts` those of ldmatrix, stmatrix and wmma among the others.
    """

    file: str | None = None
    line: int | None = None
    instructions: int = 0
    active_lanes: int = 0
    branches: int = 0
    divergent_branches: int = 0
    barriers: int = 0
    special_functions: int = 0
    tensor_operations: int = 0
    texture_requests: int = 0
    parameter_loads: int = 0
    global_requests: int = 0
    global_sectors: int = 0
    global_lines: int = 0
    global_ideal_sectors: int = 0
    global_bytes: int = 0
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_atomic_requests: int = 0
    global_atomic_sectors: int = 0
    global_reduction_requests: int = 0
    global_reduction_sectors: int = 0
    global_atomic_lines: int = 0
    copy_requests: int = 0
    copy_sectors: int = 0
    overlapped_instructions: int = 0
    tma_copies: int = 0
    tma_bytes: int = 0
    tma_sectors: int = 0
    l1_missed_sectors: int = 0
    l2_sectors: int = 0
    l2_lines: int = 0
    atomics: int = 0
    contended_lanes: int = 0
    merged_atomics: int = 0
    shared_requests: int = 0
    shared_bytes: int = 0
    shared_wavefronts: int = 0
    shared_load_wavefronts: int = 0
    shared_store_wavefronts: int = 0
    shared_atomic_wavefronts: int = 0
    shared_copy_wavefronts: int = 0
    bank_conflicts: int = 0
    load_conflicts: int = 0
    store_conflicts: int = 0
    atomic_conflicts: int = 0
    matrix_wavefronts: int = 0
    local_load_requests: int = 0
    local_load_sectors: int = 0
    local_store_requests: int = 0
    local_store_sectors: int = 0
    local_bytes: int = 0
    constant_requests: int = 0
    constant_wavefronts: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    tensor_types: dict[str, int] = field(default_factory=dict)

    @property
    def lane_share(self) -> float:
        """Active lanes over the lanes that the instructions had, 0 to 1."""
        return self.active_lanes / (LANES * self.instructions) if self.instructions else 1.0

    @property
    def sectors_per_request(self) -> float:
        """Sectors a request touches; 4 is what 32 lanes of 4 bytes in a row need."""
        return self.global_sectors / self.global_requests if self.global_requests else 0.0

    def add(self, other: LineCounters) -> None:
        for name in _COUNTS:
            if more := getattr(other, name):
                setattr(self, name, getattr(self, name) + more)
        for mine, theirs in ((self.kinds, other.kinds), (self.tensor_types, other.tensor_types)):
            for key, count in theirs.items():
                mine[key] = mine.get(key, 0) + count

    def as_dict(self) -> dict[str, int]:
        """The counts by name."""
        return {name: getattr(self, name) for name in _COUNTS}

    def json(self) -> dict[str, Any]:
        """Everything, for a JSON file."""
        return {"file": self.file, "line": self.line, **self.as_dict(), "kinds": dict(self.kinds),
                "tensor_types": dict(self.tensor_types)}  # fmt: skip


_COUNTS = tuple(f.name for f in fields(LineCounters) if f.type == "int")
