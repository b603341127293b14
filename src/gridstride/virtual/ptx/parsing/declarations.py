"""Variables and parameters: `.global .align 4 .b8 name[4][2] = {…}` and what a signature declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from gridstride.virtual.ptx.module import Immediate, Operand, Symbol, Variable
from gridstride.virtual.ptx.parsing.cursor import Cursor
from gridstride.virtual.ptx.parsing.expressions import integer
from gridstride.virtual.ptx.parsing.initializers import Initializer
from gridstride.virtual.ptx.syntax_errors import nearest, shown
from gridstride.virtual.ptx.types import DECLARABLE, TYPES

SPACES = frozenset([".global", ".const", ".shared", ".local", ".param", ".tex"])
_POINTED = frozenset([".const", ".global", ".local", ".shared", ".param"])
_VECTORS = {".v2": 2, ".v4": 4, ".v8": 8}
MAX_SIZE = 1 << 48  # bytes of one variable: past every GPU's memory
MAX_ALIGN = 1 << 23
MAX_RANGE = 1 << 12  # names in one `x<n>`
_WEIGHT = 32  # of a variable, where a register counts 1, in what `Cursor.spend` counts


@dataclass(slots=True)
class Spec:
    """What stands between the state space and the name."""

    space: str
    linkage: str = ""
    type: str = ""
    align: int | None = None
    vector: int = 1
    attributes: list[str] = field(default_factory=list)
    pointer: bool = False
    pointer_space: str | None = None
    pointer_align: int | None = None
    bank: int | None = None


def read_spec(cursor: Cursor, space: str, linkage: str = "") -> Spec:
    """Read type, alignment, vector width, attributes and `.ptr`, after the state space."""
    spec = Spec(space.lstrip("."), linkage)
    if cursor.accept("["):
        spec.bank = cursor.count("constant bank", most=10)
        cursor.expect("]")
    while cursor.token.startswith("."):
        _spec_part(cursor, spec)
    if spec.space == "tex":  # the old form of a texture: `.tex .u32 name`
        spec.space, spec.type = "global", "texref"
    if not spec.type:
        raise cursor.error(f"expected a type such as .b32, found {shown(cursor.token)}")
    return spec


def _spec_part(cursor: Cursor, spec: Spec) -> None:
    token = cursor.token
    if token[1:] in DECLARABLE:
        if spec.type:
            raise cursor.error(f"second type {shown(token)} after .{spec.type}")
        spec.type = token[1:]
        cursor.pos += 1
    elif token in _VECTORS:
        spec.vector = _VECTORS[cursor.take()]
    elif token == ".align":
        spec.align = _alignment(cursor)
    elif token == ".ptr":
        _pointer(cursor, spec)
    elif token == ".attribute":
        cursor.pos += 1
        spec.attributes += _attributes(cursor)
    else:
        expected = (*(f".{name}" for name in DECLARABLE), ".align", ".ptr", ".attribute", *_VECTORS)
        raise cursor.error(f"{shown(token)} is no type or attribute of a variable{nearest(token, expected)}")


def _alignment(cursor: Cursor) -> int:
    cursor.pos += 1
    align = cursor.count("alignment", least=1, most=MAX_ALIGN)
    if align & (align - 1):
        raise cursor.error(f"the alignment is {align}, not a power of two", cursor.pos - 1)
    return align


def _pointer(cursor: Cursor, spec: Spec) -> None:
    cursor.pos += 1
    spec.pointer = True
    if cursor.token in _POINTED:
        spec.pointer_space = cursor.take()[1:]
    if cursor.token == ".align":
        spec.pointer_align = _alignment(cursor)


def _attributes(cursor: Cursor) -> Iterator[str]:
    """Read `(.managed, .unified(uuid, uuid))`."""
    cursor.expect("(", "after .attribute")
    while True:
        token = cursor.take()
        if token not in (".managed", ".unified"):
            raise cursor.error(f"unknown attribute {shown(token)}: .managed or .unified", cursor.pos - 1)
        yield token[1:] + (_uuid(cursor) if cursor.token == "(" else "")
        if not cursor.accept(","):
            break
    cursor.expect(")")


def _uuid(cursor: Cursor) -> str:
    cursor.expect("(")
    parts = [str(cursor.count("half of a UUID", most=2**64 - 1))]
    while cursor.accept(","):
        parts.append(str(cursor.count("half of a UUID", most=2**64 - 1)))
    cursor.expect(")")
    return f"({', '.join(parts)})"


def read_declarators(
    cursor: Cursor, spec: Spec, visible: Mapping[str, Operand], declare: Callable[[Variable, int], None]
) -> None:
    """Read `name[n] = …, name…;` and hand each variable, with its token index, to `declare`."""
    while True:
        at = cursor.pos
        for name in names_of(cursor, "variable"):
            declare(read_variable(cursor, spec, name, visible, at), at)
        if not cursor.accept(","):
            break
    cursor.expect(";", "after a declaration")


def names_of(cursor: Cursor, what: str, *, most: int = MAX_RANGE) -> list[str]:
    """Read `name` or the range `name<count>`; its names."""
    name, at = cursor.identifier(what), cursor.pos
    if not cursor.accept("<"):
        return [name]
    count = cursor.count(f"number of {what}s", most=most)
    cursor.expect(">", f"after the number of {what}s")
    cursor.spend(count * (_WEIGHT if most == MAX_RANGE else 1), f"{what}s", at)
    return [f"{name}{index}" for index in range(count)]


def read_variable(cursor: Cursor, spec: Spec, name: str, visible: Mapping[str, Operand], at: int) -> Variable:
    """Read the dimensions and the initializer of a variable whose name is taken."""
    shape = _dimensions(cursor)
    initializer: tuple[Immediate | Symbol, ...] | None = None
    attributes = list(spec.attributes)
    if cursor.accept("="):
        reader = Initializer(cursor, visible)
        if TYPES[spec.type].kind == "opaque":
            attributes += reader.properties()
        else:
            initializer = reader.values(shape, spec.vector)
    count = _count(shape, spec.vector, initializer)
    info = TYPES[spec.type]
    size = info.size * spec.vector * (1 if count is None else count)
    if size > MAX_SIZE:
        raise cursor.error(f"variable {shown(name)} has {size} bytes, more than the limit of {MAX_SIZE}", at)
    return Variable(
        name=name,
        space=spec.space,
        type=spec.type,
        align=spec.align or info.align * spec.vector,
        count=count,
        size=size,
        initializer=initializer,
        external=spec.linkage == "extern",
        linkage=spec.linkage,
        vector=spec.vector,
        shape=shape,
        attributes=tuple(attributes),
        pointer=spec.pointer,
        pointer_space=spec.pointer_space,
        pointer_align=spec.pointer_align,
        bank=spec.bank,
        line=cursor.tokens.line(at),
    )


def _dimensions(cursor: Cursor) -> tuple[int, ...]:
    """Read `[4][2]`; an empty `[]` counts 0."""
    shape: list[int] = []
    while cursor.token == "[":
        if len(shape) >= 16:
            raise cursor.error("more than 16 dimensions")
        cursor.pos += 1
        shape.append(0 if cursor.token == "]" else _extent(cursor))
        cursor.expect("]", "after a dimension")
    return tuple(shape)


def _extent(cursor: Cursor) -> int:
    at = cursor.pos
    value = integer(cursor, "array size")
    if not 0 <= value <= MAX_SIZE:
        raise cursor.error(f"the array size is {value}, outside 0 to {MAX_SIZE}", at)
    return value


def _count(shape: tuple[int, ...], vector: int, initializer: tuple[Immediate | Symbol, ...] | None) -> int | None:
    if not shape:
        return None
    count = 1
    for extent in shape[1:]:
        count *= extent
    if shape[0] == 0 and initializer is not None:
        return -(-len(initializer) // max(1, count * vector)) * count
    return count * shape[0]
