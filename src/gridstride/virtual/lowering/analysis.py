"""Where lanes may wait while a block runs, which registers then need masks, and how each register varies over lanes.

The three depend on one another: a branch on a varying predicate makes lanes wait; a register that waiting lanes still
need must be written under the mask, so it varies; what varies makes more branches diverge. They are solved together,
starting from "everything is uniform" and giving that up where it fails.

Groups of lanes run in the order of their blocks (reverse post-order), the lowest first, so lanes meet again at the
earliest place their paths join. `frontier[b]` is the set of blocks (a bit mask over order) at which other lanes of the
warp may be waiting while block b runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from gridstride.virtual.lowering import lanes
from gridstride.virtual.lowering.lanes import Linear, NoScalars
from gridstride.virtual.lowering.transfer import BlockShape, linear_result
from gridstride.virtual.ptx.module import (
    Address,
    Arguments,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Special,
    Symbol,
    Vector,
)

VARYING_OPCODES = frozenset(
    "addc subc madc atom call shfl match elect ldmatrix mma wmma wgmma movmatrix tex tld4 txq suld suq "
    "activemask lanemask stacksave alloca".split()
)
"""Opcodes whose results differ between lanes whatever the operands are."""

GROUP_OPCODES = frozenset("vote redux bar barrier released".split())
"""Opcodes that give every active lane the same result, whatever the operands are."""

UNIFORM_SPECIALS = frozenset(
    "ntid ctaid nctaid warpid nwarpid smid nsmid gridid clock clock64 clock_hi globaltimer globaltimer_lo "
    "globaltimer_hi dynamic_smem_size total_smem_size aggr_smem_size clusterid nclusterid cluster_ctaid "
    "cluster_nctaid cluster_ctarank cluster_nctarank is_explicit_cluster current_graph_exec pm".split()
)

_SPECIAL_TOP = {"ntid": 1024, "ctaid": 2**31 - 1, "nctaid": 2**31 - 1, "warpid": 31, "laneid": 31}


@dataclass(slots=True)
class Code:
    """A function's control flow in the form the analysis and the generator work on; blocks are in execution order."""

    blocks: list[list[Instruction]]
    successors: list[tuple[int, ...]]
    live_in: list[set[str]]
    registers: Mapping[str, str]
    spin_edges: set[tuple[int, int]]
    reads: Callable[[Instruction], tuple[str, ...]]
    writes: Callable[[Instruction], tuple[str, ...]]
    uniform_params: frozenset[str]
    """Parameters that all lanes share: a kernel's own, none of a device function."""
    entry: bool
    given: frozenset[str]
    """Parameters that are registers: each lane comes with a value of its own."""


@dataclass(slots=True)
class Facts:
    """What the analysis found. `shape[r]` is a Linear without scalars, or None where r varies freely."""

    shape: dict[str, Linear | None]
    frontier: list[int]
    divergent: list[bool]
    kept: list[set[str]]
    """Per block, the registers that lanes waiting elsewhere still need: writes to them are blended."""
    whole: list[bool]
    """Per block, whether all 32 lanes are certainly active."""


def analyse(code: Code, block_shape: BlockShape) -> Facts:
    """Solves for frontier, kept registers and shapes together."""
    shapes = _Shapes(code, block_shape)
    divergent = [False] * len(code.blocks)
    while True:
        frontier = _frontiers(code, divergent)
        kept = [_kept(code, bits) for bits in frontier]
        shapes.solve(kept)
        now = [d or shapes.diverges(b) for b, d in enumerate(divergent)]
        if now == divergent and not shapes.changed:
            whole = _whole(code, frontier, divergent, code.entry and block_shape.full)
            return Facts(shapes.of, frontier, divergent, kept, whole)
        divergent = now


def bits_of(mask: int) -> Iterator[int]:
    """The positions of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def leaves(ins: Instruction | None) -> bool:
    """True for an instruction that ends its lanes or returns them to the caller."""
    return ins is not None and ins.opcode in ("ret", "exit", "trap")


def waits(ins: Instruction | None) -> bool:
    """True for a barrier that holds its lanes back, and for a call of a function that may."""
    if ins is None or ins.opcode not in ("bar", "barrier", "call"):
        return False
    said = set(ins.modifiers)
    if ins.opcode == "call":
        return HELD in said
    return "wait" in said if "cluster" in said else not {"warp", "arrive"} & said


HELD = "held"
"""Modifier of calls whose function may wait: `normal` sets it."""


def parts(code: Code, frontier: list[int], b: int) -> bool:
    """True where block b ends with a wait that only part of a warp may come to, or a call that may split it."""
    last = last_of(code.blocks[b])
    if not waits(last):
        return False
    assert last is not None
    return frontier[b] != 0 or (last.opcode == "call" and not isinstance(last.operands[1], Symbol))


def last_of(block: list[Instruction]) -> Instruction | None:
    return block[-1] if block else None


def takers(code: Code, frontier: list[int], divergent: list[bool], held: int, b: int) -> Iterator[tuple[int, int]]:
    """(next block, blocks that may then wait) for every way control can leave block b."""
    choices = code.successors[b] or (None,)
    routes = [choices] if divergent[b] else [(c,) for c in choices]
    spins = any((b, s) in code.spin_edges for s in code.successors[b])
    for route in routes:
        candidates = frontier[b]
        for t in route:
            candidates |= 1 << t if t is not None else 0
        for c in bits_of(candidates):
            # A higher block runs only when the lower ones are empty, unless the lower ones spin or wait at a barrier.
            # Lanes that a barrier let go run while others of the same block may be held for its next turn.
            yield c, candidates & ~(1 << c) & (-1 if spins else held | -(2 << c)) | held & 1 << c


def _held(code: Code, frontier: list[int]) -> int:
    """The blocks after barriers that only part of a warp may reach: lanes wait there while any other block runs."""
    parted = (b for b in range(len(code.blocks)) if parts(code, frontier, b))
    return reduce(or_, (1 << s for b in parted for s in code.successors[b]), 0)


def _frontiers(code: Code, divergent: list[bool]) -> list[int]:
    """Least fixpoint of: who runs next takes over everybody who then still waits."""
    frontier, held = [0] * len(code.blocks), -1
    while held != (held := _held(code, frontier)):
        again = set(range(len(code.blocks)))
        while again:  # in rounds: frontiers grow by sets, where block after block they would grow by ones
            now, again = sorted(again), set()
            for b in now:
                for c, others in takers(code, frontier, divergent, held, b):
                    if others & ~frontier[c]:
                        frontier[c] |= others
                        again.add(c)
    return frontier


def _kept(code: Code, frontier: int) -> set[str]:
    kept: set[str] = set()
    for f in bits_of(frontier):
        kept |= code.live_in[f]
    return kept


def _whole(code: Code, frontier: list[int], divergent: list[bool], full: bool) -> list[bool]:
    """Blocks that run with every lane: nobody waits elsewhere and nobody can have left before."""
    lost, held = [not full] * len(code.blocks), _held(code, frontier)
    work = list(range(len(code.blocks)))
    while work:
        b = work.pop()
        last = last_of(code.blocks[b])
        partial = leaves(last) and (frontier[b] != 0 or divergent[b])
        calls = any(ins.opcode == "call" for ins in code.blocks[b])
        for c, _ in takers(code, frontier, divergent, held, b):
            if (lost[b] or partial or calls) and not lost[c]:
                lost[c] = True
                work.append(c)
    return [not gone and not frontier[b] for b, gone in enumerate(lost)]


class _Shapes:
    """The shape of every register: the join over its definitions, given which writes are blended."""

    def __init__(self, code: Code, block_shape: BlockShape) -> None:
        self.code, self.block_shape = code, block_shape
        self.of: dict[str, Linear | None] = dict.fromkeys(code.given)
        self.changed = False
        self._kept: list[set[str]] | None = None
        self._all = [(b, ins) for b, block in enumerate(code.blocks) for ins in block]
        self._users: dict[str, list[tuple[int, Instruction]]] = {}
        self._defined = {r for _, ins in self._all for r in code.writes(ins)}
        for b, ins in self._all:
            for r in code.reads(ins):
                self._users.setdefault(r, []).append((b, ins))

    def solve(self, kept: list[set[str]]) -> None:
        self.changed = False
        before, self._kept = self._kept, kept
        # After the first time, only what is blended now and was not before can change anything.
        work = self._all if before is None else [(b, ins) for b, ins in self._all if kept[b] != before[b]]
        self._propagate(list(reversed(work)), kept)
        # What only ever depends on itself was never set before it was read: any value will do.
        for r in sorted(self._defined - self.of.keys()):
            self.of.setdefault(r, Linear(width_of(self.code.registers[r])))
            makers = [(b, ins) for b, ins in self._all if r in self.code.writes(ins)]
            self._propagate([*self._users.get(r, ()), *makers], kept)

    def _propagate(self, work: list[tuple[int, Instruction]], kept: list[set[str]]) -> None:
        while work:
            b, ins = work.pop()
            written = self.code.writes(ins)
            if any(r not in self.of and r in self._defined and r not in written for r in self.code.reads(ins)):
                continue  # comes back when that register is first defined
            for r in written:
                if self._define(r, None if r in kept[b] else self._result(ins, r)):
                    self.changed = True
                    work.extend(self._users.get(r, ()))

    def _define(self, register: str, new: Linear | None) -> bool:
        if register not in self.of:
            self.of[register] = new
            return True
        old = self.of[register]
        joined = lanes.join(old, new) if old is not None and new is not None else None
        self.of[register] = joined
        return joined != old

    def value(self, operand: Operand, width: int = 64) -> Linear | None:
        """The shape of an operand; None where it varies freely."""
        match operand:
            case Register(name):
                return self.of.get(name, Linear(width_of(self.code.registers.get(name, "b32"))))
            case Immediate("int", bits):
                return lanes.fixed(NoScalars(), width, bits)
            case Special(name, component):
                return special_shape(self.block_shape, name, component)
            case Negated(register) | Selected(register):
                return self.value(register)
            case Vector(items) | Arguments(items):
                return self._all_uniform(items)
            case Pair(a, b):
                return self._all_uniform((a, b))
            case Address(base):
                return self.value(base)
        return Linear(width)

    def _all_uniform(self, items: tuple[Operand, ...]) -> Linear | None:
        return Linear(64) if all(is_uniform(self.value(i)) for i in items) else None

    def _result(self, ins: Instruction, register: str) -> Linear | None:
        """The shape an instruction gives a register it writes, its guard included."""
        new = self._unguarded(ins, register)
        if ins.guard is None or new is None:
            return new
        if not is_uniform(self.value(ins.guard.register)):
            return None
        old = self.of.get(register, new)
        return lanes.join(old, new) if old is not None else None

    def _unguarded(self, ins: Instruction, register: str) -> Linear | None:
        width = width_of(self.code.registers[register])
        if ins.opcode in GROUP_OPCODES and self._one_group(ins):
            return Linear(width)
        if broadcast_lane(ins) is not None and is_uniform(self.value(ins.operands[-1])):
            return Linear(width)
        if varies(self.code, ins):
            return None
        linear = linear_result(NoScalars(), ins, self.value)
        if linear is not None and linear.width == width:
            return linear
        return Linear(width) if all(is_uniform(self.value(o)) for o in ins.operands[1:]) else None

    def _one_group(self, ins: Instruction) -> bool:
        """False where the lanes of vote.sync or redux.sync may name different member masks (tiles of a warp)."""
        return (
            "sync" not in ins.modifiers or ins.opcode in ("bar", "barrier") or is_uniform(self.value(ins.operands[-1]))
        )

    def diverges(self, b: int) -> bool:
        last = last_of(self.code.blocks[b])
        if last is None:
            return False
        if last.opcode == "brx":
            return not is_uniform(self.value(last.operands[0]))
        guarded = last.guard is not None and (last.opcode == "bra" or leaves(last))
        return guarded and last.guard is not None and not is_uniform(self.value(last.guard.register))


def is_uniform(shape: Linear | None) -> bool:
    return shape is not None and shape.uniform


def width_of(ptx_type: str) -> int:
    """The width in bits that a linear form of a register of this type has."""
    return 64 if ptx_type.endswith("64") else 32


def special_shape(block_shape: BlockShape, name: str, component: str | None) -> Linear | None:
    """The shape of a special register."""
    if name == "tid":
        return block_shape.thread("xyz".index(component or "x"), None)
    if name == "laneid":
        return Linear(32, None, lanes.LANE, align=lanes.ANY_ALIGN, top=31)
    if name in UNIFORM_SPECIALS or name.startswith(("envreg", "pm")):
        align = 32 if name == "ntid" and component == "x" and block_shape.kind == "rows" else 1
        wide = name in ("clock64", "globaltimer", "current_graph_exec") or name.endswith("_64")
        return Linear(64 if wide else 32, align=align, top=_SPECIAL_TOP.get(name))
    return None


def broadcast_lane(ins: Instruction) -> int | None:
    """The lane whose value shfl.sync gives to all 32, as in `__shfl_sync(mask, x, 0)`; None where it does not."""
    if ins.opcode != "shfl" or not {"sync", "idx"} <= set(ins.modifiers):
        return None
    by, clamp = ins.operands[2:4]
    if not (isinstance(by, Immediate) and isinstance(clamp, Immediate)):
        return None
    return by.bits & 31 if clamp.bits & 31 == 31 and clamp.bits >> 8 & 31 == 0 else None


def varies(code: Code, ins: Instruction) -> bool:
    """True where the result differs between lanes even if the operands do not."""
    if ins.opcode in VARYING_OPCODES or "cc" in ins.modifiers:
        return True
    if ins.opcode == "mbarrier":  # each lane arrives on its own, and gets the state before it
        return ins.modifiers[0] in ("arrive", "arrive_drop")
    if ins.opcode == "cvta":
        return "local" in ins.modifiers
    if ins.opcode not in ("ld", "ldu"):
        return False
    if not any(m.partition("::")[0] == "param" for m in ins.modifiers):
        return "local" in ins.modifiers
    address = ins.operands[1]
    own = isinstance(address, Address) and isinstance(address.base, Symbol)
    return own and address.base.name not in code.uniform_params  # type: ignore[union-attr]
