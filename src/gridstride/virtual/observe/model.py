"""What follows from what a run counted, worked out when it is asked for: lines, occupancy, and the predicted time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from gridstride.virtual.chips import Chip
from gridstride.virtual.observe.counters import Counters, LaunchCounts
from gridstride.virtual.observe.occupancy import Dim3, Occupancy, occupancy
from gridstride.virtual.observe.predict import GridShape, Prediction, predict
from gridstride.virtual.observe.registers import Registers, registers_of

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel


class LaunchModel:
    """Of one launch. `shared` in bytes, static and dynamic together."""

    def __init__(
        self, kernel: LoadedKernel, counted: LaunchCounts, grid: Dim3, block: Dim3, shared: int, *,
        multiprocessors: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        module = kernel.module
        self.chip: Chip = module.device.model.part(multiprocessors)
        self.multiprocessors = multiprocessors
        self.grid, self.block, self.shared = grid, block, shared
        self._counted = counted
        self._registers = functools.partial(kernel_registers, kernel)

    def __getstate__(self) -> dict[str, Any]:
        """What can leave the process: the registers are looked up now, where the kernel still is."""
        computed = {"registers": self.registers, "counters": self.counters}
        return computed | {
            name: value for name, value in self.__dict__.items() if name not in ("_registers", "_counted")
        }

    @property
    def instructions(self) -> int:
        """Of all warps; the rest of the counters is not worked out for it."""
        return self._counted.instructions

    @property
    def exact(self) -> bool:
        """Whether every block was counted."""
        return self._counted.exact

    @property
    def outcomes(self) -> bytes:
        """Which basic blocks lanes came to, and which of its branches they went past, as bits."""
        return self._counted.outcomes

    @property
    def unreached(self) -> frozenset[int]:
        """Lines that no lane came to."""
        return frozenset(line for _, line in self._counted.unreached if line)

    @functools.cached_property
    def counters(self) -> Counters:
        return self._counted.collect()

    @functools.cached_property
    def registers(self) -> Registers:
        return self._registers()

    @functools.cached_property
    def occupancy(self) -> Occupancy:
        return occupancy(self.chip, self.grid, self.block, self.shared, self.registers)

    @functools.cached_property
    def predicted(self) -> Prediction:
        return self.at(self.grid, self.counters)

    def at(self, grid: Dim3, counters: Counters) -> Prediction:
        """The same kernel on a grid of another size, with counts to match (Counters.scaled)."""
        return predict(counters, self._shape(grid), self.chip)

    def shape(self, grid: Dim3) -> GridShape:
        """The launch on a grid of that size, as the model of time sees it."""
        return self._shape(grid)

    def _shape(self, grid: Dim3) -> GridShape:
        held = occupancy(self.chip, (1 << 30, 1, 1), self.block, self.shared, self.registers)
        threads = self.block[0] * self.block[1] * self.block[2]
        return GridShape(grid[0] * grid[1] * grid[2], -(-threads // 32), max(1, held.blocks))


def kernel_registers(kernel: LoadedKernel) -> Registers:
    """Registers per thread of a loaded kernel."""
    module = kernel.module
    arch = module.device.properties.arch
    alone = module.pieces[0].ptx if len(module.pieces) == 1 else None  # ptxas does not know what is linked later
    return registers_of(alone, module.text_digest, lambda: module.parsed, kernel.name, arch)
