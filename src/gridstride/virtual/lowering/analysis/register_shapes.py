"""How each register of a function varies over the lanes of a warp."""

from __future__ import annotations

from gridstride.virtual.lowering.analysis import affine
from gridstride.virtual.lowering.analysis.affine import Affine, NoScalars
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape, linear_result
from gridstride.virtual.lowering.analysis.control_flow import Code, ends_lanes, last_of
from gridstride.virtual.lowering.analysis.lane_variation import (
    broadcast_lane,
    is_uniform,
    special_shape,
    varies,
    width_of,
)
from gridstride.virtual.ptx.isa import ISA, Uniformity
from gridstride.virtual.ptx.module import (
    Address,
    Arguments,
    DestinationPair,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    Selected,
    Special,
    Vector,
)


class RegisterShapes:
    """The shape of every register: the join over its definitions, given which writes are blended."""

    def __init__(self, code: Code, block_shape: BlockShape) -> None:
        self.code, self.block_shape = code, block_shape
        self.of: dict[str, Affine | None] = dict.fromkeys(code.register_params)
        self.changed = False
        self._kept_registers: list[set[str]] | None = None
        self._all = [(b, ins) for b, block in enumerate(code.blocks) for ins in block]
        self._users: dict[str, list[tuple[int, Instruction]]] = {}
        self._defined = {r for _, ins in self._all for r in code.writes(ins)}
        for b, ins in self._all:
            for r in code.reads(ins):
                self._users.setdefault(r, []).append((b, ins))

    def solve(self, kept_registers: list[set[str]]) -> None:
        """Takes the shapes to a fixpoint for these blended registers; `changed` says whether any is another."""
        self.changed = False
        last_registers, self._kept_registers = self._kept_registers, kept_registers
        work = self._all
        if last_registers is not None:  # only what is blended now and was not before can change anything
            more = [
                now - previous if now != previous else ()
                for now, previous in zip(kept_registers, last_registers, strict=True)
            ]
            work = [(b, ins) for b, ins in work if more[b] and any(r in more[b] for r in self.code.writes(ins))]
        self._propagate(list(reversed(work)), kept_registers)
        # What only ever depends on itself was never set before it was read: any value will do.
        for r in sorted(self._defined - self.of.keys()):
            self.of.setdefault(r, Affine(width_of(self.code.registers[r])))
            makers = [(b, ins) for b, ins in self._all if r in self.code.writes(ins)]
            self._propagate([*self._users.get(r, ()), *makers], kept_registers)

    def _propagate(self, work: list[tuple[int, Instruction]], kept_registers: list[set[str]]) -> None:
        waiting = {id(ins) for _, ins in work}
        while work:
            b, ins = work.pop()
            waiting.discard(id(ins))
            written = self.code.writes(ins)
            if any(r not in self.of and r in self._defined and r not in written for r in self.code.reads(ins)):
                continue  # comes back when that register is first defined
            for r in written:
                if self._define(r, None if r in kept_registers[b] else self._result(ins, r)):
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
            case DestinationPair(a, b):
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
        if ISA[ins.opcode].result is Uniformity.GROUP and self._has_single_member_mask(ins):
            return Affine(width)
        if broadcast_lane(ins) is not None and is_uniform(self.value(ins.operands[-1])):
            return Affine(width)
        if varies(self.code, ins):
            return None
        linear = linear_result(NoScalars(), ins, self.value)
        if linear is not None and linear.width == width:
            return linear
        return Affine(width) if all(is_uniform(self.value(o)) for o in ins.operands[1:]) else None

    def _has_single_member_mask(self, ins: Instruction) -> bool:
        """False where the lanes of vote.sync or redux.sync may name different member masks (tiles of a warp)."""
        return "sync" not in ins.modifiers or ISA[ins.opcode].holds or is_uniform(self.value(ins.operands[-1]))

    def diverges(self, b: int) -> bool:
        """True where block b ends with a branch or an exit that lanes may take differently."""
        last = last_of(self.code.blocks[b])
        if last is None:
            return False
        if last.opcode == "brx":
            return not is_uniform(self.value(last.operands[0]))
        guarded = last.guard is not None and (last.opcode == "bra" or ends_lanes(last))
        return guarded and last.guard is not None and not is_uniform(self.value(last.guard.register))
