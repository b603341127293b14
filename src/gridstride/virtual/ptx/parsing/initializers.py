"""Initial values: nested braces, addresses, `generic(name)+4`, `0xFF00(name)`, and the bytes that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gridstride.virtual.ptx.constants import encode
from gridstride.virtual.ptx.module import Immediate, Operand, Symbol, Variable
from gridstride.virtual.ptx.parsing.cursor import Cursor, is_identifier, literal
from gridstride.virtual.ptx.parsing.expressions import continued, immediate
from gridstride.virtual.ptx.syntax_errors import nearest, shown
from gridstride.virtual.ptx.types import TYPES

_ZERO = Immediate("int", 0)


class Initializer:
    """Reads what stands after `=`. `visible` gives the variables and functions whose addresses may be taken."""

    def __init__(self, cursor: Cursor, visible: Mapping[str, Operand]) -> None:
        self.cursor = cursor
        self.visible = visible

    def values(self, shape: tuple[int, ...], vector: int) -> tuple[Immediate | Symbol, ...]:
        """The elements in memory order for an array of this shape; those after the last one given are zero."""
        dims = [*shape, vector] if vector > 1 else list(shape)
        if self.cursor.token != "{":
            if dims:
                raise self.cursor.error("expected '{': the initializer of an array stands in braces")
            return (self._element(),)
        at = self.cursor.pos
        values: list[Immediate | Symbol] = []
        self._row(dims or [1], values)
        room = 1
        for extent in dims:
            room *= extent
        if len(values) > room and (not dims or dims[0]):
            raise self.cursor.error(f"{len(values)} initial values for {room} elements", at)
        return tuple(values)

    def _row(self, dims: list[int], values: list[Immediate | Symbol]) -> None:
        cursor = self.cursor
        cursor.expect("{")
        stride = 1
        for extent in dims[1:]:
            stride *= extent
        start = len(values)
        while not cursor.accept("}"):
            if cursor.token == "{":
                self._nested(dims, values, stride, start)
            else:
                self._run(values)
            if not cursor.accept(","):
                cursor.expect("}", "or ',' in an initializer")
                break

    def _nested(self, dims: list[int], values: list[Immediate | Symbol], stride: int, start: int) -> None:
        if len(dims) < 2:
            raise self.cursor.error("braces nested deeper than the array has dimensions")
        at = self.cursor.pos
        self._pad(values, start + -(-(len(values) - start) // max(1, stride)) * stride, at)
        begin = len(values)
        self._row(dims[1:], values)
        if len(values) - begin > stride:
            raise self.cursor.error(f"{len(values) - begin} initial values for a row of {stride} elements", at)
        if self.cursor.token == ",":
            self._pad(values, begin + stride, at)

    def _pad(self, values: list[Immediate | Symbol], length: int, at: int) -> None:
        self.cursor.spend(length - len(values), "zeros between rows", at)
        values += [_ZERO] * (length - len(values))

    def _run(self, values: list[Immediate | Symbol]) -> None:
        """Read values up to a brace. Tables run to millions of plain integers, so those take the short way."""
        cursor = self.cursor
        texts = cursor.texts
        while True:
            token = texts[cursor.pos]
            following = texts[cursor.pos + 1] if token else ""
            value = literal(token) if following in (",", "}") else None
            if value is not None and value < 2**64:
                values.append(Immediate("int", value))
                cursor.pos += 1
            else:
                values.append(self._element())
            if texts[cursor.pos] != "," or texts[cursor.pos + 1] in ("{", "}"):
                return
            cursor.pos += 1

    def _element(self) -> Immediate | Symbol:
        cursor = self.cursor
        mask = literal(cursor.token)
        if mask is not None and cursor.texts[cursor.pos + 1] == "(":
            return self._masked(mask)
        return self._address() if is_identifier(cursor.token) and cursor.token != "WARP_SZ" else immediate(cursor)

    def _masked(self, mask: int) -> Immediate | Symbol:
        """`0xFF00(name+4)`: the bits of a value under a mask, moved down."""
        cursor = self.cursor
        if not 0 < mask < 2**64:
            raise cursor.error(f"the mask is {shown(cursor.token)}: give a byte mask such as 0xFF00")
        cursor.pos += 2
        inner = self._element()
        cursor.expect(")", "after mask(…")
        if isinstance(inner, Symbol):
            if inner.mask is not None:
                raise cursor.error("a mask inside a mask", cursor.pos - 1)
            return Symbol(inner.name, inner.offset, inner.generic, mask)
        return Immediate("int", masked(inner.bits, mask))

    def _address(self) -> Symbol:
        cursor = self.cursor
        generic = cursor.token == "generic" and cursor.texts[cursor.pos + 1] == "("
        if generic:
            cursor.pos += 2
        at = cursor.pos
        name = cursor.identifier("variable")
        operand = self.visible.get(name)
        if not isinstance(operand, Symbol):
            raise cursor.error(f"undefined name {shown(name)}{nearest(name, self.visible)}", at)
        if generic:
            cursor.expect(")", "after generic(…")
        kind, offset = continued(cursor, ("s", 0))
        if kind == "f":
            raise cursor.error("the offset of an address must be an integer", at)
        return Symbol(operand.name, int(offset), generic)

    def properties(self) -> Iterator[str]:
        """Read `{ name = value, … }` of a sampler or texture, as `name=value`."""
        cursor = self.cursor
        cursor.expect("{", "of a sampler, texture or surface")
        while not cursor.accept("}"):
            name = cursor.identifier("property")
            cursor.expect("=", "after a property")
            yield f"{name}={cursor.take()}"
            if not cursor.accept(","):
                cursor.expect("}")
                return


def masked(value: int, mask: int) -> int:
    """The bits of `value` under `mask`, moved down to the mask's lowest set bit."""
    return (value & mask) >> ((mask & -mask).bit_length() - 1)


def image(variable: Variable, resolve: Callable[[Symbol], int]) -> bytes:
    """The initial bytes of a variable, `variable.size` of them.

    `resolve` gives the address of a symbol, with its offset and `generic` heeded; its mask is applied here.
    """
    size = TYPES[variable.type].size
    data = bytearray()
    for value in variable.initializer or ():
        if isinstance(value, Symbol):
            address = resolve(value)
            bits = address if value.mask is None else masked(address, value.mask)
        else:
            bits = encode(value, variable.type)
        data += (bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return bytes(data.ljust(variable.size, b"\0"))
