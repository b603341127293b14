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
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from gridstride.virtual.lowering.analysis import affine
from gridstride.virtual.lowering.analysis.affine import Affine, NoScalars
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape, linear_result
from gridstride.virtual.ptx.isa import ISA, Class, Result
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

UNIFORM_SPECIALS = frozenset(
    "ntid ctaid nctaid warpid nwarpid smid nsmid gridid clock clock64 clock_hi globaltimer globaltimer_lo "
    "globaltimer_hi dynamic_smem_size total_smem_size aggr_smem_size clusterid nclusterid cluster_ctaid "
    "cluster_nctaid cluster_ctarank cluster_nctarank is_explicit_cluster current_graph_exec pm".split()
)

_SPECIAL_TOP = {"ntid": 1024, "ctaid": 2**31 - 1, "nctaid": 2**31 - 1, "warpid": 63, "laneid": 31}


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
    branch_targets: Mapping[str, tuple[str, ...]]
    """The labels of each list that an indexed branch uses."""
    around: dict[int, frozenset[int]] = field(default_factory=dict)
    """For a block with a barrier, those where lanes that wait have gone around it; worked out as it is asked for."""
    without: dict[int, frozenset[int]] = field(default_factory=dict)
    """For a block with a barrier, those that there is a way to without it; worked out as it is asked for."""
    bounded_waits: set[tuple[int, int]] = field(default_factory=set)
    """Those of the spin edges whose loop may give up."""


@dataclass(slots=True)
class Facts:
    """What the analysis found. `shape[r]` is a Affine without scalars, or None where r varies freely."""

    shape: dict[str, Affine | None]
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
    frontier, waiters = [0] * len(code.blocks), [0] * len(code.blocks)
    while True:
        _grow(code, divergent, frontier, waiters)
        kept = _kept(code, frontier)
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
    return ins is not None and ISA[ins.opcode].kind is Class.LEAVE


def waits(ins: Instruction | None) -> bool:
    """True for a barrier that holds its lanes back, and for a call of a function that may."""
    if ins is None or not ISA[ins.opcode].holds:
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


def _routes(code: Code, frontier: list[int], divergent: list[bool], b: int) -> Iterator[int]:
    """The blocks that may run after block b, for every way control can leave it: one of them does, the others wait."""
    choices = code.successors[b] or (None,)
    for route in [choices] if divergent[b] else [(c,) for c in choices]:
        candidates = frontier[b]
        for t in route:
            candidates |= 1 << t if t is not None else 0
        yield candidates


def _held(code: Code, frontier: list[int]) -> int:
    """The blocks after barriers that only part of a warp may reach: lanes wait there while any other block runs."""
    parted = (b for b in range(len(code.blocks)) if parts(code, frontier, b))
    return reduce(or_, (1 << s for b in parted for s in code.successors[b]), 0)


def _grow(code: Code, divergent: list[bool], frontier: list[int], waiters: list[int]) -> None:
    """Takes frontiers to the least fixpoint of: who runs next takes over everybody who then still waits.

    They only ever grow as more blocks diverge, so the next time goes on from there. A way out of a block is looked at
    again for the candidates that it has gained only, or a function whose blocks may all wait for one another would take
    minutes. `waiters[d]` are the blocks whose frontier has d.
    """
    count, held = len(code.blocks), -1
    spinning = {b for b, _ in code.spin_edges}
    while held != (held := _held(code, frontier)):
        again, seen = set(range(count)), [[0, 0] for _ in range(count)]
        while again:  # in rounds: frontiers grow by sets, where block after block they would grow by ones
            now, again = sorted(again), set()
            for b in now:
                for way, candidates in enumerate(_routes(code, frontier, divergent, b)):
                    if way == len(seen[b]):
                        seen[b].append(0)
                    new, seen[b][way] = candidates & ~seen[b][way], candidates
                    for d in bits_of(new):
                        # A higher block runs only when the lower ones are empty, unless they spin or wait at a barrier.
                        # Lanes that a barrier let go run while others of the same block are held for its next turn.
                        own = 1 << d
                        always = b in spinning or bool(held & own)
                        gain = (candidates & ~own & (-1 if always else own - 1) | held & own) & ~waiters[d]
                        waiters[d] |= gain
                        for c in bits_of(gain):
                            frontier[c] |= own
                            again.add(c)
                        others = candidates & ~own & (-1 if b in spinning else held | -(own << 1)) & ~frontier[d]
                        frontier[d] |= others
                        for c in bits_of(others):
                            waiters[c] |= own
                            again.add(d)


def _kept(code: Code, frontiers: list[int]) -> list[set[str]]:
    """For each block, what those who may wait while it runs still read."""
    names = list(dict.fromkeys(name for live in code.live_in for name in live))
    place = {name: 1 << at for at, name in enumerate(names)}
    live = [reduce(or_, (place[name] for name in each), 0) for each in code.live_in]
    sets: dict[int, set[str]] = {}

    def kept(frontier: int) -> set[str]:
        bits = reduce(or_, (live[f] for f in bits_of(frontier)), 0)
        if bits not in sets:
            sets[bits] = {names[at] for at in bits_of(bits)}
        return sets[bits]

    return [kept(frontier) for frontier in frontiers]


def _whole(code: Code, frontier: list[int], divergent: list[bool], full: bool) -> list[bool]:
    """Blocks that run with every lane: nobody waits elsewhere and nobody can have left before."""
    lost = 0 if full else (1 << len(code.blocks)) - 1
    work = list(range(len(code.blocks)))
    while work:
        b = work.pop()
        last = last_of(code.blocks[b])
        partial = leaves(last) and (frontier[b] != 0 or divergent[b])
        calls = any(ins.opcode == "call" for ins in code.blocks[b])
        if lost >> b & 1 or partial or calls:
            for candidates in _routes(code, frontier, divergent, b):
                work += bits_of(candidates & ~lost)
                lost |= candidates
    return [not lost >> b & 1 and not frontier[b] for b in range(len(code.blocks))]


class _Shapes:
    """The shape of every register: the join over its definitions, given which writes are blended."""

    def __init__(self, code: Code, block_shape: BlockShape) -> None:
        self.code, self.block_shape = code, block_shape
        self.of: dict[str, Affine | None] = dict.fromkeys(code.given)
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
        work = self._all
        if before is not None:  # only what is blended now and was not before can change anything
            more = [now - was if now != was else () for now, was in zip(kept, before, strict=True)]
            work = [(b, ins) for b, ins in work if more[b] and any(r in more[b] for r in self.code.writes(ins))]
        self._propagate(list(reversed(work)), kept)
        # What only ever depends on itself was never set before it was read: any value will do.
        for r in sorted(self._defined - self.of.keys()):
            self.of.setdefault(r, Affine(width_of(self.code.registers[r])))
            makers = [(b, ins) for b, ins in self._all if r in self.code.writes(ins)]
            self._propagate([*self._users.get(r, ()), *makers], kept)

    def _propagate(self, work: list[tuple[int, Instruction]], kept: list[set[str]]) -> None:
        waiting = {id(ins) for _, ins in work}
        while work:
            b, ins = work.pop()
            waiting.discard(id(ins))
            written = self.code.writes(ins)
            if any(r not in self.of and r in self._defined and r not in written for r in self.code.reads(ins)):
                continue  # comes back when that register is first defined
            for r in written:
                if self._define(r, None if r in kept[b] else self._result(ins, r)):
                    self.changed = True
                    users = [user for user in self._users.get(r, ()) if id(user[1]) not in waiting]
                    waiting.update([id(user) for _, user in users])
                    work += users

    def _define(self, register: str, new: Affine | None) -> bool:
        if register not in self.of:
            self.of[register] = new
            return True
        old = self.of[register]
        joined = affine.join(old, new) if old is not None and new is not None else None
        self.of[register] = joined
        return joined != old

    def value(self, operand: Operand, width: int = 64) -> Affine | None:
        """The shape of an operand; None where it varies freely."""
        if type(operand) is Register:  # most are, and a dictionary is quicker than a match
            shape = self.of.get(operand.name, self)
            if shape is self:
                return Affine(width_of(self.code.registers.get(operand.name, "b32")))
            return shape  # type: ignore[return-value]
        match operand:
            case Immediate("int", bits):
                return affine.fixed(NoScalars(), width, bits)
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
        return Affine(width)

    def _all_uniform(self, items: tuple[Operand, ...]) -> Affine | None:
        return Affine(64) if all(is_uniform(self.value(i)) for i in items) else None

    def _result(self, ins: Instruction, register: str) -> Affine | None:
        """The shape an instruction gives a register it writes, its guard included."""
        new = self._unguarded(ins, register)
        if ins.guard is None or new is None:
            return new
        if not is_uniform(self.value(ins.guard.register)):
            return None
        old = self.of.get(register, new)
        return affine.join(old, new) if old is not None else None

    def _unguarded(self, ins: Instruction, register: str) -> Affine | None:
        width = width_of(self.code.registers[register])
        if ISA[ins.opcode].result is Result.GROUP and self._one_group(ins):
            return Affine(width)
        if broadcast_lane(ins) is not None and is_uniform(self.value(ins.operands[-1])):
            return Affine(width)
        if varies(self.code, ins):
            return None
        linear = linear_result(NoScalars(), ins, self.value)
        if linear is not None and linear.width == width:
            return linear
        return Affine(width) if all(is_uniform(self.value(o)) for o in ins.operands[1:]) else None

    def _one_group(self, ins: Instruction) -> bool:
        """False where the lanes of vote.sync or redux.sync may name different member masks (tiles of a warp)."""
        return "sync" not in ins.modifiers or ISA[ins.opcode].holds or is_uniform(self.value(ins.operands[-1]))

    def diverges(self, b: int) -> bool:
        last = last_of(self.code.blocks[b])
        if last is None:
            return False
        if last.opcode == "brx":
            return not is_uniform(self.value(last.operands[0]))
        guarded = last.guard is not None and (last.opcode == "bra" or leaves(last))
        return guarded and last.guard is not None and not is_uniform(self.value(last.guard.register))


def is_uniform(shape: Affine | None) -> bool:
    return shape is not None and shape.uniform


def width_of(ptx_type: str) -> int:
    """The width in bits that a linear form of a register of this type has."""
    return 64 if ptx_type.endswith("64") else 32


def special_shape(block_shape: BlockShape, name: str, component: str | None) -> Affine | None:
    """The shape of a special register."""
    if name == "tid":
        return block_shape.thread("xyz".index(component or "x"), None)
    if name == "laneid":
        return Affine(32, None, affine.LANE, align=affine.ANY_ALIGN, top=31)
    if name in UNIFORM_SPECIALS or name.startswith(("envreg", "pm", "reserved_smem")):
        align = 32 if name == "ntid" and component == "x" and block_shape.kind == "rows" else 1
        wide = name in ("clock64", "globaltimer", "current_graph_exec") or name.endswith("_64")
        return Affine(64 if wide else 32, align=align, top=_SPECIAL_TOP.get(name))
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
    row = ISA[ins.opcode]
    if row.result is Result.VARYING or "cc" in ins.modifiers or not row.varies_with.isdisjoint(ins.modifiers):
        return True
    if ins.opcode != "ld" or not any(m.partition("::")[0] == "param" for m in ins.modifiers):
        return False
    address = ins.operands[1]
    own = isinstance(address, Address) and isinstance(address.base, Symbol)
    return own and address.base.name not in code.uniform_params  # type: ignore[union-attr]
