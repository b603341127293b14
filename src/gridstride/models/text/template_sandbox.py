"""Chat templates are programs of strangers: jinja's sandbox as transformers sets it up, with bounds on work and size.

Bounded: steps of loops and calls together, and the length of what `+`, `~`, `*`, a call or the whole template gives.
Not bounded: what one built-in method or filter allocates by itself, say `'x'.ljust(10 ** 9)`; attributes, files and
modules of Python are out of reach as far as jinja's sandbox goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import ext, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

STEPS = 200_000  # of loops and calls: a conversation of a thousand messages takes some 10,000
LENGTH = 1 << 24  # characters or items

_steps_left: ContextVar[list[int]] = ContextVar("_steps_left")
_marks: ContextVar[tuple[str, str]] = ContextVar("_marks")


def compile_only(text: str) -> None:
    """A jinja2.TemplateError where a template is none."""
    _compiled(text)


def render(text: str, values: dict[str, Any], *, marks: tuple[str, str] = ("", "")) -> str:
    """The template's text for these values; jinja2.TemplateError for whatever goes wrong in it.

    `marks` stand before and after what is inside of `{% generation %}`.
    """
    token, marked = _steps_left.set([STEPS]), _marks.set(marks)
    try:
        pieces = []
        length = 0
        for piece in _compiled(text).generate(**values):
            pieces.append(piece)
            length += len(piece)
            _check_length(length)
        return "".join(pieces)
    except RecursionError as error:
        raise SecurityError("it calls itself without end") from error
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise jinja2.TemplateError(f"{type(error).__name__}: {error}") from error
    finally:
        _steps_left.reset(token)
        _marks.reset(marked)


@lru_cache(maxsize=16)
def _compiled(text: str) -> jinja2.Template:
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, ext.loopcontrols], cache_size=0
    )
    tree = environment.parse(text)
    for loop in list(tree.find_all(nodes.For)):
        loop.iter = nodes.Filter(loop.iter, "_counted", [], [], None, None, lineno=loop.lineno)
    tree = _Sized().visit(tree)
    tree.set_environment(environment)
    return jinja2.Template.from_code(environment, environment.compile(tree, "chat template"), environment.globals)


class _Sized(jinja2.visitor.NodeTransformer):
    """Every `a ~ b` is followed by a look at its length."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802  (jinja's way of naming)
        self.generic_visit(node)
        return nodes.Filter(node, "_sized", [], [], None, None, lineno=node.lineno)


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"+", "*", "**"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        del self.globals["lipsum"]
        self.globals |= {
            "raise_exception": _raise,
            "strftime_now": _now,
            "dict": _dictionary,
            "namespace": _SafeNamespace,
        }
        self.filters |= {"tojson": _to_json, "_counted": _Counted, "_sized": _sized}

    def call(self, context: Any, function: Any, /, *args: Any, **named: Any) -> Any:
        _spend()
        return _sized(super().call(context, function, *args, **named))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**":
            raise SecurityError("powers are not for chat templates")
        if operator == "*" and (isinstance(left, _LONG) or isinstance(right, _LONG)):
            size, times = (len(left), right) if isinstance(left, _LONG) else (len(right), left)
            _check_length(size * times)
        return _sized(super().call_binop(context, operator, left, right))


class _Generation(ext.Extension):
    """`{% generation %}` marks in training what the model says; without marks it changes nothing."""

    tags = {"generation"}  # noqa: RUF012  (as jinja declares it)

    def parse(self, parser: Any) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: Any) -> str:
        text: str = caller()
        opening_mark, closing_mark = _marks.get()
        return opening_mark + text + closing_mark


class _Counted:
    """What a loop goes over, each step counted."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)  # type: ignore[arg-type]  # jinja asks, and counts itself where there is none

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            _spend()
            yield item


class _SafeNamespace(Namespace):
    """No attribute of it may be one of Python's own."""

    def __init__(*args: Any, **values: Any) -> None:
        self, *positional = args
        attributes = dict(*positional, **values)
        for name in attributes:
            _check_name(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


_LONG = (str, list, tuple)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace cannot hold {name!r}")


def _spend() -> None:
    steps_left = _steps_left.get()
    steps_left[0] -= 1
    if steps_left[0] < 0:
        raise SecurityError(f"it takes more than {STEPS} steps")


def _sized(value: Any) -> Any:
    if isinstance(value, _LONG):
        _check_length(len(value))
    return value


def _check_length(length: int) -> None:
    if length > LENGTH:
        raise SecurityError(f"its text has more than {LENGTH} characters")


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)


def _now(format: str) -> str:
    return datetime.now().strftime(format)


def _dictionary(*args: Any, **named: Any) -> dict[Any, Any]:
    return dict(*args, **named)


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """Unlike jinja's own it leaves <, > and & as they are."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
