"""PTX text to a typed `Module`: the directives of module level, and the functions."""

from __future__ import annotations

import re
from dataclasses import replace

from gridstride.virtual.ptx.body import Body, BodyReader, read_pragmas
from gridstride.virtual.ptx.cursor import Cursor, literal
from gridstride.virtual.ptx.debuginfo import debug_strings, read_file, skip_section
from gridstride.virtual.ptx.declarations import SPACES, read_declarators, read_spec
from gridstride.virtual.ptx.errors import nearest, shown
from gridstride.virtual.ptx.lexer import Tokens
from gridstride.virtual.ptx.module import Function, Module, Operand, Register, Symbol, Variable
from gridstride.virtual.ptx.names import Names
from gridstride.virtual.ptx.signature import read_directives, read_parameters, shape

_LINKAGE = frozenset([".visible", ".extern", ".weak", ".common"])
_MODULE_SPACES = SPACES - {".param", ".local"}
_TOP_LEVEL = (*_LINKAGE, *SPACES, ".entry", ".func", ".version", ".target", ".address_size", ".file", ".section")
NEWEST = 9
"""Major version of PTX up to which texts are read; a newer one may mean something else by the same words."""
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})")


def parse(text: str, *, filename: str = "<ptx>") -> Module:
    """Parse a PTX text. Raises PtxError, with line and column, for any text that is not valid PTX; nothing else."""
    return ModuleReader(Cursor(Tokens(text, filename))).read()


class ModuleReader:
    """Reads a whole module. Names must be declared before they are used, as the ISA has it."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.aliases: dict[str, str] = {}
        self.files: dict[int, str] = {}
        self.pragmas: list[str] = []
        self.strings = debug_strings(cursor.tokens.source)
        self._visible: dict[str, Operand] = {}
        self._callable: dict[str, Operand] = {}
        self._element_sizes: dict[str, int] = {}
        self._version = (0, 0)
        self._target: tuple[str, ...] = ()
        self._address_size = 32

    def read(self) -> Module:
        """Read to the end of the text."""
        cursor = self.cursor
        self._header()
        while cursor.token:
            self._item()
        if not self._target:
            raise cursor.error("no .target: expected one such as '.target sm_90'")
        return Module(
            version=self._version,
            target=self._target[0],
            address_size=self._address_size,
            functions=self.functions,
            variables=self.variables,
            files=self.files,
            aliases=self.aliases,
            target_options=self._target[1:],
            pragmas=tuple(self.pragmas),
            strings=self.strings,
            filename=cursor.tokens.filename,
        )

    def _header(self) -> None:
        cursor = self.cursor
        if not cursor.token:
            raise cursor.error("the text is empty: PTX starts with .version")
        if cursor.token != ".version":
            raise cursor.error(f"expected .version, with which PTX starts, found {shown(cursor.token)}")
        self._read_version()

    def _read_version(self) -> None:
        cursor = self.cursor
        cursor.pos += 1
        found = _VERSION.fullmatch(cursor.token)
        if not found:
            raise cursor.error(f"expected a PTX version such as 8.5, found {shown(cursor.token)}")
        cursor.pos += 1
        self._version = int(found[1]), int(found[2])
        if int(found[1]) > NEWEST:
            raise cursor.error(
                f"PTX {found[0]} is no version that this knows: up to {NEWEST}.x it does", cursor.pos - 1
            )

    def _item(self) -> None:
        cursor = self.cursor
        token, at = cursor.token, cursor.pos
        linkage = ""
        while token in _LINKAGE:
            if linkage:
                raise cursor.error(f"second linkage {shown(token)} after .{linkage}")
            linkage = cursor.take()[1:]
            token = cursor.token
        if token in (".entry", ".func"):
            self._function(linkage)
        elif token in _MODULE_SPACES:
            self._variables(linkage)
        elif linkage:
            raise cursor.error(f"expected a variable or function after .{linkage}, found {shown(token)}")
        else:
            self._directive(token, at)

    def _directive(self, token: str, at: int) -> None:
        cursor = self.cursor
        cursor.pos += 1
        if token == ".target":
            self._target += tuple(self._read_target())
        elif token == ".address_size":
            self._read_address_size()
        elif token == ".file":
            read_file(cursor, self.files)
        elif token == ".section":
            skip_section(cursor)
        elif token == ".pragma":
            self.pragmas += read_pragmas(cursor)
        elif token == ".alias":
            self._alias()
        elif token == ".version":
            raise cursor.error("second .version", at)
        elif token != ";":
            raise cursor.error(f"unexpected {shown(token)} at module level{nearest(token, _TOP_LEVEL)}", at)

    def _read_target(self) -> list[str]:
        cursor = self.cursor
        found = [cursor.identifier("target")]
        while cursor.accept(","):
            found.append(cursor.identifier("target option"))
        if not self._target and not re.fullmatch(r"(sm|compute)_\d{2,3}[a-z]?", found[0]):
            raise cursor.error(f"unknown target {shown(found[0])}: expected one such as sm_90", cursor.pos - len(found))
        return found

    def _read_address_size(self) -> None:
        cursor = self.cursor
        size = literal(cursor.token)
        if size not in (32, 64):
            raise cursor.error(f"the address size is {shown(cursor.token)}: expected 32 or 64")
        self._address_size = size
        cursor.pos += 1

    def _variables(self, linkage: str) -> None:
        cursor = self.cursor
        spec = read_spec(cursor, cursor.take(), linkage)
        read_declarators(cursor, spec, self._visible, self._declare)

    def _declare(self, variable: Variable, at: int) -> None:
        name = variable.name
        earlier = self.variables.get(name)
        if name in self._callable or (earlier and not (earlier.external or variable.external)):
            raise self.cursor.error(f"{shown(name)} is defined twice", at)
        if earlier is None or earlier.external:
            self.variables[name] = variable
        self._visible[name] = Symbol(name)
        self._element_sizes[name] = variable.info.size * variable.vector

    def _alias(self) -> None:
        cursor = self.cursor
        name, at = cursor.identifier("alias"), cursor.pos
        cursor.expect(",", "between an alias and its function")
        target = cursor.identifier("function")
        if target not in self.functions:
            raise cursor.error(f"undefined function {shown(target)}{nearest(target, self.functions)}", cursor.pos - 1)
        if name in self.functions and self.functions[name].defined:
            raise cursor.error(f"the alias {shown(name)} is a function with a body of its own", at - 1)
        cursor.expect(";", "after .alias")
        self.aliases[name] = target
        self._visible[name] = self._callable[name] = Symbol(name)

    def _function(self, linkage: str) -> None:
        cursor = self.cursor
        line = cursor.line
        kind = cursor.take()[1:]
        flags = read_directives(cursor, []) if cursor.token.startswith(".") else {}
        returns = read_parameters(cursor) if kind == "func" and cursor.token == "(" else ()
        at = cursor.pos
        name = cursor.identifier("function")
        params = read_parameters(cursor) if cursor.token == "(" else ()
        pragmas: list[str] = []
        directives = flags | read_directives(cursor, pragmas)
        function = Function(
            name=name,
            kind=kind,
            params=params,
            returns=returns,
            registers={},
            variables={},
            body=(),
            directives=directives,
            external=linkage == "extern",
            defined=False,
            linkage=linkage,
            noreturn="noreturn" in directives,
            pragmas=tuple(pragmas),
            line=line,
        )
        self._introduce(function, at)
        if cursor.accept(";"):
            return
        cursor.expect("{", "or ';' after a function's signature")
        self.functions[name] = self._define(function, at)

    def _introduce(self, function: Function, at: int) -> None:
        """Make the name visible: in its own body, and from here on."""
        name = function.name
        earlier = self.functions.get(name)
        is_definition = self.cursor.token == "{"
        if name in self.variables or (earlier and earlier.defined and is_definition):
            raise self.cursor.error(f"{shown(name)} is defined twice", at)
        if earlier and (earlier.kind, shape(earlier)) != (function.kind, shape(function)):
            message = f"{shown(name)} was declared with another signature on line {earlier.line}"
            raise self.cursor.error(message, at)
        if not earlier or not earlier.defined:
            self.functions[name] = function
        self._visible[name] = self._callable[name] = Symbol(name)

    def _define(self, function: Function, at: int) -> Function:
        names = Names(self.cursor, self._visible, self._element_sizes)
        params = self._parameters(names, function.params, at)
        returns = self._parameters(names, function.returns, at)
        body = BodyReader(self.cursor, names, self._callable, self.strings).read()
        return _complete(replace(function, params=params, returns=returns), names, body)

    def _parameters(self, names: Names, given: tuple[Variable, ...], at: int) -> tuple[Variable, ...]:
        found: list[Variable] = []
        for variable in given:
            if variable.name == "_":
                found.append(variable)
                continue
            key = names.declare(variable.name, Register if variable.space == "reg" else Symbol, at)
            if variable.space == "reg":
                names.registers[key] = variable.type
            names.element_sizes[key] = variable.info.size * variable.vector
            found.append(replace(variable, name=key))
        return tuple(found)


def _complete(function: Function, names: Names, body: Body) -> Function:
    return replace(
        function,
        defined=True,
        registers=names.registers,
        variables=body.variables,
        body=tuple(body.statements),
        branch_targets={label: tuple(targets) for label, targets in body.branch_targets.items()},
        call_targets=body.call_targets,
        prototypes=body.prototypes,
        pragmas=(*function.pragmas, *body.pragmas),
    )
