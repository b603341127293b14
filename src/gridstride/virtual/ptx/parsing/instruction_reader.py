"""Instructions: guard, opcode, operands, and the one-off grammar of `call`, checked as far as the grammar can tell."""

from __future__ import annotations

from dataclasses import replace

from gridstride.virtual.ptx.isa import ISA
from gridstride.virtual.ptx.module import (
    Address,
    Arguments,
    Guard,
    Instruction,
    LabelRef,
    Operand,
    Register,
    SourceLocation,
    Symbol,
)
from gridstride.virtual.ptx.operand_fit import Slot, misfit
from gridstride.virtual.ptx.parsing.check import forms_of
from gridstride.virtual.ptx.parsing.cursor import Cursor, is_identifier
from gridstride.virtual.ptx.parsing.names import Names
from gridstride.virtual.ptx.parsing.older_versions import completed
from gridstride.virtual.ptx.parsing.operand_reader import ENDS, MAX_ITEMS, OperandReader
from gridstride.virtual.ptx.syntax_errors import nearest, shown
from gridstride.virtual.ptx.targets import needed, serves

_Name = tuple[str, tuple[str, ...], tuple[int, int] | None]
"""Opcode and modifiers, and how many operands there may be where the grammar does not say."""


class InstructionReader:
    """Reads one instruction at a time from the cursor, resolving names as it goes."""

    def __init__(self, cursor: Cursor, names: Names, functions: dict[str, Operand]) -> None:
        self.cursor = cursor
        self.names = names
        self.functions = functions
        self._split: dict[str, _Name] = {}
        self.operands = OperandReader(cursor, names)
        # Label uses of the instruction being read: (name, token index).
        self.label_uses: list[tuple[str, int]] = []

    def read(self, loc: SourceLocation | None) -> Instruction:
        """Read up to and with the semicolon."""
        cursor = self.cursor
        self.label_uses = []
        line = cursor.line
        guard = self._guard() if cursor.token == "@" else None
        at = cursor.pos
        opcode, modifiers, count = self._opcode()
        operands = self._call() if opcode == "call" else self._operands(opcode)
        if count is not None and not count[0] <= len(operands) <= count[1]:
            raise cursor.error(_wrong_count(opcode, len(operands), count), at)
        self._check_form(opcode, forms_of(opcode, modifiers), operands, at)
        if opcode == "mov":
            operands = tuple(map(_address_of, operands))
        cursor.pos += 1
        return Instruction(opcode, modifiers, operands, guard, line, loc)

    def _guard(self) -> Guard:
        cursor = self.cursor
        cursor.pos += 1
        negated = cursor.accept("!")
        at = cursor.pos
        operand = self.operands.named(cursor.take(), at)
        if not isinstance(operand, Register) or self.names.registers.get(operand.name) != "pred":
            raise cursor.error(f"the guard {shown(cursor.texts[at])} is not a predicate register", at)
        return Guard(operand, negated)

    def _opcode(self) -> _Name:
        cursor = self.cursor
        token, at = cursor.token, cursor.pos
        split = self._split.get(token)
        if split is None:
            split = self._split[token] = self._split_opcode(token, at)
        cursor.pos += 1
        if not cursor.token.startswith("."):
            return split
        opcode, modifiers, count = split  # `ld .global .f32`: parts set apart by blanks
        while cursor.token.startswith("."):
            modifiers += tuple(cursor.take()[1:].split("."))
        return opcode, completed(opcode, modifiers, cursor.version, cursor.target), count

    def _split_opcode(self, token: str, at: int) -> _Name:
        opcode, *modifiers = token.split(".")
        row = ISA.get(opcode)
        if row is None or row.added:
            if not is_identifier(opcode):
                raise self.cursor.error(f"expected an instruction, found {shown(token)}", at)
            raise self.cursor.error(f"unknown instruction {shown(opcode)}{nearest(opcode, ISA)}", at)
        least = needed(opcode, tuple(modifiers))
        if least is not None and not serves(self.cursor.target, least):
            name, target = shown(".".join([opcode, *modifiers[:2]])), self.cursor.target
            raise self.cursor.error(f"{name} needs .target {least}, this module is for {target}", at)
        cursor = self.cursor
        return opcode, completed(opcode, tuple(modifiers), cursor.version, cursor.target), row.operands

    def _operands(self, opcode: str) -> tuple[Operand, ...]:
        cursor = self.cursor
        texts = cursor.texts
        operands: list[Operand] = []
        if texts[cursor.pos] == ";":
            return ()
        if opcode == "bra":
            return self._terminated((self._label(),))
        visible = self.names.visible
        while True:
            pos = cursor.pos
            operand = visible.get(texts[pos])
            if opcode == "brx" and operands:
                operand = self._label()
            elif operand is not None and texts[pos + 1] in ENDS:
                cursor.pos = pos + 1
            else:
                operand = self.operands.operand()
            operands.append(operand)
            if texts[cursor.pos] != ",":
                return self._terminated(tuple(operands))
            if len(operands) >= MAX_ITEMS:
                raise cursor.error(f"more than {MAX_ITEMS} operands")
            cursor.pos += 1

    def _terminated(self, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        token = self.cursor.token
        if token != ";":
            raise self.cursor.error(f"expected ',' or ';' after an operand, found {shown(token)}")
        return operands

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
            items.append(self.operands.operand())
            if not cursor.accept(","):
                break
            if len(items) >= MAX_ITEMS:
                raise cursor.error(f"more than {MAX_ITEMS} arguments")
        cursor.expect(")", "or ',' in the arguments of a call")
        return Arguments(tuple(items))

    def _check_form(
        self, opcode: str, forms: tuple[tuple[Slot, ...], ...] | str, operands: tuple[Operand, ...], at: int
    ) -> None:
        """Holds the instruction against the grammar; the error stands at the opcode or at the operand."""
        if isinstance(forms, str):
            raise self.cursor.error(forms, at)
        wrong: tuple[int, str] | None = None
        for slots in forms:
            other = misfit(slots, operands, self.names.registers)
            if other is None:
                return
            wrong = max(other, wrong or other, key=lambda misfit: misfit[0])  # of the form that comes nearest
        if wrong is not None:
            number, message = wrong
            raise self.cursor.error(f"{opcode!r}: {message}", at if number < 0 else self._operand_offset(number, at))

    def _operand_offset(self, number: int, at: int) -> int:
        """The token at which an operand starts: commas inside brackets do not count."""
        texts, depth = self.cursor.texts, 0
        at += 1
        while texts[at].startswith("."):
            at += 1
        while number:
            depth += (texts[at] in "{[(") - (texts[at] in "}])")
            number -= not depth and texts[at] == ","
            at += 1
        return at


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
    expected = str(least) if least == most else f"{least} to {most}"
    return f"{opcode!r} takes {expected} operand{'' if expected == '1' else 's'}, found {count}"
