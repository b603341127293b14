"""Instructions: guard, opcode, operands, and the one-off grammar of `call`, checked as far as the grammar can tell."""

from __future__ import annotations

import re
from dataclasses import replace

from gridstride.virtual.ptx.cursor import Cursor, is_identifier
from gridstride.virtual.ptx.errors import nearest, shown
from gridstride.virtual.ptx.expressions import continued, immediate, integer
from gridstride.virtual.ptx.module import (
    Address,
    Arguments,
    Guard,
    Immediate,
    Instruction,
    LabelRef,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Sink,
    SourceLocation,
    Symbol,
    TensorAddress,
    Vector,
)
from gridstride.virtual.ptx.names import SPECIALS, Names
from gridstride.virtual.ptx.opcodes import ARITY

_ENDS = (",", ";")
_SINK = Sink()
_SELECTOR = re.compile(r"[bh][0-7]{1,4}")
_NAME_START = frozenset("%$_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

_VECTOR_ACCESS = frozenset(["ld", "ldu", "st"])
MAX_ITEMS = 4096  # operands in one list; the widest instructions (tcgen05.ld) have 128, calls a few thousand


class InstructionReader:
    """Reads one instruction at a time from the cursor, resolving names as it goes."""

    def __init__(self, cursor: Cursor, names: Names, functions: dict[str, Operand]) -> None:
        self.cursor = cursor
        self.names = names
        self.functions = functions
        self._split: dict[str, tuple[str, tuple[str, ...], tuple[int, int]]] = {}
        self._constants: dict[str, Immediate] = {}
        # Label uses of the instruction being read: (name, token index).
        self.label_uses: list[tuple[str, int]] = []

    def read(self, loc: SourceLocation | None) -> Instruction:
        """Read up to and with the semicolon."""
        cursor = self.cursor
        self.label_uses = []
        line = cursor.line
        guard = self._guard() if cursor.token == "@" else None
        at = cursor.pos
        opcode, modifiers, arity = self._opcode()
        operands = self._call() if opcode == "call" else self._operands(opcode)
        if not arity[0] <= len(operands) <= arity[1] and opcode != "call":
            raise cursor.error(_wrong_count(opcode, len(operands), arity), at)
        if opcode in _VECTOR_ACCESS:
            self._check_width(modifiers, operands, at)
        if opcode == "mov":
            operands = tuple(map(_address_of, operands))
        cursor.pos += 1
        return Instruction(opcode, modifiers, operands, guard, line, loc)

    def _guard(self) -> Guard:
        cursor = self.cursor
        cursor.pos += 1
        negated = cursor.accept("!")
        at = cursor.pos
        operand = self._named(cursor.take(), at)
        if not isinstance(operand, Register) or self.names.registers.get(operand.name) != "pred":
            raise cursor.error(f"the guard {shown(cursor.texts[at])} is not a predicate register", at)
        return Guard(operand, negated)

    def _opcode(self) -> tuple[str, tuple[str, ...], tuple[int, int]]:
        cursor = self.cursor
        token, at = cursor.token, cursor.pos
        known = self._split.get(token)
        if known is None:
            known = self._split[token] = self._split_opcode(token, at)
        cursor.pos += 1
        if not cursor.token.startswith("."):
            return known
        opcode, modifiers, arity = known  # `ld .global .f32`: parts set apart by blanks
        while cursor.token.startswith("."):
            modifiers += tuple(cursor.take()[1:].split("."))
        return opcode, modifiers, arity

    def _split_opcode(self, token: str, at: int) -> tuple[str, tuple[str, ...], tuple[int, int]]:
        opcode, *modifiers = token.split(".")
        if opcode == "call":
            return opcode, tuple(modifiers), (3, 4)
        arity = ARITY.get(opcode)
        if arity is None:
            if not is_identifier(opcode):
                raise self.cursor.error(f"expected an instruction, found {shown(token)}", at)
            raise self.cursor.error(f"unknown instruction {shown(opcode)}{nearest(opcode, ARITY)}", at)
        return opcode, tuple(modifiers), arity

    def _operands(self, opcode: str) -> tuple[Operand, ...]:
        cursor = self.cursor
        texts = cursor.texts
        found: list[Operand] = []
        if texts[cursor.pos] == ";":
            return ()
        if opcode == "bra":
            return self._terminated((self._label(),))
        visible = self.names.visible
        while True:
            pos = cursor.pos
            operand = visible.get(texts[pos])
            if operand is not None and texts[pos + 1] in _ENDS:
                cursor.pos = pos + 1
            else:
                operand = self._label() if opcode == "brx" and found else self.operand()
            found.append(operand)
            if texts[cursor.pos] != ",":
                return self._terminated(tuple(found))
            if len(found) >= MAX_ITEMS:
                raise cursor.error(f"more than {MAX_ITEMS} operands")
            cursor.pos += 1

    def _terminated(self, found: tuple[Operand, ...]) -> tuple[Operand, ...]:
        token = self.cursor.token
        if token != ";":
            raise self.cursor.error(f"expected ',' or ';' after an operand, found {shown(token)}")
        return found

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
            return self._after_name(self._named(token, at), at)
        raise cursor.error(f"expected an operand, found {shown(token)}")

    def _constant(self, token: str) -> Immediate:
        cursor = self.cursor
        if cursor.texts[cursor.pos + 1] not in _ENDS:
            return immediate(cursor)
        known = self._constants.get(token)
        if known is None:
            known = self._constants[token] = immediate(cursor)
        else:
            cursor.pos += 1
        return known

    def _named(self, token: str, at: int) -> Operand:
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
        place = cursor.pos
        token = cursor.take()
        second = _SINK if token == "_" else self._named(token, place)
        if not isinstance(first, Register | Sink | Vector):
            raise cursor.error("only registers, vectors and '_' can stand before '|'", at)
        if not isinstance(second, Register | Sink):
            raise cursor.error("only a register or '_' can stand after '|'", place)
        return Pair(first, second)

    def _negated(self) -> Operand:
        cursor = self.cursor
        following = cursor.texts[cursor.pos + 1]
        if not (is_identifier(following) or "." in following) or following == "WARP_SZ" or following[:1].isdigit():
            return immediate(cursor)
        cursor.pos += 1
        operand = self._named(cursor.take(), cursor.pos - 1)
        if not isinstance(operand, Register):
            raise cursor.error("'!' negates a predicate register", cursor.pos - 1)
        return Negated(operand)

    def _minus(self) -> Selected:
        """`-%r1.b0`, which vmad has."""
        cursor = self.cursor
        cursor.pos += 1
        at = cursor.pos
        operand = self._named(cursor.take(), at)
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
        operand = self._named(token, at)
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

    def _label(self) -> LabelRef:
        cursor = self.cursor
        self.label_uses.append((cursor.token, cursor.pos))
        return LabelRef(cursor.identifier("label"))

    def _call(self) -> tuple[Operand, ...]:
        """`call (r), f, (a, b), prototype;` with every part but the target left out at will."""
        cursor = self.cursor
        returned = Arguments(())
        if cursor.token == "(":
            returned = self._arguments()
            cursor.expect(",", "after what a call returns")
        target = self._callee()
        passed = Arguments(())
        if cursor.accept(","):
            if cursor.token != "(":
                return self._terminated((returned, target, passed, self._label()))
            passed = self._arguments()
        if cursor.accept(","):
            return self._terminated((returned, target, passed, self._label()))
        return self._terminated((returned, target, passed))

    def _callee(self) -> Register | Symbol:
        cursor = self.cursor
        name, at = cursor.token, cursor.pos
        operand = self.names.visible.get(name)
        if not isinstance(operand, Register):
            operand = self.functions.get(name)
        if not isinstance(operand, Register | Symbol):
            name = cursor.identifier("function")
            raise cursor.error(f"undefined function {shown(name)}{nearest(name, self.functions)}", at)
        cursor.pos += 1
        return operand

    def _arguments(self) -> Arguments:
        cursor = self.cursor
        cursor.expect("(")
        items: list[Operand] = []
        if cursor.accept(")"):
            return Arguments(())
        while True:
            if cursor.token in ("{", "["):
                raise cursor.error("an argument is a register, a .param variable or a constant")
            items.append(self.operand())
            if not cursor.accept(","):
                break
            if len(items) >= MAX_ITEMS:
                raise cursor.error(f"more than {MAX_ITEMS} arguments")
        cursor.expect(")", "or ',' in the arguments of a call")
        return Arguments(tuple(items))

    def _check_width(self, modifiers: tuple[str, ...], operands: tuple[Operand, ...], at: int) -> None:
        """`ld.v4` wants a vector of four, and a scalar access none (`.b128` may take a pair of 64-bit registers)."""
        width = next((int(m[1:]) for m in modifiers if m in ("v2", "v4", "v8")), 1)
        for operand in operands:
            if isinstance(operand, Vector) and len(operand.items) != width and "b128" not in modifiers:
                given = len(operand.items)
                raise self.cursor.error(f"a vector of {given} where the instruction moves {width}", at)
        if width > 1 and not any(isinstance(o, Vector) for o in operands):
            raise self.cursor.error(f"the instruction moves {width} values: expected a vector in braces", at)


def _address_of(operand: Operand) -> Operand:
    """`mov` of an array element `name[3]` gives its address."""
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        return Symbol(operand.base.name, operand.offset)
    return operand


def relabel(instruction: Instruction, old: str, new: str) -> Instruction:
    """The instruction with a label reference renamed."""
    renamed = tuple(
        LabelRef(new) if isinstance(operand, LabelRef) and operand.name == old else operand
        for operand in instruction.operands
    )
    return replace(instruction, operands=renamed)


def _wrong_count(opcode: str, count: int, arity: tuple[int, int]) -> str:
    least, most = arity
    wanted = str(least) if least == most else f"{least} to {most}"
    return f"{opcode!r} takes {wanted} operand{'' if wanted == '1' else 's'}, found {count}"
