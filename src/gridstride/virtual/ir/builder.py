"""LLVM IR as text: a builder for straight code, and structured flow for the runtime.

Values have the operators of unsigned integers (values.py), records have attributes (records.py); whatever is signed or
a float says so: `b.op("ashr", a, n)`, `b.compare("olt", x, y)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.layout import SIZES, Layout
from gridstride.virtual.abi.layout_table import LAYOUTS
from gridstride.virtual.ir.records import Record
from gridstride.virtual.ir.values import (
    BITS,
    NULL,
    Value,
    bits,
    constant,
    count,
    element,
    known,
    like,
    literal,
    suffix,
    vector_constant,
    wide,
)

__all__ = [
    "ATTRIBUTES", "BITS", "NULL", "Builder", "IrModule", "Record", "Value", "bits", "constant", "count", "element",
    "known", "lanes_of", "like", "literal", "suffix", "vector_constant", "wide",
]  # fmt: skip
"""What writes IR, the parts of values.py and records.py that do included."""

ATTRIBUTES = (
    'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" "frame-pointer"="none" }\n'
    'attributes #1 = { nounwind cold noinline "prefer-vector-width"="512" "min-legal-vector-width"="512" }\n'
    'attributes #2 = { nounwind alwaysinline "prefer-vector-width"="512" "min-legal-vector-width"="512" '
    '"frame-pointer"="none" }\n'
    '!0 = !{!"branch_weights", i32 4096, i32 1}\n'
)
"""Function attributes every module ends with: #0 hot code, #1 slow paths, #2 hot code that many places share;
!0 marks a branch as taken.
"""


class Builder:
    """Writes one function's instructions; names are `%vN`, blocks are labels."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.declared: set[str] = set()
        self.label = "entry"
        self.terminated = False
        self._next = 0

    # -- names, blocks ------------------------------------------------------------------------------------------------
    def fresh(self, type_: str) -> Value:
        self._next += 1
        return Value(f"%v{self._next}", type_, self)

    def new_label(self, hint: str = "b") -> str:
        self._next += 1
        return f"{hint}{self._next}"

    def emit(self, text: str) -> None:
        self.lines.append("  " + text)

    def define(self, type_: str, text: str) -> Value:
        self._next += 1
        name = f"%v{self._next}"
        self.lines.append(f"  {name} = {text}")
        return Value(name, type_, self)

    def start(self, label: str) -> None:
        """Begins a block, falling into it from an unterminated one."""
        if not self.terminated:
            self.emit(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.label, self.terminated = label, False

    def jump(self, label: str) -> None:
        self.emit(f"br label %{label}")
        self.terminated = True

    def branch(self, condition: Value, if_true: str, if_false: str, *, likely: bool = False) -> None:
        self.emit(f"br i1 {condition.name}, label %{if_true}, label %{if_false}" + (", !prof !0" if likely else ""))
        self.terminated = True

    def alloca(self, type_: str, *, align: int = 0) -> Value:
        """A stack slot, made at the function's entry whatever block is current."""
        self._next += 1
        name = f"%a{self._next}"
        self.entry.append(f"  {name} = alloca {type_}" + (f", align {align}" if align else ""))
        return Value(name, "ptr", self)

    def constant(self, type_: str, value: int | float | bool) -> Value:
        """A constant that has operators even where both operands are constants, as a parameter's value may be."""
        return Value(constant(type_, value).name, type_, self)

    # -- straight code ------------------------------------------------------------------------------------------------
    def op(self, name: str, a: Value, b: Value) -> Value:
        return self.define(a.type, f"{name} {a.type} {a.name}, {b.name}")

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        kind = "fcmp" if element(a.type) in ("float", "double", "half", "bfloat") else "icmp"
        return self.define(like("i1", a.type), f"{kind} {predicate} {a.type} {a.name}, {b.name}")

    def cast(self, name: str, value: Value, type_: str) -> Value:
        """A cast to scalar type `type_`, kept as wide as the value; no instruction when nothing changes."""
        target = like(type_, value.type)
        return value if target == value.type else self.define(target, f"{name} {value.type} {value.name} to {target}")

    def bitcast(self, value: Value, type_: str) -> Value:
        return value if value.type == type_ else self.define(type_, f"bitcast {value.type} {value.name} to {type_}")

    def resize(self, value: Value, type_: str, *, signed: bool = False) -> Value:
        """Truncates or extends an integer to scalar type `type_`."""
        have, want = bits(value.type), BITS[type_]
        if have == want:
            return value
        number = known(value)
        if number is not None:
            if want > have and not signed:
                number &= (1 << have) - 1
            return self.constant(like(type_, value.type), number)
        return self.cast("trunc" if want < have else "sext" if signed else "zext", value, type_)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self.define(a.type, f"select {condition!r}, {a!r}, {b!r}")

    def call(self, type_: str, name: str, *args: Value) -> Value:
        """A call; the callee is declared on first use."""
        if name not in self.declared:
            self.declared.add(name)
        text = f"call {type_} @{name}({', '.join(map(repr, args))})"
        self.signatures[name] = f"declare {type_} @{name}({', '.join(a.type for a in args)})"
        if type_ == "void":
            self.emit(text)
            return Value("", "void")
        return self.define(type_, text)

    signatures: dict[str, str]

    def intrinsic(self, name: str, *args: Value, result: str = "") -> Value:
        """An overloaded LLVM intrinsic on the first argument's type: `llvm.NAME.vNiM`."""
        return self.call(result or args[0].type, f"llvm.{name}.{suffix(args[0].type)}", *args)

    def splat(self, value: Value, lanes: int = LANES) -> Value:
        if value.wide:
            return value
        target = f"<{lanes} x {value.type}>"
        if value.name[0] != "%":
            return Value(f"splat ({value.type} {value.name})", target)
        first = self.define(target, f"insertelement {target} poison, {value!r}, i64 0")
        return self.define(
            target, f"shufflevector {target} {first.name}, {target} poison, <{lanes} x i32> zeroinitializer"
        )

    def shuffle(self, a: Value, indices: Sequence[int], b: Value | None = None) -> Value:
        mask = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in indices)
        second = b.name if b is not None else "poison"
        text = f"shufflevector {a!r}, {a.type} {second}, <{len(indices)} x i32> <{mask}>"
        return self.define(f"<{len(indices)} x {element(a.type)}>", text)

    def extract(self, vector: Value, index: Value | int) -> Value:
        where = f"i64 {index}" if isinstance(index, int) else repr(index)
        return self.define(element(vector.type), f"extractelement {vector!r}, {where}")

    def insert(self, vector: Value, value: Value, index: Value | int) -> Value:
        where = f"i64 {index}" if isinstance(index, int) else repr(index)
        return self.define(vector.type, f"insertelement {vector!r}, {value!r}, {where}")

    # -- memory -------------------------------------------------------------------------------------------------------
    def load(self, type_: str, pointer: Value, *, align: int = 0, volatile: bool = False) -> Value:
        word = "load volatile" if volatile else "load"
        return self.define(type_, f"{word} {type_}, ptr {pointer.name}" + (f", align {align}" if align else ""))

    def store(self, value: Value, pointer: Value, *, align: int = 0, volatile: bool = False) -> None:
        word = "store volatile" if volatile else "store"
        self.emit(f"{word} {value!r}, ptr {pointer.name}" + (f", align {align}" if align else ""))

    def offset(self, pointer: Value, by: Value | int) -> Value:
        """`pointer` moved by bytes."""
        if isinstance(by, int) and by == 0:
            return pointer
        where = f"i64 {by}" if isinstance(by, int) else repr(by)
        return self.define("ptr", f"getelementptr i8, ptr {pointer.name}, {where}")

    def pointer(self, address: Value) -> Value:
        """An integer address as a pointer (never `getelementptr` from null, which is optimised away)."""
        return self.define("ptr", f"inttoptr i64 {address.name} to ptr")

    def field(self, base: Value, layout: Layout, name: str, index: int = 0) -> Value:
        return self.offset(base, layout.offset[name] + SIZES[layout.type[name]] * index)

    def get(self, base: Value, layout: Layout, name: str, index: int = 0, *, volatile: bool = False) -> Value:
        return self.load(layout.type[name], self.field(base, layout, name, index), volatile=volatile)

    def put(self, base: Value, layout: Layout, name: str, value: Value | int, index: int = 0) -> None:
        if isinstance(value, int):
            value = constant(layout.type[name], value) if layout.type[name] != "ptr" else NULL
        self.store(value, self.field(base, layout, name, index))

    def record(self, pointer: Value, layout: Layout) -> Record:
        """A pointer to a struct, with the fields of its layout as attributes."""
        return Record(pointer, layout, self)

    # -- structured flow ----------------------------------------------------------------------------------------------
    @contextmanager
    def if_(self, condition: Value, *, likely: bool = False) -> Iterator[None]:
        then_label, end = self.new_label("then"), self.new_label("end")
        self.branch(condition, then_label, end, likely=likely)
        self.start(then_label)
        yield
        self.start(end)

    @contextmanager
    def loop(self) -> Iterator[str]:
        """Repeats its body for ever; `break_if(condition, label)` with the label given leaves it."""
        head, end = self.new_label("loop"), self.new_label("done")
        self.start(head)
        yield end
        self.jump(head)
        self.start(end)

    def break_if(self, condition: Value, label: str) -> None:
        stay = self.new_label("stay")
        self.branch(condition, label, stay)
        self.start(stay)

    @contextmanager
    def lanes(self, mask: Value) -> Iterator[Value]:
        """Runs its body once for each set bit of an i32 mask, lowest first, with the lane's number (i32)."""
        remaining = self.alloca("i32")
        self.store(mask, remaining)
        with self.loop() as end:
            now = self.load("i32", remaining)
            self.break_if(now == 0, end)
            lane = self.call("i32", "llvm.cttz.i32", now, constant("i1", True))
            self.store(now & (now - 1), remaining)
            yield lane

    def ret(self, value: Value | None = None) -> None:
        self.emit("ret void" if value is None else f"ret {value!r}")
        self.terminated = True

    def unreachable(self) -> None:
        self.emit("unreachable")
        self.terminated = True


class IrModule:
    """Functions and declarations that make one LLVM module."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.defined: set[str] = set()
        self.internal: set[str] = set()
        """Of those, the ones that the linker does not see."""
        self.sizes: dict[str, int] = {}
        """Of those, the lines of the ones that optimised code has inlined."""
        self.lines_inlined = 0
        self.results: dict[str, str] = {}
        """Of those, what the ones give that compute something."""
        self.signatures: dict[str, str] = {}
        self.preamble: list[str] = []

    def builder(self) -> Builder:
        builder = Builder()
        builder.signatures = self.signatures
        return builder

    def shared(self, name: str, compute: Callable[..., Value], types: Sequence[str]) -> tuple[str, str]:
        """Name and result of a function that gives `compute` of values of these types, written where it is new."""
        name = ".".join((name, *map(suffix, types)))
        if name not in self.results:
            b = self.builder()
            parameters = [Value(f"%x{n}", type_, b) for n, type_ in enumerate(types)]
            result = compute(b, *parameters)
            b.ret(result)
            self.results[name] = result.type
            self.add(name, f"{result.type} @{name}({', '.join(map(repr, parameters))})", b, internal=True)
        return name, self.results[name]

    def add(
        self, name: str, signature: str, builder: Builder, *, cold: bool = False, internal: bool = False
    ) -> None:  # fmt: skip
        """Adds `define SIGNATURE` with the builder's body; `signature` is e.g. `void @f(ptr %w)`.

        `internal`: the linker does not see it, and where it is not cold either, optimised code has it inlined.
        """
        self.defined.add(name)
        body = "\n".join(["entry:", *builder.entry, *builder.lines])
        if internal:
            self.internal.add(name)
            signature = f"internal {signature}"
            if not cold:
                self.sizes[name] = body.count("\n")
        attributes = 1 if cold else 2 if internal else 0
        self.functions.append(f"define {signature} #{attributes} {{\n{body}\n}}\n")

    @contextmanager
    def function(
        self, result: str, name: str, *params: str, cold: bool = False, internal: bool = False
    ) -> Iterator[tuple[Builder, list[Any]]]:
        """A function written in the `with` body; parameters are `type name` words, `warp* warp` for a record."""
        builder = self.builder()
        values = [_parameter(builder, *p.rsplit(" ", 1)) for p in params]
        # The body starts in its own block so that `entry` holds nothing but stack slots.
        builder.terminated = True
        builder.lines.append("  br label %body")
        builder.start("body")
        yield builder, values
        if not builder.terminated:
            builder.ret()
        self.add(name, f"{result} @{name}({', '.join(map(repr, values))})", builder, cold=cold, internal=internal)

    def inlined(self, name: str) -> None:
        """Counts a call of such a function."""
        self.lines_inlined += self.sizes[name]

    def text(self) -> str:
        declared = [text for name, text in self.signatures.items() if name not in self.defined]
        return "\n".join([*self.preamble, *declared, *self.functions, ATTRIBUTES])


def lanes_of(value: Value) -> int:
    """1 for a scalar, else the number of lanes."""
    return LANES if value.wide else 1


def _parameter(builder: Builder, type_: str, name: str) -> Value:
    """A record where the type is a layout's name and a star."""
    if type_[-1] != "*":
        return Value(f"%{name}", type_, builder)
    return Record(Value(f"%{name}", "ptr"), LAYOUTS[type_[:-1]], builder)
