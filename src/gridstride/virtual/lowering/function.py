"""One PTX function as LLVM IR: registers in their shapes, operands, masks, and the walk over blocks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gridstride.virtual.abi.execution_records import WARP
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.ir.builder import Builder, Value, bits, constant, element, vector_constant, wide
from gridstride.virtual.lowering.analysis import affine
from gridstride.virtual.lowering.analysis.affine import Affine
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape, linear_result
from gridstride.virtual.lowering.analysis.uniformity import Code, Facts, is_uniform, special_shape, varies, width_of
from gridstride.virtual.lowering.program import Program
from gridstride.virtual.ptx.constants import encode
from gridstride.virtual.ptx.isa import ISA, Result
from gridstride.virtual.ptx.module import (
    Function,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Sink,
    Special,
    Symbol,
)
from gridstride.virtual.ptx.types import TYPES

_FLOATS = {"f32": "float", "f64": "double"}


@functools.cache
def llvm_type(ptx_type: str) -> str:
    """The LLVM type that holds a PTX type; halves and packed types are kept as their bits."""
    if ptx_type == "pred":
        return "i1"
    return _FLOATS.get(ptx_type) or f"i{max(8, TYPES[ptx_type].bits)}"


class Lowering:
    """The state while one function is written; emitters call its methods."""

    def __init__(self, program: Program, function: Function, code: Code, facts: Facts, shape: BlockShape) -> None:
        self.program, self.function, self.code, self.facts, self.shape = program, function, code, facts, shape
        self.b: Builder = program.ir.builder()
        self.warp = Value("%warp", "ptr")
        self.block = 0
        self.ins: Instruction = Instruction("", (), (), None, 0, None)
        self._slots: dict[str, list[Value]] = {}
        self._here: dict[str, Value | Affine] = {}
        self._vectors: dict[str, Value] = {}
        self._block_bits: Value | None = None
        """The lanes of the block as a vector of i1, once something was blended."""
        self._dirty: set[str] = set()
        self._in_memory = False
        self._fields: dict[tuple[str, int], Value] = {}
        self.mask: Value | None = None
        """The lanes of the current block as an i32, None where all 32 are certain to be active."""

    def keep_slots(self) -> None:
        """Has registers live in memory between blocks: their slots get known outside, so LLVM leaves them there."""
        self._in_memory = True

    def slot(self, type_: str) -> Value:
        """A place for something that outlives a block."""
        at = self.b.alloca(type_)
        if self._in_memory:
            self.b.entry.append(f'  call void asm sideeffect "", "r"(ptr {at.name})')
        return at

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
        taken = self.mask_of(guard)
        return taken if self.mask is None else self.b.op("and", self.mask, taken)

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
                value = self._register(name)
                if isinstance(value, Affine):
                    value = value.base
                return self.retype(value, ptx_type)
            case Negated(register):
                return self.negate(self.scalar(register, ptx_type))
            case Immediate():
                return self.immediate(operand, ptx_type)
            case Symbol():
                return self.retype(self.program.address_of(self, operand), ptx_type)
            case Special():
                from gridstride.virtual.lowering.special_registers import uniform_special

                return self.retype(uniform_special(self, operand), ptx_type)
        raise self.unsupported(f"operand {operand}")

    def vector(self, operand: Operand, ptx_type: str) -> Value:
        """Any operand, one element per lane, read as `ptx_type`."""
        if isinstance(operand, Negated):
            return self.negate(self.vector(operand.register, ptx_type))
        if isinstance(operand, Register):
            return self.retype(self._vector_register(operand.name), ptx_type)
        if isinstance(operand, Special) and not self.uniform(operand):
            from gridstride.virtual.lowering.special_registers import lane_special

            return self.retype(lane_special(self, operand), ptx_type)
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

    def immediate(self, operand: Immediate, ptx_type: str) -> Value:
        """A constant as `ptx_type`: integers wrap, decimal floats are rounded to the type."""
        target = llvm_type(ptx_type)
        if target == "i1":
            return constant("i1", operand.bits != 0)
        as_bits = constant(f"i{bits(target)}", encode(operand, ptx_type))
        return self.b.bitcast(as_bits, target) if target in ("float", "double") else as_bits

    def retype(self, value: Value, ptx_type: str) -> Value:
        """Reads a register's value as another type of the same or a smaller width."""
        target = llvm_type(ptx_type)
        have = element(value.type)
        if have == target:
            return value
        if bits(have) != bits(target):
            if have in ("float", "double"):
                value = self.b.cast("bitcast", value, f"i{bits(have)}")
            value = self.b.resize(value, f"i{bits(target)}")
        return self.b.cast("bitcast", value, target) if element(value.type) != target else value

    # -- linear forms -------------------------------------------------------------------------------------------------
    def linear(self, operand: Operand, width: int = 64) -> Affine | None:
        """The operand as a linear form over LLVM scalars, or None where it varies freely."""
        match operand:
            case Register(name):
                shape = self.facts.shape.get(name, Affine(width_of(self.code.registers[name])))
                if shape is None:
                    return None
                value = self._register(name)
                if isinstance(value, Affine):
                    return value
                return replace(shape, base=self.retype(value, f"b{shape.width}") if bits(value.type) >= 32 else value)
            case Immediate("int", number):
                return affine.fixed(self, width, number)
            case Special(name, component):
                shape = special_shape(self.shape, name, component)
                if shape is None:
                    return None
                from gridstride.virtual.lowering.special_registers import linear_base

                return replace(shape, base=linear_base(self, operand))
            case Symbol():
                address = self.program.address_of(self, operand)
                return Affine(width, self.b.resize(address, f"i{width}"))
        return None

    def constant(self, width: int, value: int) -> Value:
        return constant(f"i{width}", value)

    def op(self, name: str, width: int, a: Any, b: Any) -> Value:
        if name == "add" and "0" in (a.name, b.name):
            return b if a.name == "0" else a  # type: ignore[no-any-return]
        if name == "mul" and "1" in (a.name, b.name):
            return b if a.name == "1" else a  # type: ignore[no-any-return]
        return self.b.op(name, self.b.resize(a, f"i{width}"), self.b.resize(b, f"i{width}"))

    def extend(self, a: Any, signed: bool) -> Value:
        return self.b.resize(a, "i64", signed=signed)

    def truncate(self, a: Any) -> Value:
        return self.b.resize(a, "i32")

    def spread(self, form: Affine) -> Value:
        """A linear form as a vector."""
        type_ = f"i{form.width}"
        value = self.b.splat(form.base)
        if any(form.k):
            k = vector_constant(type_, form.k)
            value = k if form.base.name == "0" else self.b.op("add", value, k)
        for steps, u in form.terms:
            term = self.b.op("mul", self.b.splat(u), vector_constant(type_, steps))
            value = self.b.op("add", value, term)
        if form.extended:
            inner = self.b.resize(self.spread(form.extended.inner), "i64", signed=form.extended.signed)
            scaled = self.b.op("mul", inner, constant(inner.type, form.extended.scale))
            value = self.b.op("add", value, scaled)
        return value

    # -- registers ----------------------------------------------------------------------------------------------------
    def _storage(self, name: str) -> str:
        return llvm_type(self.code.registers[name])

    def _register(self, name: str) -> Value | Affine:
        """A register in its own shape: a scalar, a Affine over scalars, or a vector."""
        if name not in self._here:
            shape = self.facts.shape.get(name, Affine(width_of(self.code.registers[name])))
            slots = self._slot(name, shape)
            if shape is None:
                self._here[name] = self.b.load(wide(self._storage(name)), slots[0])
            elif shape.uniform:
                self._here[name] = self.b.load(self._storage(name), slots[0])
            else:
                loaded = [self.b.load(f"i{w}", s) for w, s in zip(shape.widths(), slots, strict=True)]
                self._here[name] = shape.rebuild(loaded)
        return self._here[name]

    def _vector_register(self, name: str) -> Value:
        value = self._register(name)
        if isinstance(value, Value) and value.wide:
            return value
        if name not in self._vectors:
            self._vectors[name] = self.spread(value) if isinstance(value, Affine) else self.b.splat(value)
        return self._vectors[name]

    def _slot(self, name: str, shape: Affine | None) -> list[Value]:
        """Where a register lives between blocks; zero until it is written, so that nothing is ever undefined."""
        if name not in self._slots:
            if shape is None:
                types = [wide(self._storage(name))]
            else:
                types = [self._storage(name)] if shape.uniform else [f"i{w}" for w in shape.widths()]
            self._slots[name] = [self.slot(t) for t in types]
            for type_, slot in zip(types, self._slots[name], strict=True):
                self.b.entry.append(f"  store {type_} zeroinitializer, ptr {slot.name}")
        return self._slots[name]

    def set(self, operand: Operand, value: Value, *, signed: bool = False) -> None:
        """Writes a destination operand under the guard and the mask; a narrow value is extended to the register."""
        if isinstance(operand, Sink):
            return
        if isinstance(operand, Pair):
            raise self.unsupported("a pair of destinations")
        if not isinstance(operand, Register):
            raise self.unsupported(f"such a destination of `{self.ins.name}`")
        name = operand.name
        value = self._as_storage(value, self._storage(name), signed)
        if is_uniform(self.facts.shape[name]):
            assert not value.wide, (self.ins.name, operand)
            self._put(name, self._guarded_scalar(name, value))
        else:
            assert self.facts.shape[name] is None, (self.ins.name, operand)
            self._put(name, self._blended(name, self.b.splat(value)))

    def _as_storage(self, value: Value, target: str, signed: bool) -> Value:
        have = element(value.type)
        if have == target:
            return value
        if bits(have) != bits(target):
            if have in ("float", "double"):
                value = self.b.cast("bitcast", value, f"i{bits(have)}")
            value = self.b.resize(value, f"i{bits(target)}", signed=signed)
        return self.b.cast("bitcast", value, target) if element(value.type) != target else value

    def _guarded_scalar(self, name: str, value: Value) -> Value:
        guard = self.guard()
        if guard is None:
            return value
        old = self._register(name)
        assert isinstance(old, Value)
        return self.b.select(guard, value, old)

    def _blended(self, name: str, value: Value) -> Value:
        """The new value in the lanes that execute, the old one where somebody may still read it."""
        guard = self.guard()
        keep = name in self.facts.kept[self.block]
        if guard is None and not keep:
            return value
        if not keep:
            assert guard is not None
            lanes_ = self.b.splat(guard)
        elif guard is not None:
            lanes_ = self.active_bits()
        else:
            if self._block_bits is None:
                self._block_bits = self.active_bits()
            lanes_ = self._block_bits
        return self.b.select(lanes_, value, self._vector_register(name))

    def _put(self, name: str, value: Value | Affine) -> None:
        self._here[name] = value
        self._vectors.pop(name, None)
        self._dirty.add(name)

    def set_linear(self, name: str, form: Affine) -> None:
        """Writes a register that has a linear shape; its guard, if any, is uniform."""
        guard = self.guard()
        if guard is not None:
            old = self._register(name)
            assert isinstance(old, Affine)
            pairs = zip(form.scalars(), old.scalars(), strict=True)
            form = form.rebuild([self.b.select(guard, new, was) for new, was in pairs])
        self._put(name, form)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Code that may not run: what it reads is forgotten after it, as its values do not reach what follows."""
        here, vectors, bits_ = dict(self._here), dict(self._vectors), self._block_bits
        yield
        self._here, self._vectors, self._block_bits = here, vectors, bits_

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
        kept = self.b, self.mask, self.ins, self._fields
        self.b, self.mask, self.ins = b, mask, Instruction("", (), (), None, 0, None)
        self._fields = {(name, 0): value for name, value in fields.items()}
        yield
        self.b, self.mask, self.ins, self._fields = kept

    def flush(self, live: AbstractSet[str]) -> None:
        """Stores what the block wrote and a later one may read."""
        for name in sorted(self._dirty & live):
            value = self._here[name]
            shape = self.facts.shape[name]
            values = value.scalars() if isinstance(value, Affine) else [value]
            for v, slot in zip(values, self._slot(name, shape), strict=True):
                self.b.store(v, slot)

    def begin(self, block: int, mask: Value | None) -> None:
        """Starts a block: nothing is known of the registers but what their slots hold."""
        self.block, self.mask = block, mask
        self._here.clear()
        self._vectors.clear()
        self._block_bits = None
        self._dirty.clear()

    # -- instructions -------------------------------------------------------------------------------------------------
    def lower(self, ins: Instruction) -> None:
        """Writes one instruction that is not the end of its block."""
        self.ins = ins
        self.program.observer.before(self, ins)
        if self._try_linear(ins):
            return
        self.program.emitters[ins.opcode](self, ins)

    def _try_linear(self, ins: Instruction) -> bool:
        destination = ins.operands[0] if ins.operands else None
        if not isinstance(destination, Register):
            return False
        shape = self.facts.shape.get(destination.name)
        if shape is None or ISA[ins.opcode].result is not Result.AFFINE:
            return False
        form = None if all(self.uniform(o) for o in ins.operands[1:]) else linear_result(self, ins, self.linear)
        if form is None:
            return False
        assert form.key == shape.key, (ins.name, ins.ptx_line)
        if shape.uniform:
            base = self._as_storage(form.base, self._storage(destination.name), False)
            self._put(destination.name, self._guarded_scalar(destination.name, base))
        else:
            bounded = Affine(form.width, form.base, form.k, form.terms, form.extended, shape.align, shape.top)
            self.set_linear(destination.name, bounded)
        return True

    def unsupported(self, what: str) -> UnsupportedInstruction:
        """The error for something the virtual GPU does not know, with the PTX line and the source line."""
        return self.program.unsupported(self.function, self.ins, what)
