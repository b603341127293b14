"""What stands between `.entry` or `.func` and the body: parameters, returned values, directives."""

from __future__ import annotations

from gridstride.virtual.ptx.module import Function, Variable
from gridstride.virtual.ptx.parsing.cursor import Cursor
from gridstride.virtual.ptx.parsing.declarations import read_spec, read_variable
from gridstride.virtual.ptx.syntax_errors import nearest, shown

_SIZES = {  # directive -> most values it takes
    ".maxntid": 3,
    ".reqntid": 3,
    ".reqnctapercluster": 3,
    ".minnctapersm": 1,
    ".maxnctapersm": 1,
    ".maxnreg": 1,
    ".maxclusterrank": 1,
    ".abi_preserve": 1,
    ".abi_preserve_control": 1,
}
_FLAGS = frozenset([".explicitcluster", ".blocksareclusters", ".noreturn"])
MAX_PARAMETERS = 1 << 16


def read_parameters(cursor: Cursor) -> tuple[Variable, ...]:
    """Read `(.param .b32 name, .reg .f64 %x)`; the name may be `_`."""
    cursor.expect("(")
    parameters: list[Variable] = []
    if cursor.accept(")"):
        return ()
    while True:
        space = cursor.token
        if space not in (".param", ".reg"):
            raise cursor.error(f"expected .param or .reg, found {shown(space)}")
        cursor.pos += 1
        spec = read_spec(cursor, space)
        at = cursor.pos
        name = "_" if cursor.accept("_") else cursor.identifier("parameter")
        parameters.append(read_variable(cursor, spec, name, {}, at))
        if len(parameters) > MAX_PARAMETERS:
            raise cursor.error(f"more than {MAX_PARAMETERS} parameters")
        if not cursor.accept(","):
            break
    cursor.expect(")", "or ',' after a parameter")
    return tuple(parameters)


def read_directives(cursor: Cursor, pragmas: list[str]) -> dict[str, tuple[int, ...]]:
    """Read what stands before `{` or `;`: `.maxntid 256, 1, 1` becomes ("maxntid", (256, 1, 1))."""
    directives: dict[str, tuple[int, ...]] = {}
    while cursor.token.startswith("."):
        token = cursor.take()
        if token == ".pragma":
            _pragma(cursor, pragmas)
        elif token in _SIZES:
            directives[token[1:]] = _values(cursor, token)
        elif token in _FLAGS:
            directives[token[1:]] = ()
        elif token == ".attribute":
            _attribute(cursor)
        else:
            expected = (*_SIZES, *_FLAGS, ".pragma")
            raise cursor.error(
                f"unknown directive {shown(token)} of a function{nearest(token, expected)}", cursor.pos - 1
            )
    return directives


def _values(cursor: Cursor, directive: str) -> tuple[int, ...]:
    least = 0 if directive.startswith(".abi") else 1
    values = [cursor.count(f"value of {directive}", least=least)]
    while cursor.accept(","):
        values.append(cursor.count(f"value of {directive}", least=least))
    if len(values) > _SIZES[directive]:
        raise cursor.error(f"{directive} takes at most {_SIZES[directive]} values, found {len(values)}", cursor.pos - 1)
    return tuple(values)


def _pragma(cursor: Cursor, pragmas: list[str]) -> None:
    pragmas.append(cursor.string())
    while cursor.accept(","):
        pragmas.append(cursor.string())
    cursor.expect(";", "after .pragma")


def _attribute(cursor: Cursor) -> None:
    """`.attribute(.unified(…))` of a function: an identifier across modules, which nothing here needs."""
    cursor.expect("(", "after .attribute")
    depth = 1
    while depth:
        token = cursor.take()
        depth += {"(": 1, ")": -1}.get(token, 0)


def shape(function: Function) -> tuple[tuple[str, int | None, int], ...]:
    """What two declarations of a function must agree on."""
    return tuple((v.space, v.count, v.size) for v in (*function.returns, *function.params))
