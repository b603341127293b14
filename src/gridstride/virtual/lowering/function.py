"""One PTX function as LLVM IR: operands in their shapes, masks of lanes, and what is written to registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from gridstride.virtual.abi.execution_records import WARP
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.ir.builder import Builder, Value, bits, constant, wide
from gridstride.virtual.lowering.analysis import affine
from gridstride.virtual.lowering.analysis.affine import Affine
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.analysis.control_flow import Code
from gridstride.virtual.lowering.analysis.lane_variation import is_uniform, special_shape, varies
from gridstride.virtual.lowering.analysis.uniformity import Facts
from gridstride.virtual.lowering.linear_values import LlvmScalars
from gridstride.virtual.lowering.program import Program
from gridstride.virtual.lowering.register_file import RegisterFile
from gridstride.virtual.lowering.special_registers import lane_special, linear_base, uniform_special
from gridstride.virtual.lowering.value_types import convert_bits, immediate, retype
from gridstride.virtual.ptx.module import (
    Function,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    Selected,
    Sink,
    Special,
    Symbol,
)


class Lowering:
    """The state while one function is written; emitters call its methods."""

    def __init__(self, program: Program, function: Function, code: Code, facts: Facts, shape: BlockShape) -> None:
        self.program, self.function, self.code, self.facts, self.shape = program, function, code, facts, shape
        self.b: Builder = program.ir.builder()
        self.warp = Value("%warp", "ptr")
        self.block = 0
        self.ins: Instruction = Instruction("", (), (), None, 0, None)
        self.registers = RegisterFile(self.b, code.registers, facts.shape)
        self._block_bits: Value | None = None
        """The lanes of the block as a vector of i1, once something was blended."""
        self._fields: dict[tuple[str, int], Value] = {}
        self.mask: Value | None = None
        """The lanes of the current block as an i32, None where all 32 are certain to be active."""

    # -- fields of the warp -------------------------------------------------------------------------------------------
    def field(self, name: str, index: int = 0) -> Value:
        """A field of the warp that never changes while it runs, read once at the function's entry."""
        key = (name, index)
        if key not in self._fields:
            offset = WARP.offset[name] + 4 * index
            at, value = self.b.fresh("ptr"), self.b.fresh(WARP.type[name])
            self.b.entry.append(f"  {at.name} = getelementptr i8, ptr %warp, i64 {offset}")
            self.b.entry.append(f"  {value.name} = load {value.type}, ptr {at.name}")
            self._fields[key] = value
        return self._fields[key]

    # -- masks --------------------------------------------------------------------------------------------------------
    def current_mask(self) -> Value:
        """The block's lanes as an i32."""
        return self.mask if self.mask is not None else constant("i32", -1)

    def active(self) -> Value:
        """The lanes that execute the current instruction (its guard included) as an i32."""
        guard = self.guard()
        if guard is None:
            return self.current_mask()
        mask = self.mask_of(guard)
        return mask if self.mask is None else self.b.op("and", self.mask, mask)

    def always(self) -> bool:
        """True where every lane certainly executes the current instruction."""
        return self.mask is None and self.ins.guard is None

    def active_bits(self) -> Value:
        """The lanes that execute the current instruction as a vector of i1."""
        return self.b.bitcast(self.active(), wide("i1"))

    def guard(self) -> Value | None:
        """The guard as an i1, scalar where it is uniform; None without one."""
        if self.ins.guard is None:
            return None
        p = self.ins.guard.register
        value = self.scalar(p, "pred") if self.uniform(p) else self.vector(p, "pred")
        return self.negate(value) if self.ins.guard.negated else value

    def negate(self, predicate: Value) -> Value:
        """The opposite of an i1, or of one per lane."""
        return self.b.op("xor", predicate, constant(predicate.type, True))

    def mask_of(self, predicate: Value) -> Value:
        """An i1 per lane, or a uniform one, as an i32 mask."""
        if predicate.wide:
            return self.b.bitcast(predicate, "i32")
        return self.b.cast("sext", predicate, "i32")

    # -- operands -----------------------------------------------------------------------------------------------------
    def uniform(self, operand: Operand) -> bool:
        """True where the operand is the same in all lanes."""
        match operand:
            case Register(name):
                return is_uniform(self.facts.shape.get(name, Affine(32)))
            case Negated(register) | Selected(register):
                return self.uniform(register)
            case Special(name, component):
                return is_uniform(special_shape(self.shape, name, component))
        return True

    def scalar(self, operand: Operand, ptx_type: str) -> Value:
        """A uniform operand, read as `ptx_type`."""
        match operand:
            case Register(name):
                value = self.registers.read(name)
                if isinstance(value, Affine):
                    value = value.base
                return retype(self.b, value, ptx_type)
            case Negated(register):
                return self.negate(self.scalar(register, ptx_type))
            case Immediate():
                return immediate(self.b, operand, ptx_type)
            case Symbol():
                return retype(self.b, self.program.address_of(self, operand), ptx_type)
            case Special():
                return retype(self.b, uniform_special(self, operand), ptx_type)
        raise self.unsupported(f"operand {operand}")

    def vector(self, operand: Operand, ptx_type: str) -> Value:
        """Any operand, one element per lane, read as `ptx_type`."""
        if isinstance(operand, Negated):
            return self.negate(self.vector(operand.register, ptx_type))
        if isinstance(operand, Register):
            return retype(self.b, self.registers.read_vector(operand.name), ptx_type)
        if isinstance(operand, Special) and not self.uniform(operand):
            return retype(self.b, lane_special(self, operand), ptx_type)
        return self.b.splat(self.scalar(operand, ptx_type))

    def value(self, operand: Operand, ptx_type: str) -> Value:
        """The operand as a scalar where it is uniform, else as a vector."""
        return self.scalar(operand, ptx_type) if self.uniform(operand) else self.vector(operand, ptx_type)

    def sources(self, *types: str, first: int = 1) -> list[Value]:
        """The operands from `first` on as the given types: all scalars where all are uniform, else all vectors."""
        operands = self.ins.operands[first : first + len(types)]
        narrow = not varies(self.code, self.ins) and all(self.uniform(o) for o in operands)
        read = self.scalar if narrow else self.vector
        return [read(o, t) for o, t in zip(operands, types, strict=True)]

    # -- linear forms -------------------------------------------------------------------------------------------------
    def linear(self, operand: Operand, width: int = 64) -> Affine | None:
        """The operand as a linear form over LLVM scalars, or None where it varies freely."""
        match operand:
            case Register(name):
                shape = self.registers.shape(name)
                if shape is None:
                    return None
                value = self.registers.read(name)
                if isinstance(value, Affine):
                    return value
                value = retype(self.b, value, f"b{shape.width}") if bits(value.type) >= 32 else value
                return replace(shape, base=value)
            case Immediate("int", number):
                return affine.fixed(LlvmScalars(self.b), width, number)
            case Special(name, component):
                shape = special_shape(self.shape, name, component)
                if shape is None:
                    return None
                return replace(shape, base=linear_base(self, operand))
            case Symbol():
                address = self.program.address_of(self, operand)
                return Affine(width, self.b.resize(address, f"i{width}"))
        return None

    # -- registers ----------------------------------------------------------------------------------------------------
    def set(self, operand: Operand, value: Value, *, signed: bool = False) -> None:
        """Writes a destination operand under the guard and the mask; a narrow value is extended to the register."""
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Register):
            raise self.unsupported(f"such a destination of `{self.ins.name}`")
        name = operand.name
        value = convert_bits(self.b, value, self.registers.storage(name), signed=signed)
        if is_uniform(self.facts.shape[name]):
            assert not value.wide, (self.ins.name, operand)
            self.registers.write(name, self._guarded_scalar(name, value))
        else:
            assert self.facts.shape[name] is None, (self.ins.name, operand)
            self.registers.write(name, self._blended(name, self.b.splat(value)))

    def _guarded_scalar(self, name: str, value: Value) -> Value:
        guard = self.guard()
        if guard is None:
            return value
        old = self.registers.read(name)
        assert isinstance(old, Value)
        return self.b.select(guard, value, old)

    def _blended(self, name: str, value: Value) -> Value:
        """The new value in the lanes that execute, the old one where somebody may still read it."""
        guard = self.guard()
        is_kept = name in self.facts.kept_registers[self.block]
        if guard is None and not is_kept:
            return value
        if not is_kept:
            assert guard is not None
            lanes = self.b.splat(guard)
        elif guard is not None:
            lanes = self.active_bits()
        else:
            if self._block_bits is None:
                self._block_bits = self.active_bits()
            lanes = self._block_bits
        return self.b.select(lanes, value, self.registers.read_vector(name))

    def set_linear(self, name: str, form: Affine) -> None:
        """Writes a register that has a linear shape; its guard, if any, is uniform."""
        guard = self.guard()
        if guard is not None:
            old = self.registers.read(name)
            assert isinstance(old, Affine)
            pairs = zip(form.scalars(), old.scalars(), strict=True)
            form = form.rebuild([self.b.select(guard, new, previous) for new, previous in pairs])
        self.registers.write(name, form)

    @contextmanager
    def conditional_code(self) -> Iterator[None]:
        """Code that may not run: what it reads is forgotten after it, as its values do not reach what follows."""
        block_bits = self._block_bits
        with self.registers.conditional_code():
            yield
        self._block_bits = block_bits

    def shared(self, name: str, compute: Callable[..., Value], *values: Value) -> Value:
        """compute(b, *values), in a function that all places share: for what takes many instructions."""
        name, result = self.program.ir.shared(name, compute, [v.type for v in values])
        self.program.ir.inlined(name)
        return self.b.call(result, name, *values)

    @contextmanager
    def within(self, b: Builder, mask: Value | None, fields: Mapping[str, Value]) -> Iterator[None]:
        """Writes into another function, which has no registers: `mask` are its lanes (None: all 32), `fields` those of
        the warp's that it is given.
        """
        saved = self.b, self.mask, self.ins, self._fields
        self.b, self.mask, self.ins = b, mask, Instruction("", (), (), None, 0, None)
        self._fields = {(name, 0): value for name, value in fields.items()}
        yield
        self.b, self.mask, self.ins, self._fields = saved

    def begin(self, block: int, mask: Value | None) -> None:
        """Starts a block: nothing is known of the registers but what their slots hold."""
        self.block, self.mask = block, mask
        self._block_bits = None
        self.registers.begin_block()

    def unsupported(self, what: str) -> UnsupportedInstruction:
        """The error for something the virtual GPU does not know, with the PTX line and the source line."""
        return self.program.unsupported(self.function, self.ins, what)
