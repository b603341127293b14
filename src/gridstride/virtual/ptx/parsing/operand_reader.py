"""Operands of every form: registers, constants, addresses, vectors, pairs, selectors, texture and tensor addresses."""

from __future__ import annotations

import re
from dataclasses import replace

from gridstride.virtual.ptx.module import (
    Address,
    DestinationPair,
    Immediate,
    Negated,
    Operand,
    Register,
    Selected,
    Sink,
    Symbol,
    TensorAddress,
    Vector,
)
from gridstride.virtual.ptx.parsing.cursor import Cursor, is_identifier
from gridstride.virtual.ptx.parsing.expressions import continued, immediate, integer
from gridstride.virtual.ptx.parsing.names import SPECIALS, Names
from gridstride.virtual.ptx.syntax_errors import shown

ENDS = (",", ";")
MAX_ITEMS = 4096  # operands in one list; the widest instructions (tcgen05.ld) have 128, calls a few thousand
_SINK = Sink()
_SELECTOR = re.compile(r"[bh][0-7]{1,4}")
_NAME_START = frozenset("%$_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class OperandReader:
    """Reads one operand at a time from the cursor. Constants that repeat share one object."""

    def __init__(self, cursor: Cursor, names: Names) -> None:
        self.cursor = cursor
        self.names = names
        self._constants: dict[str, Immediate] = {}

    def operand(self) -> Operand:
        """Read one operand of any form."""
        cursor = self.cursor
        token, at = cursor.token, cursor.pos
        head = token[:1]
        if head == "[":
            return self._address()
        if head == "{":
            return self._or_pair(self._vector(), at)
        if head == "-" and cursor.texts[at + 1][:1] in _NAME_START and cursor.texts[at + 1] != "WARP_SZ":
            return self._minus()
        if head.isdigit() or head in ("-", "+", "~", "(", "."):
            return self._constant(token)
        if token == "_":
            cursor.pos += 1
            return self._or_pair(_SINK, at)
        if token == "!":
            return self._negated()
        if token == "WARP_SZ":
            return immediate(cursor)
        if head in _NAME_START:
            cursor.pos += 1
            return self._after_name(self.named(token, at), at)
        raise cursor.error(f"expected an operand, found {shown(token)}")

    def _constant(self, token: str) -> Immediate:
        cursor = self.cursor
        if cursor.texts[cursor.pos + 1] not in ENDS:
            return immediate(cursor)
        cached = self._constants.get(token)
        if cached is None:
            cached = self._constants[token] = immediate(cursor)
        else:
            cursor.pos += 1
        return cached

    def named(self, token: str, at: int) -> Operand:
        """What a name means here: a register, symbol, special register or selected part of a register."""
        operand = self.names.visible.get(token) or SPECIALS.get(token)
        if operand is not None:
            return operand
        base, _, selector = token.rpartition(".")
        register = self.names.visible.get(base)
        if isinstance(register, Register) and _SELECTOR.fullmatch(selector):
            return Selected(register, selector)
        if isinstance(register, Vector | Register) and base:
            raise self.cursor.error(f"{shown(base)} has no component {shown(selector)}", at)
        if token[:1] not in _NAME_START:
            raise self.cursor.error(f"expected a register or name, found {shown(token)}", at)
        raise self.names.unknown(token, at)

    def _after_name(self, operand: Operand, at: int) -> Operand:
        """What may follow a name: `|` and a second destination, or an offset or index of an address."""
        token = self.cursor.token
        if token == "|":
            return self._or_pair(operand, at)
        if isinstance(operand, Symbol):
            if token in ("+", "-"):
                return Symbol(operand.name, operand.offset + self._offset())
            if token == "[":
                return self._element(operand)
        return operand

    def _or_pair(self, first: Operand, at: int) -> Operand:
        cursor = self.cursor
        if cursor.token != "|":
            return first
        cursor.pos += 1
        start = cursor.pos
        token = cursor.take()
        second = _SINK if token == "_" else self.named(token, start)
        if not isinstance(first, Register | Sink | Vector):
            raise cursor.error("only registers, vectors and '_' can stand before '|'", at)
        if not isinstance(second, Register | Sink):
            raise cursor.error("only a register or '_' can stand after '|'", start)
        return DestinationPair(first, second)

    def _negated(self) -> Operand:
        cursor = self.cursor
        following = cursor.texts[cursor.pos + 1]
        if not (is_identifier(following) or "." in following) or following == "WARP_SZ" or following[:1].isdigit():
            return immediate(cursor)
        cursor.pos += 1
        operand = self.named(cursor.take(), cursor.pos - 1)
        if not isinstance(operand, Register):
            raise cursor.error("'!' negates a predicate register", cursor.pos - 1)
        return Negated(operand)

    def _minus(self) -> Selected:
        """`-%r1.b0`, which vmad has."""
        cursor = self.cursor
        cursor.pos += 1
        at = cursor.pos
        operand = self.named(cursor.take(), at)
        if isinstance(operand, Register):
            return Selected(operand, "", negated=True)
        if isinstance(operand, Selected):
            return replace(operand, negated=True)
        raise cursor.error("'-' needs a number or a register", at)

    def _vector(self) -> Vector:
        cursor = self.cursor
        cursor.pos += 1
        items: list[Operand] = []
        while True:
            if cursor.token in ("{", "["):
                raise cursor.error("a vector cannot hold a vector or an address")
            items.append(self.operand())
            if not cursor.accept(","):
                break
            if len(items) >= MAX_ITEMS:
                raise cursor.error(f"more than {MAX_ITEMS} operands")
        cursor.expect("}", "or ',' in a vector")
        return Vector(tuple(items))

    def _address(self) -> Address | TensorAddress:
        cursor = self.cursor
        cursor.pos += 1
        base, offset = self._base(), 0
        if cursor.token in ("+", "-"):
            offset = self._offset()
        if cursor.token == ",":
            return self._tensor(base, offset)
        cursor.expect("]", "at the end of an address")
        cursor.accept(".unified")
        return Address(base, offset)

    def _base(self) -> Register | Symbol | Immediate:
        cursor = self.cursor
        token, at = cursor.token, cursor.pos
        if token[:1].isdigit() or token in ("-", "+", "(", "~"):
            return Immediate("int", integer(cursor, "address"))
        operand = self.named(token, at)
        if not isinstance(operand, Register | Symbol):
            raise cursor.error(f"{shown(token)} cannot be an address: a register, a variable or a number can", at)
        cursor.pos += 1
        return operand

    def _offset(self) -> int:
        cursor = self.cursor
        texts, pos = cursor.texts, cursor.pos
        digits = texts[pos + 1]
        if texts[pos] == "+" and texts[pos + 2] == "]" and digits.isdecimal() and digits[0] != "0" and len(digits) < 19:
            cursor.pos += 2  # `+16]`, by far the most frequent form
            return int(digits)
        kind, offset = continued(cursor, ("s", 0))
        if kind == "f":
            raise cursor.error("the offset of an address must be an integer", pos)
        return int(offset)

    def _element(self, array: Symbol) -> Address:
        """`name[3]`, the array form of `[name+12]`."""
        cursor = self.cursor
        size = self.names.element_sizes.get(array.name)
        if size is None:
            raise cursor.error(f"{shown(array.name)} is no array")
        cursor.pos += 1
        if not cursor.token[:1].isdigit() and cursor.token not in ("(", "-", "+", "WARP_SZ"):
            raise cursor.error(f"an array index must be a constant: compute the address and write [{array.name}…]")
        index = integer(cursor, "array index")
        cursor.expect("]", "after an array index")
        return Address(array, index * size)

    def _tensor(self, base: Register | Symbol | Immediate, offset: int) -> TensorAddress:
        """`[map, {x, y}]`, `[texture, sampler, {x, y}]`, `[surface, x]`."""
        cursor = self.cursor
        parts: list[Operand] = []
        while cursor.accept(","):
            if len(parts) == 2 or (parts and isinstance(parts[-1], Vector)):
                raise cursor.error("too many parts in an address", cursor.pos - 1)
            if cursor.token == "[":
                raise cursor.error("an address cannot hold an address")
            parts.append(self.operand())
        cursor.expect("]", "at the end of an address")
        last = parts.pop()
        coordinates = last.items if isinstance(last, Vector) else (last,)
        sampler = parts[0] if parts else None
        if not isinstance(sampler, Register | Symbol | None):
            raise cursor.error("the sampler must be a register or a variable", cursor.pos - 1)
        return TensorAddress(base, coordinates, sampler, offset)
