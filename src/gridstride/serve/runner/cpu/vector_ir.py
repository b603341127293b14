"""LLVM IR with vectors, written by Python: loops, loads of any type of weights, exponentials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from llvmlite import ir

Element = Literal["float32", "bfloat16", "int8"]
BYTES: dict[Element, int] = {"float32": 4, "bfloat16": 2, "int8": 1}

I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
F32 = ir.FloatType()
_STORED: dict[Element, Any] = {"float32": F32, "bfloat16": I16, "int8": I8}
_LOG2E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.693359375, -2.12194440e-4
"""ln 2 in two parts, the first with few digits: its product with a small whole number is exact."""
_ROUNDING = 12582912.0  # 1.5 * 2^23: a number added to it is rounded to a whole one, in its lowest bits
_EXP_RANGE = 87.0  # beyond, 2^n is no normal number
_TAYLOR = (1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0)  # |r| < ln 2 / 2: the rest is below 6e-9


@dataclass(frozen=True, slots=True)
class Machine:
    """What a processor's registers hold: floats of one, and how many there are."""

    lanes: int
    registers: int


class Emitter:
    """The body of one function. Addresses are 64-bit integers; a type is known where something is loaded."""

    def __init__(self, module: ir.Module, name: str, parameters: Sequence[Any], *, public: bool = False) -> None:
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), name)
        if not public:
            self.function.linkage = "internal"
            self.function.attributes.add("noinline")
        self._module = module
        self._entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.b = ir.IRBuilder(self.function.append_basic_block("body"))

    @property
    def arguments(self) -> tuple[Any, ...]:
        return tuple(self.function.args)

    def end(self) -> ir.Function:
        self.b.ret_void()
        self._entry.branch(self.function.blocks[1])
        return self.function

    def call(self, function: ir.Function, *arguments: Any) -> None:
        self.b.call(function, [self.number(argument) for argument in arguments])

    def number(self, value: Any) -> Any:
        return ir.Constant(I64, value) if isinstance(value, int) else value

    def at(self, base: Any, *offsets: tuple[Any, Any]) -> Any:
        """base + the sum of index * stride."""
        address = self.number(base)
        for index, stride in offsets:
            address = self.b.add(address, self.b.mul(self.number(index), self.number(stride)))
        return address

    @contextmanager
    def loop(self, stop: Any, *, start: Any = 0, step: int = 1) -> Iterator[Any]:
        """Inside, the body for each number from `start` on, by `step`, below `stop`."""
        b, slot = self.b, self.variable(I64)
        self.set(slot, self.number(start))
        head, body, done = (b.append_basic_block(name) for name in ("head", "loop", "done"))
        b.branch(head)
        b.position_at_end(head)
        number = self.get(slot)
        b.cbranch(b.icmp_signed("<", number, self.number(stop)), body, done)
        b.position_at_end(body)
        yield number
        self.set(slot, b.add(number, self.number(step)))
        b.branch(head)
        b.position_at_end(done)

    def variable(self, type_: Any) -> Any:
        """Memory for one value, which the optimiser makes a register."""
        return self._entry.alloca(type_)

    def set(self, slot: Any, value: Any) -> None:
        self.b.store(value, slot)

    def get(self, slot: Any) -> Any:
        return self.b.load(slot, typ=slot.allocated_type)

    def variables(self, type_: Any, count: int, value: Any) -> list[Any]:
        slots = [self.variable(type_) for _ in range(count)]
        for slot in slots:
            self.set(slot, value)
        return slots

    def load(self, address: Any, type_: Any) -> Any:
        pointer = self.b.inttoptr(address, ir.PointerType())
        return self.b.load(pointer, align=_align(type_), typ=type_)

    def store(self, value: Any, address: Any) -> None:
        self.b.store(value, self.b.inttoptr(address, ir.PointerType()), align=_align(value.type))

    def prefetch(self, address: Any) -> None:
        """Asks for the line of memory at an address, which need not be anybody's."""
        pointer = ir.PointerType()
        function = self._module.globals.get("llvm.prefetch.p0")
        if function is None:
            parameters = ir.FunctionType(ir.VoidType(), [pointer, I32, I32, I32])
            function = ir.Function(self._module, parameters, "llvm.prefetch.p0")
        self.b.call(function, [self.b.inttoptr(address, pointer), *(ir.Constant(I32, hint) for hint in (0, 3, 1))])

    def load_int(self, address: Any, type_: Any = I64) -> Any:
        value = self.load(address, type_)
        return value if type_ is I64 else self.b.sext(value, I64)

    def floats(self, address: Any, lanes: int, element: Element = "float32") -> Any:
        """[lanes] numbers of any type, as fp32."""
        stored = self.load(address, ir.VectorType(_STORED[element], lanes))
        if element == "float32":
            return stored
        wide = ir.VectorType(I32, lanes)
        if element == "int8":
            return self.b.sitofp(self.b.sext(stored, wide), ir.VectorType(F32, lanes))
        return self._as_floats(self.b.shl(self.b.zext(stored, wide), _filled(I32, 16, lanes)))

    def store_floats(self, value: Any, address: Any, element: Element) -> None:
        """fp32 numbers to memory; to bf16 they are rounded to even."""
        lanes = value.type.count
        if element == "float32":
            self.store(value, address)
            return
        assert element == "bfloat16", element
        bits = self.b.bitcast(value, ir.VectorType(I32, lanes))
        odd = self.b.and_(self.b.lshr(bits, _filled(I32, 16, lanes)), _filled(I32, 1, lanes))
        rounded = self.b.add(bits, self.b.add(odd, _filled(I32, 0x7FFF, lanes)))
        upper_half = self.b.lshr(rounded, _filled(I32, 16, lanes))
        unordered = self.b.fcmp_unordered("uno", value, value)  # a NaN of all ones would be rounded to 0
        upper_half = self.b.select(unordered, _filled(I32, 0x7FC0, lanes), upper_half)
        self.store(self.b.trunc(upper_half, ir.VectorType(I16, lanes)), address)

    def filled(self, value: Any, lanes: int) -> Any:
        """A vector of the same number in all places."""
        if isinstance(value, float):
            return _filled(F32, value, lanes)
        vector = ir.VectorType(F32, lanes)
        first_lane = self.b.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(I32, 0))
        return self.b.shuffle_vector(first_lane, ir.Constant(vector, ir.Undefined), _filled(I32, 0, lanes))

    def sum(self, vector: Any) -> Any:
        """Of a vector's numbers, halves added to halves."""
        lanes = vector.type.count
        while lanes > 1:
            lanes //= 2
            undefined, indices = ir.Constant(vector.type, ir.Undefined), ir.VectorType(I32, lanes)
            low, high = (ir.Constant(indices, list(range(first, first + lanes))) for first in (0, lanes))
            low, high = (self.b.shuffle_vector(vector, undefined, half) for half in (low, high))
            vector = self.b.fadd(low, high)
        return self.b.extract_element(vector, ir.Constant(I32, 0))

    def exp(self, x: Any) -> Any:
        """e^x of a vector, to 2 units in the last place; 0 and infinity are 1e-38 and 1e38 here; NaN stays NaN."""
        b, lanes = self.b, x.type.count
        low, high = self.filled(-_EXP_RANGE, lanes), self.filled(_EXP_RANGE, lanes)
        x = b.select(b.fcmp_ordered("<", x, low), low, x)
        x = b.select(b.fcmp_ordered(">", x, high), high, x)
        shifted = b.fadd(b.fmul(x, self.filled(_LOG2E, lanes)), self.filled(_ROUNDING, lanes))
        exponent = b.fsub(shifted, self.filled(_ROUNDING, lanes))
        remainder = self.fma(exponent, self.filled(-_LN2_HIGH, lanes), x)
        remainder = self.fma(exponent, self.filled(-_LN2_LOW, lanes), remainder)
        series = self.filled(_TAYLOR[0], lanes)
        for term in _TAYLOR[1:]:
            series = self.fma(series, remainder, self.filled(term, lanes))
        bits = b.bitcast(shifted, ir.VectorType(I32, lanes))
        power = b.shl(b.add(bits, _filled(I32, 127, lanes)), _filled(I32, 23, lanes))
        return b.fmul(series, self._as_floats(power))

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """a * b + c of vectors, rounded once."""
        name = f"llvm.fma.v{a.type.count}f32"
        function = self._module.globals.get(name)
        if function is None:
            function = ir.Function(self._module, ir.FunctionType(a.type, [a.type] * 3), name)
        return self.b.call(function, [a, b, c])

    def sqrt(self, value: Any) -> Any:
        return self.b.call(self._module.declare_intrinsic("llvm.sqrt", [F32]), [value])

    def _as_floats(self, bits: Any) -> Any:
        return self.b.bitcast(bits, ir.VectorType(F32, bits.type.count))

    @cached_property
    def zero(self) -> Any:
        return ir.Constant(F32, 0.0)


def _filled(type_: Any, value: Any, lanes: int) -> Any:
    return ir.Constant(ir.VectorType(type_, lanes), [value] * lanes)


def _align(type_: Any) -> int:
    """Tensors of others may begin anywhere: vectors are aligned as their numbers are."""
    element = getattr(type_, "element", type_)
    return 4 if isinstance(element, ir.FloatType) else element.width // 8
