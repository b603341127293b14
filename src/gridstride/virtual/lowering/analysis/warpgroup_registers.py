"""Which instructions may use a register that a wgmma still writes or reads, and which wgmma may take a register that
was written with no wgmma.fence since: what the observed build then looks at as it happens.

Both are found along every path of the control flow. A `mov` is neither a use nor a write that needs a fence: compilers
put copies anywhere, and ptxas sees through them; what it copies keeps its state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gridstride.virtual.lowering.analysis.control_flow import Code
from gridstride.virtual.ptx.module import Immediate, Instruction, Vector
from gridstride.virtual.ptx.operands import registers_of

MOST_GROUPS = 8
"""Groups that a wait may leave, and one: a wgmma that is further back is complete."""

MOST_WRITERS = 4
"""Writers of one wgmma's registers that are looked at."""

Flights = dict[str, dict[int, int]]
"""Register to the wgmma that have it in flight: number to the fewest groups closed since."""

Dirty = dict[str, frozenset[int]]
"""Register to its writers since the last fence."""


@dataclass(slots=True)
class Hazards:
    """What to look at, instructions by `id`. Numbers count the wgmma first, then copies of registers in flight."""

    products: list[Instruction]
    touches: dict[int, tuple[int, ...]] = field(default_factory=dict)
    copies: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    writers: dict[int, Instruction] = field(default_factory=dict)
    unfenced: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def product_of(self, number: int) -> Instruction:
        """The wgmma that a number stands for, itself or through copies."""
        origins = dict(self.copies.values())
        while number >= len(self.products):
            number = origins[number][0]
        return self.products[number]


def multiplies(ins: Instruction) -> bool:
    """True for wgmma.mma_async."""
    return ins.opcode == "wgmma" and ins.modifiers[:1] == ("mma_async",)


def hazards(code: Code) -> Hazards:
    """Of one function."""
    result = Hazards([ins for block in code.blocks for ins in block if multiplies(ins)])
    if result.products:
        _InFlight(code, result).solve()
        _Unfenced(code, result).solve()
    return result


def _fragments(ins: Instruction) -> tuple[list[str], list[str]]:
    """The registers of D, and of A where it is in registers."""
    d, a = ins.operands[:2]
    return list(registers_of(d)), list(registers_of(a)) if isinstance(a, Vector) else []


class _InFlight:
    """Registers of wgmma in flight."""

    def __init__(self, code: Code, hazards: Hazards) -> None:
        self.code, self.hazards = code, hazards
        self.numbers = {id(ins): n for n, ins in enumerate(hazards.products)}
        self._copies = 0

    def solve(self) -> None:
        blocks = self.code.blocks
        start: list[tuple[Flights, Flights] | None] = [None] * len(blocks)
        start[0], work = ({}, {}), [0]
        while work:
            b = work.pop()
            in_state = start[b]
            assert in_state is not None
            out_state = self._through(blocks[b], *in_state)
            for s in self.code.successors[b]:
                joined, changed = _joined(start[s], out_state)
                if changed:
                    start[s] = joined
                    work.append(s)

    def _through(self, block: list[Instruction], written: Flights, read: Flights) -> tuple[Flights, Flights]:
        """What is in flight after a block: registers that are written, and those of A, which are read."""
        written, read = dict(written), dict(read)
        for ins in block:
            if ins.opcode != "wgmma":
                self._use(ins, written, read)
            elif multiplies(ins):
                self._multiply(ins, written, read)
            else:
                written, read = (_moved_on(ins, flights) for flights in (written, read))
        return written, read

    def _multiply(self, ins: Instruction, written: Flights, read: Flights) -> None:
        number, products = self.numbers[id(ins)], self.hazards.products
        d, a = _fragments(ins)
        hits = {n for r in a for n in written.get(r, ())} | {n for r in d for n in read.get(r, ())}
        # One accumulator may be in several wgmma of one shape.
        hits |= {n for r in d for n in written.get(r, ())
                 if n < len(products) and products[n].modifiers != ins.modifiers}  # fmt: skip
        self._touch(ins, hits)
        written.update({r: {number: 0} for r in d})
        for r in a:
            read[r] = {**read.get(r, {}), number: 0}

    def _use(self, ins: Instruction, written: Flights, read: Flights) -> None:
        if not written and not read:
            return
        targets = self.code.writes(ins)
        sources = [written[r] for r in self.code.reads(ins) if r in written]
        if ins.opcode == "mov" and sources:
            copied = {n: groups for flights in sources for n, groups in flights.items()}
            number = self._copy(ins, tuple(sorted(copied)))
            for r in targets:
                written[r] = {number: min(copied.values())}
            return
        over = [flights[r] for flights in (written, read) for r in targets if r in flights]
        self._touch(ins, {n for flights in (*sources, *over) for n in flights})
        for r in targets:
            written.pop(r, None)
            read.pop(r, None)

    def _copy(self, ins: Instruction, origins: tuple[int, ...]) -> int:
        copy = self.hazards.copies.get(id(ins))
        if copy is None:
            self._copies += 1
            copy = len(self.hazards.products) + self._copies - 1, ()
        # A copy of itself, round a loop, says nothing new.
        merged = tuple(sorted({*copy[1], *origins} - {copy[0]}))
        self.hazards.copies[id(ins)] = copy[0], merged
        return copy[0]

    def _touch(self, ins: Instruction, numbers: set[int]) -> None:
        if numbers:
            self.hazards.touches[id(ins)] = tuple(sorted({*self.hazards.touches.get(id(ins), ()), *numbers}))


def _moved_on(ins: Instruction, flights: Flights) -> Flights:
    """After a commit, a wait or a fence."""
    kind = ins.modifiers[0]
    if kind == "commit_group":
        return {r: {n: min(g + 1, MOST_GROUPS) for n, g in own.items()} for r, own in flights.items()}
    if kind != "wait_group":
        return flights
    operand = ins.operands[0]
    most_pending = operand.bits if isinstance(operand, Immediate) else MOST_GROUPS
    pending = {r: {n: g for n, g in own.items() if g <= most_pending} for r, own in flights.items()}
    return {r: own for r, own in pending.items() if own}


def _joined(old: tuple[Flights, Flights] | None, new: tuple[Flights, Flights]) -> tuple[tuple[Flights, Flights], bool]:
    """Both states, and whether the new one adds anything."""
    if old is None:
        return new, True
    pairs = [_union(a, b) for a, b in zip(old, new, strict=True)]
    return (pairs[0][0], pairs[1][0]), pairs[0][1] or pairs[1][1]


def _union(old: Flights, new: Flights) -> tuple[Flights, bool]:
    result, changed = dict(old), False
    for r, own in new.items():
        have = result.get(r, {})
        more = {n: g for n, g in own.items() if g < have.get(n, MOST_GROUPS + 1)}
        if more:
            result[r], changed = {**have, **more}, True
    return result, changed


class _Unfenced:
    """Registers of wgmma that other instructions have written since the last fence."""

    def __init__(self, code: Code, hazards: Hazards) -> None:
        self.code, self.hazards = code, hazards
        self.relevant = _sources(code, {r for ins in hazards.products for part in _fragments(ins) for r in part})
        self._by_id = {id(ins): ins for block in code.blocks for ins in block}

    def solve(self) -> None:
        start: list[Dirty | None] = [None] * len(self.code.blocks)
        start[0], work = {}, [0]
        while work:
            b = work.pop()
            out_state = self._through(self.code.blocks[b], dict(start[b] or {}))
            for s in self.code.successors[b]:
                old = start[s]
                joined = {
                    r: out_state.get(r, frozenset()) | (old or {}).get(r, frozenset())
                    for r in {*out_state, *(old or {})}
                }
                if old is None or joined != old:
                    start[s] = joined
                    work.append(s)

    def _through(self, block: list[Instruction], dirty: Dirty) -> Dirty:
        for ins in block:
            if multiplies(ins):
                d, a = _fragments(ins)
                self._take(ins, {w for r in (*d, *a) for w in dirty.get(r, ())})
                for r in d:
                    dirty.pop(r, None)
            elif ins.opcode == "wgmma":
                dirty = {} if ins.modifiers[0] == "fence" else dirty
            else:
                self._write(ins, dirty)
        return dirty

    def _write(self, ins: Instruction, dirty: Dirty) -> None:
        targets = self.relevant.intersection(self.code.writes(ins))
        if not targets:
            return
        writers = frozenset([id(ins)])
        if ins.opcode == "mov":
            writers = frozenset(w for r in self.code.reads(ins) for w in dirty.get(r, ()))
        for r in targets:
            dirty[r] = writers

    def _take(self, ins: Instruction, writers: set[int]) -> None:
        recorded = self.hazards.unfenced.get(id(ins), ())
        more = sorted(writers - set(recorded), key=lambda w: self._by_id[w].ptx_line)[: MOST_WRITERS - len(recorded)]
        if more:
            self.hazards.unfenced[id(ins)] = (*recorded, *more)
            self.hazards.writers.update({w: self._by_id[w] for w in more})


def _sources(code: Code, registers: set[str]) -> set[str]:
    """Registers, and those that they are copies of."""
    copies = [(code.writes(ins), code.reads(ins)) for block in code.blocks for ins in block if ins.opcode == "mov"]
    while True:
        more = {r for to, origin in copies if not registers.isdisjoint(to) for r in origin} - registers
        if not more:
            return registers
        registers = registers | more
