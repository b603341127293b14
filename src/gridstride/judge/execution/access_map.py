"""Which addresses the lanes of one warp touch on a line: a picture's worth of one access, out of a probed run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.judge.execution import probe
from gridstride.judge.execution.buffers import Buffers
from gridstride.judge.problem import Case, Signature, Values
from gridstride.protocol import DeviceError, LaunchError, UnknownName
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.ptx.syntax_errors import PtxError

if TYPE_CHECKING:
    from gridstride.judge.execution.runnable import Runnable
    from gridstride.protocol import Dim3
    from gridstride.virtual.ptx.module import PtxModule

_LANES = 32
_SECTOR, _LINE = 32, 128  # bytes
_BANKS, _WORD = 32, 4  # of shared memory, and bytes
_MOST_SITES = 32
_SHARED_WINDOW = 24  # a generic address keeps its space above these bits; only the offset is shown


@dataclass(frozen=True, slots=True)
class WarpAccess:
    """One warp's first run of one access. `addresses` has a byte address for each lane, None where the lane was off:
    of global memory from the start of `array` (where it lies in one), of shared memory from the block's start.
    """

    line: int
    space: str
    bytes: int
    writes: bool
    array: str
    addresses: tuple[int | None, ...]

    @property
    def on(self) -> tuple[int, ...]:
        """The addresses of the lanes that were on."""
        return tuple(address for address in self.addresses if address is not None)

    @property
    def sectors(self) -> tuple[int, ...]:
        """The 32-byte sectors that they touch, in order."""
        return tuple(sorted({byte // _SECTOR for a in self.on for byte in range(a, a + self.bytes, _WORD)}))

    @property
    def passes(self) -> int:
        """Passes over the banks of shared memory: the most different words that one bank is asked for.

        Lanes with 8 or 16 bytes go in two or four groups.
        """
        groups = max(1, self.bytes // _WORD)
        size = _LANES // groups
        parts = [self.addresses[start : start + size] for start in range(0, _LANES, size)]
        return sum(max((len(words) for words in self._banks(part).values()), default=0) for part in parts)

    def banks(self) -> dict[int, tuple[int, ...]]:
        """The lanes that go to each bank, by the first word that each wants."""
        words_by_bank: dict[int, list[int]] = {}
        for lane, address in enumerate(self.addresses):
            if address is not None:
                words_by_bank.setdefault(address // _WORD % _BANKS, []).append(lane)
        return {bank: tuple(lanes) for bank, lanes in sorted(words_by_bank.items())}

    def _banks(self, addresses: Iterable[int | None]) -> dict[int, set[int]]:
        words_by_bank: dict[int, set[int]] = {}
        for address in addresses:
            for byte in range(address, address + self.bytes, _WORD) if address is not None else ():
                words_by_bank.setdefault(byte // _WORD % _BANKS, set()).add(byte // _WORD)
        return words_by_bank


def accesses(
    runnable: Runnable, signature: Signature, case: Case, inputs: Values, lines: Iterable[int]
) -> tuple[WarpAccess, ...]:
    """What a warp in the middle of the grid touches on these lines in a case; nothing where that cannot be seen (the
    kernel faults, or its PTX is not one text).
    """
    if runnable.device.kind != "virtual":
        return ()
    try:
        return _accesses(runnable, signature, case, inputs, set(lines))
    except (DeviceError, LaunchError, KernelFault, UnsupportedInstruction, UnknownName, PtxError):
        return ()


def _accesses(
    runnable: Runnable, signature: Signature, case: Case, inputs: Values, lines: set[int]
) -> tuple[WarpAccess, ...]:
    kernel: Any = runnable.kernel.bound().kernel
    probes = AccessProbes(kernel.module.parsed, kernel.name, runnable.shape(case.sizes).grid, lines)
    if not probes.sites:
        return ()
    probed = probe.build(runnable, lambda site: site.number in probes.numbers, probes.size, probes.code)
    if probed is None:
        return ()
    buffers = Buffers(runnable.device, signature, case.sizes, inputs)
    buffers.fill(0)
    recorded = probed.run(runnable, case, buffers.arguments, np.zeros(probes.size, np.uint8))
    arrays = [
        (p.name, a) for p, a in zip(signature.parameters, buffers.arguments, strict=True) if hasattr(a, "address")
    ]
    return probes.read(recorded, arrays)


class AccessProbes:
    """What is put into a kernel's PTX to see which addresses a warp in the middle of its grid touches: on the `wanted`
    lines, or on all where there are none.
    """

    def __init__(self, parsed: PtxModule, kernel: str, grid: Dim3, lines: Collection[int] | None) -> None:
        access_sites = [site for site in probe.sites(parsed, kernel) if lines is None or site.line in lines]
        self.sites = access_sites[:_MOST_SITES]
        self.numbers = {site.number: index for index, site in enumerate(self.sites)}
        self.size = max(1, len(self.sites)) * _LANES * 8
        """Bytes of the variable that they write to."""
        self._block = _middle(grid)

    def code(self, site: probe.AccessSite) -> str:
        """Of one access, for `probe.probed`."""
        return _code(self.numbers[site.number], self._block)

    def read(self, variable: np.ndarray[Any, Any], arrays: Sequence[tuple[str, Any]]) -> tuple[WarpAccess, ...]:
        """What the variable says after the launch; `arrays` have names, addresses and bytes."""
        recorded = variable.view(np.uint64)
        accesses = [_access(site, recorded[32 * i : 32 * i + 32], arrays) for i, site in enumerate(self.sites)]
        return tuple(access for access in accesses if access is not None)


def _access(
    site: probe.AccessSite, recorded: np.ndarray[Any, Any], arrays: Sequence[tuple[str, Any]]
) -> WarpAccess | None:
    """The record of one site, zero where a lane never came; addresses are kept with one added."""
    raw = [int(number) - 1 for number in recorded]
    touched = [address for address in raw if address >= 0]
    if not touched or site.line is None:
        return None
    name, start, space = "", 0, site.space
    for array, memory in arrays:
        if memory.address <= touched[0] < memory.address + max(1, memory.nbytes):
            name, start, space = array, memory.address, "global"
    if space == "generic":
        space = "shared"
    if space == "shared":
        start = (min(touched) >> _SHARED_WINDOW) << _SHARED_WINDOW
    elif not name:
        start = min(touched) // _LINE * _LINE
    return WarpAccess(site.line, space, site.bytes, site.writes, name,
                  tuple(address - start if address >= 0 else None for address in raw))  # fmt: skip


def _code(index: int, block: int) -> str:
    """The first time that a lane of warp 0 of the block comes: its address and one."""
    return f"""setp.eq.and.u32 %gs_hit, %gs_block, {block}, %gs_on;
setp.lt.and.u32 %gs_hit, %gs_thread, {_LANES}, %gs_hit;
mad.wide.u32 %gs_base, %gs_thread, 8, %gs_base;
@%gs_hit ld.global.u64 %gs_at, [%gs_base+{256 * index}];
@!%gs_hit mov.u64 %gs_at, 1;
setp.eq.and.u64 %gs_hit, %gs_at, 0, %gs_hit;
add.s64 %gs_at, %gs_address, 1;
@%gs_hit st.global.u64 [%gs_base+{256 * index}], %gs_at;"""


def _middle(grid: tuple[int, int, int]) -> int:
    """A block away from the borders, where kernels do what they mostly do."""
    x, y, z = (extent // 2 for extent in grid)
    return (z * grid[1] + y) * grid[0] + x
