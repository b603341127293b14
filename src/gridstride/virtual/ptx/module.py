"""The typed form of a PTX module: what the parser makes and everything below reads. All names are resolved."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from gridstride.virtual.ptx.types import TYPES, Type


@dataclass(frozen=True, slots=True)
class Register:
    """A scalar register, by its key in `Function.registers`.

    A vector register `.reg .v4 .f32 V` is four scalar ones, `V.x` to `V.w`, and the operand `V` a `Vector` of them.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant. `kind` "int": `bits` is the value, negative where written so, in [-2^63, 2^64).

    "f32" and "f64": `bits` is the IEEE pattern. A decimal float is an "f64", whatever the instruction's type.
    """

    kind: str
    bits: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, parameter or function; `generic(name)+offset` in initializers sets `generic`.

    `mask` (initializers, `0xFF00(name)`): the element is (address & mask) shifted down to the mask's lowest set bit.
    """

    name: str
    offset: int = 0
    generic: bool = False
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """A bracketed operand `[base+offset]`, offset in bytes. The base `Symbol` has offset 0."""

    base: Register | Symbol | Immediate
    offset: int = 0


@dataclass(frozen=True, slots=True)
class TensorAddress:
    """`[base, {coordinates}]` or `[base, sampler, {coordinates}]`: textures, surfaces, tensor maps."""

    base: Register | Symbol | Immediate
    coordinates: tuple[Operand, ...]
    sampler: Register | Symbol | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, …}`: the operands of a vector or matrix instruction, or a whole vector register."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class LabelRef:
    """A label of the same function, as a branch target or the name of a target list or prototype."""

    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """A special register without its %: `%tid.x` is ("tid", "x"), `%clock64` ("clock64", None)."""

    name: str
    component: str | None = None


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a destination that is thrown away."""


@dataclass(frozen=True, slots=True)
class Negated:
    """`!%p` as an operand."""

    register: Register


@dataclass(frozen=True, slots=True)
class DestinationPair:
    """`a|b`: two destinations, as in `shfl.sync.idx.b32 %r|%p` or `setp.lt.and.s32 %p|%q`. Either may be a `Sink`.

    The first of a `tex` with residency is a `Vector`.
    """

    destination: Register | Sink | Vector
    predicate: Register | Sink


@dataclass(frozen=True, slots=True)
class Selected:
    """A register with a byte or half-word selector, `%r1.b0`, `%r2.h1`, `%r3.b3210`: the video instructions.

    `-%r1` (vmad) sets `negated`, with selector "" where none is given.
    """

    register: Register
    selector: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Arguments:
    """A parenthesised list of a call. A `call` always has the operands (Arguments returned, target, Arguments passed),
    and for an indirect one a LabelRef to the prototype or target list as the fourth. The items are `Symbol`s of .param
    variables, `Register`s, `Immediate`s, or `Sink`.
    """

    items: tuple[Operand, ...]


Operand: TypeAlias = (
    Register
    | Immediate
    | Symbol
    | Address
    | TensorAddress
    | Vector
    | LabelRef
    | Special
    | Sink
    | Negated
    | DestinationPair
    | Selected
    | Arguments
)


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where an instruction comes from: file (key of `PtxModule.files`), line and column, all counted from 1.

    `inlined_at` is the call site that this code was inlined into, `function` the inlined function where it is known.
    """

    file: int
    line: int
    column: int
    inlined_at: SourceLocation | None = None
    function: str | None = None

    @property
    def chain(self) -> tuple[SourceLocation, ...]:
        """This location and the call sites it was inlined through, innermost first."""
        locations: list[SourceLocation] = []
        at: SourceLocation | None = self
        while at is not None:
            locations.append(at)
            at = at.inlined_at
        return tuple(locations)

    @property
    def outermost(self) -> SourceLocation:
        """The location in the function that is not inlined."""
        return self.chain[-1]


@dataclass(frozen=True, slots=True)
class Guard:
    """`@%p` or `@!%p`."""

    register: Register
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """A place in a body; unique within its function."""

    name: str


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `ld.global.L1::no_allocate.v4.f32` is opcode "ld", modifiers ("global", "L1::no_allocate", …).

    `ptx_line` counts from 1. `loc` is None where the PTX has no line information.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    ptx_line: int
    loc: SourceLocation | None

    @property
    def name(self) -> str:
        """Opcode and modifiers as written."""
        return ".".join((self.opcode, *self.modifiers))

    @property
    def types(self) -> tuple[str, ...]:
        """The modifiers that are types, in order: ("f32", "s32") for `cvt.rn.f32.s32`."""
        return _types_among(self.modifiers)

    @property
    def type(self) -> str:
        """The last of the types, which is the only one of most instructions."""
        return self.types[-1]

    @property
    def vector(self) -> int:
        """1, or the width that .v2, .v4 or .v8 gives."""
        for modifier in self.modifiers:
            if modifier in _VECTORS:
                return _VECTORS[modifier]
        return 1


_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


@functools.lru_cache(4096)
def _types_among(modifiers: tuple[str, ...]) -> tuple[str, ...]:
    """A kernel has thousands of instructions and hardly a hundred different names."""
    return tuple(modifier for modifier in modifiers if modifier in TYPES)


Statement: TypeAlias = Label | Instruction


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or parameter. `space`: global, const, shared, local, param or reg (a register parameter of a .func).

    `count` is the number of elements (None for a scalar, 0 for an unsized `[]`), of `vector` values of `type` each;
    `size` is in bytes, 0 for unsized. `initializer`: `Immediate`s and `Symbol`s, nested braces flattened; elements past
    its end are zero. `linkage`: "", visible, extern, weak or common. `.ptr` parameters have `pointer`, and
    `pointer_space` and `pointer_align` where given.
    """

    name: str
    space: str
    type: str
    align: int
    count: int | None
    size: int
    initializer: tuple[Immediate | Symbol, ...] | None = None
    external: bool = False
    linkage: str = ""
    vector: int = 1
    shape: tuple[int, ...] = ()
    attributes: tuple[str, ...] = ()
    pointer: bool = False
    pointer_space: str | None = None
    pointer_align: int | None = None
    bank: int | None = None
    line: int = 0

    @property
    def info(self) -> Type:
        """The entry of the type table for one element."""
        return TYPES[self.type]


@dataclass(frozen=True, slots=True)
class Prototype:
    """The signature of a callee: `.callprototype`."""

    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    noreturn: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """An entry or device function. Registers and variables of nested scopes are renamed (`name~2`) where they clash.

    `directives`: maxntid, reqntid, minnctapersm, maxnreg, maxclusterrank, reqnctapercluster, …; flags have ().
    `branch_targets`: label of a .branchtargets list -> labels; `call_targets`: label -> functions.
    `defined` is False for a declaration, whose body is empty; `external` is True where it said `.extern`.
    `variables` holds the scoped shared, local, const, global and (call) param variables; `params` are not among them.
    """

    name: str
    kind: str
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    registers: Mapping[str, str]
    variables: Mapping[str, Variable]
    body: tuple[Statement, ...]
    directives: Mapping[str, tuple[int, ...]]
    external: bool = False
    defined: bool = True
    linkage: str = ""
    noreturn: bool = False
    branch_targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    call_targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: Mapping[str, Prototype] = field(default_factory=dict)
    pragmas: tuple[str, ...] = ()
    line: int = 0

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The body without its labels."""
        return tuple(statement for statement in self.body if isinstance(statement, Instruction))


@dataclass(frozen=True, slots=True)
class PtxModule:
    """A parsed PTX text. `functions` includes declarations; `aliases` maps an alias to the function it stands for.

    `strings` holds the debug strings by label, as `.loc … function_name` uses them; `generator` is the compiler that
    the text names in its first lines, if any.
    """

    version: tuple[int, int]
    target: str
    address_size: int
    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]
    files: Mapping[int, str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    target_options: tuple[str, ...] = ()
    pragmas: tuple[str, ...] = ()
    strings: Mapping[str, str] = field(default_factory=dict)
    filename: str = "<ptx>"
    generator: str = ""

    @property
    def entries(self) -> tuple[Function, ...]:
        """The kernels, in order of definition."""
        return tuple(f for f in self.functions.values() if f.kind == "entry" and f.defined)
