"""Where parameters, local and shared variables lie, and how much of each memory a kernel needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.lowering.call_graph import callees, calls_indirectly, reachable
from gridstride.virtual.ptx.module import Address, Function, Instruction, PtxModule, Special, Symbol, Variable
from gridstride.virtual.ptx.types import TYPES


def parameter_layout(params: tuple[Variable, ...]) -> list[tuple[Variable, int]]:
    """Kernel parameters with their offsets, each aligned as it asks."""
    placed, end = [], 0
    for p in params:
        end = -(-end // p.align) * p.align
        placed.append((p, end))
        end += p.size
    return placed


def machine_frame(function: Function) -> int:
    """Bytes of machine stack that a function may take: three times what would hold all its registers."""
    return 3 * LANES * sum(max(8, TYPES[type_].bits) // 8 for type_ in function.registers.values())


def local_frame(function: Function) -> tuple[dict[str, int], int]:
    """Offsets of a function's local variables, and the frame's size."""
    offsets, end = {}, 0
    for name, v in function.variables.items():
        if v.space == "local":
            end = -(-end // v.align) * v.align
            offsets[name] = end
            end += v.size
    return offsets, -(-end // 16) * 16


RECURSIVE_LOCAL = 16 << 10
"""Bytes of local memory per lane where recursion makes the need unknown, at least."""
RECURSIVE_STACK = 8 << 10
"""Bytes of these that recursive calls may count on; a device whose limit is higher has kernels with more."""
MOST_LOCAL = 512 << 10
"""Bytes of local memory that a thread of hardware has at most."""


def recursive_stack(limit: int) -> int:
    """What kernels of a device with that limit have for recursive calls: few sizes, as each is compiled."""
    return min(max(RECURSIVE_STACK, 1 << max(0, limit - 1).bit_length()), MOST_LOCAL)


def local_depth(
    module: PtxModule, entry: Function, frames: Mapping[str, tuple[dict[str, int], int]], stack: int
) -> tuple[bool, int]:
    """(recursive or called through pointers, bytes of local memory per lane on the deepest path)."""
    memo: dict[str, int] = {}
    active: set[str] = set()

    def need(function: Function) -> int:
        if function.name in active or calls_indirectly(function):
            raise RecursionError
        if function.name not in memo:
            active.add(function.name)
            below = max((need(c) for c in callees(module, function) if c.kind == "func"), default=0)
            active.discard(function.name)
            memo[function.name] = frames[function.name][1] + below
        return memo[function.name]

    try:
        return False, need(entry)
    except RecursionError:
        used = sum(size for _, size in frames.values())
        return True, max(RECURSIVE_LOCAL, stack + used) if used else 0


RESERVED, RESERVED_BYTES = "%reserved", 512
"""The shared memory that the system keeps for itself, of which cooperative groups have some (288 bytes): it is laid out
in kernels that ask where it is, and is not part of what a kernel declares or may have.
"""


def _reserves(functions: list[Function]) -> bool:
    operands = (o for f in functions for i in f.instructions for o in i.operands)
    return any(isinstance(o, Special) and o.name.startswith("reserved_smem") for o in operands)


def shared_layout(
    module: PtxModule, functions: list[Function], *, reserve: bool = False
) -> tuple[dict[str, int], int, bool]:
    """Offsets of shared variables; unsized (dynamic) arrays all start where the sized ones end."""
    named = {s.name for f in functions for i in f.instructions for s in _symbols(i)}
    variables = {n: v for n, v in module.variables.items() if v.space == "shared" and n in named}
    for f in functions:
        variables.update((n, v) for n, v in f.variables.items() if v.space == "shared")
    offsets, end = {}, 0
    for name, v in variables.items():
        if v.size:
            end = -(-end // v.align) * v.align
            offsets[name] = end
            end += v.size
    if reserve and _reserves(functions):
        offsets[RESERVED] = -(-end // 16) * 16
        end = offsets[RESERVED] + RESERVED_BYTES
    unsized = {name: v for name, v in variables.items() if not v.size}
    start = -(-end // max((v.align for v in unsized.values()), default=1)) * max(
        (v.align for v in unsized.values()), default=1
    )
    offsets.update(dict.fromkeys(unsized, start))
    return offsets, start if unsized else end, bool(unsized)


def shared_arrays(
    module: PtxModule, functions: list[Function], offsets: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """Start and bytes of the shared variables that have these offsets."""
    variables = dict(module.variables)
    for function in functions:
        variables.update(function.variables)
    return {name: (start, variables[name].size) for name, start in offsets.items() if name in variables}


def shared_bytes(module: PtxModule, entry: Function) -> int:
    """Static shared memory of a kernel, the functions it calls included."""
    return shared_layout(module, list(reachable(module, entry)))[1]


def _symbols(ins: Instruction) -> Iterator[Symbol]:
    for operand in ins.operands:
        if isinstance(operand, Symbol):
            yield operand
        elif isinstance(operand, Address) and isinstance(operand.base, Symbol):
            yield operand.base
