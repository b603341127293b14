"""A function body between its braces: declarations, labels, scopes and instructions, in one loop without recursion."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from gridstride.virtual.ptx.module import Instruction, Label, LabelRef, Operand, Prototype, Statement, Symbol, Variable
from gridstride.virtual.ptx.parsing.cursor import Cursor, is_identifier
from gridstride.virtual.ptx.parsing.debuginfo import Locations, skip_section
from gridstride.virtual.ptx.parsing.declarations import SPACES, names_of, read_declarators, read_spec
from gridstride.virtual.ptx.parsing.instruction_reader import InstructionReader, relabel
from gridstride.virtual.ptx.parsing.names import MAX_REGISTERS, Names
from gridstride.virtual.ptx.parsing.signature import read_parameters
from gridstride.virtual.ptx.syntax_errors import PtxError, nearest, shown
from gridstride.virtual.ptx.types import TYPES

_DIRECTIVES = (*sorted(SPACES), ".reg", ".loc", ".pragma", ".section", ".file", ".branchtargets", ".calltargets")


@dataclass(slots=True)
class Body:
    """What a body adds to its function."""

    statements: list[Statement] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    branch_targets: dict[str, list[str]] = field(default_factory=dict)
    call_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, Prototype] = field(default_factory=dict)
    pragmas: list[str] = field(default_factory=list)


class BodyReader:
    """Reads from after the opening brace to after the closing one."""

    def __init__(self, cursor: Cursor, names: Names, functions: dict[str, Operand], strings: dict[str, str]) -> None:
        self.cursor = cursor
        self.names = names
        self.functions = functions
        self.locations = Locations(strings)
        self.instructions = InstructionReader(cursor, names, functions)
        self.body = Body()
        # Uses of labels, to be checked at the end: (statement, token index), and (list, place in it, token index).
        self._uses: list[tuple[int, int]] = []
        self._listed: list[tuple[str, int, int]] = []

    def read(self) -> Body:
        """Read the whole body. Labels and target lists are settled at the end of their scope."""
        cursor = self.cursor
        opened = [cursor.pos - 1]
        while opened:
            token = cursor.token
            if token == "{":
                opened.append(cursor.pos)
                self.names.open()
                cursor.pos += 1
            elif token == "}":
                self.names.close()
                opened.pop()
                cursor.pos += 1
            elif not token:
                raise cursor.error("'{' is not closed", opened[-1])
            else:
                self._statement(token)
        self._check_lists()
        return self.body

    def _statement(self, token: str) -> None:
        cursor = self.cursor
        if token[0] == ".":
            self._directive(token)
        elif cursor.texts[cursor.pos + 1] == ":":
            self._labelled(token)
        elif token == ";":
            cursor.pos += 1  # an empty statement, as inline assembly leaves behind
        else:
            self._instruction()

    def _instruction(self) -> None:
        index = len(self.body.statements)
        instruction = self.instructions.read(self.locations.current)
        self.body.statements.append(instruction)
        for name, at in self.instructions.label_uses:
            self._uses.append((index, at))
            self.names.refer(name, at, partial(self._relabel, index, name))

    def _relabel(self, index: int, old: str, new: str) -> None:
        if old != new:
            statement = self.body.statements[index]
            assert isinstance(statement, Instruction)
            self.body.statements[index] = relabel(statement, old, new)

    def _labelled(self, name: str) -> None:
        cursor = self.cursor
        if not is_identifier(name):
            raise cursor.error(f"{shown(name)} cannot be a label")
        key = self.names.label(name, cursor.pos)
        cursor.pos += 2
        following = cursor.token
        if following == ".branchtargets":
            self._branch_targets(key)
        elif following == ".calltargets":
            self._call_targets(key)
        elif following == ".callprototype":
            self._prototype(key)
        else:
            self.body.statements.append(Label(key))

    def _branch_targets(self, key: str) -> None:
        cursor = self.cursor
        cursor.pos += 1
        targets: list[str] = []
        while True:
            at = cursor.pos
            for name in names_of(cursor, "label"):
                self.names.refer(name, at, partial(targets.__setitem__, len(targets)))
                self._listed.append((key, len(targets), at))
                targets.append(name)
            if not cursor.accept(","):
                break
        cursor.expect(";", "after .branchtargets")
        self.body.branch_targets[key] = targets

    def _call_targets(self, key: str) -> None:
        cursor = self.cursor
        cursor.pos += 1
        targets: list[str] = []
        while True:
            at = cursor.pos
            name = cursor.identifier("function")
            if name not in self.functions:
                raise cursor.error(f"undefined function {shown(name)}{nearest(name, self.functions)}", at)
            targets.append(name)
            if not cursor.accept(","):
                break
        cursor.expect(";", "after .calltargets")
        self.body.call_targets[key] = tuple(targets)

    def _prototype(self, key: str) -> None:
        cursor = self.cursor
        cursor.pos += 1
        returns = read_parameters(cursor) if cursor.token == "(" else ()
        if cursor.token != "(" and not cursor.accept("_"):
            cursor.identifier("prototype")
        params = read_parameters(cursor) if cursor.token == "(" else ()
        noreturn = False
        while cursor.token.startswith("."):
            noreturn |= self._prototype_flag() == ".noreturn"
        cursor.expect(";", "after .callprototype")
        self.body.prototypes[key] = Prototype(params, returns, noreturn)

    def _prototype_flag(self) -> str:
        flag = self.cursor.take()
        if flag in (".abi_preserve", ".abi_preserve_control"):
            self.cursor.count("number of registers")
        elif flag != ".noreturn":
            raise self.cursor.error(f"{shown(flag)} has no place in a prototype", self.cursor.pos - 1)
        return flag

    def _directive(self, token: str) -> None:
        cursor = self.cursor
        cursor.pos += 1
        if token == ".loc":
            self.locations.read(cursor)
        elif token == ".reg":
            self._registers()
        elif token in SPACES:
            spec = read_spec(cursor, token)
            read_declarators(cursor, spec, self.names.visible, self._declare)
        elif token == ".pragma":
            self.body.pragmas += read_pragmas(cursor)
        elif token == ".section":
            skip_section(cursor)
        else:
            message = f"{shown(token)} has no place in a function body{nearest(token, _DIRECTIVES)}"
            raise cursor.error(message, cursor.pos - 1)

    def _registers(self) -> None:
        cursor = self.cursor
        spec = read_spec(cursor, "reg")
        if TYPES[spec.type].kind == "opaque" and spec.vector > 1:
            raise cursor.error(f"no vector of .{spec.type} can be a register")
        while True:
            at = cursor.pos
            for name in names_of(cursor, "register", most=MAX_REGISTERS):
                self.names.register(name, spec.type, spec.vector, at)
            if not cursor.accept(","):
                break
        cursor.expect(";", "after a register declaration")

    def _declare(self, variable: Variable, at: int) -> None:
        key = self.names.declare(variable.name, Symbol, at)
        self.names.element_sizes[key] = variable.info.size * variable.vector
        self.body.variables[key] = variable if key == variable.name else replace(variable, name=key)

    def _check_lists(self) -> None:
        """A label stands for code, a target list or a prototype: each must be used as what it is."""
        body = self.body
        code = {statement.name for statement in body.statements if isinstance(statement, Label)}
        for key, position, at in self._listed:
            if body.branch_targets[key][position] not in code:
                raise self._wrong_label(body.branch_targets[key][position], "an instruction", at)
        for index, at in self._uses:
            statement = body.statements[index]
            assert isinstance(statement, Instruction)
            name = next(operand.name for operand in statement.operands if isinstance(operand, LabelRef))
            if statement.opcode == "bra" and name not in code:
                raise self._wrong_label(name, "an instruction", at)
            if statement.opcode == "brx" and name not in body.branch_targets:
                raise self._wrong_label(name, "a .branchtargets list", at)
            if statement.opcode == "call" and name not in body.prototypes and name not in body.call_targets:
                raise self._wrong_label(name, "a .callprototype or .calltargets list", at)

    def _wrong_label(self, name: str, label: str, at: int) -> PtxError:
        return self.cursor.error(f"{shown(name)} is not the label of {label}", at)


def read_pragmas(cursor: Cursor) -> list[str]:
    """Read what follows `.pragma`: strings up to a semicolon."""
    pragmas = [cursor.string()]
    while cursor.accept(","):
        pragmas.append(cursor.string())
    cursor.expect(";", "after .pragma")
    return pragmas
