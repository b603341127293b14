"""Shapes in symbols: "*rows width" is any number of axes, whose sizes multiply to rows, in front of one of width."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

_TOKEN = re.compile(r"\*?[A-Za-z_]\w*|\d+")


@dataclass(slots=True)
class Sizes:
    """What the symbols of one call stand for; `axes` has the sizes that a starred one is the product of."""

    values: dict[str, Any] = field(default_factory=dict)
    axes: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)  # symbol -> the array that settled it


@dataclass(frozen=True, slots=True)
class ShapeSpec:
    """The shape of one array: symbols, whole numbers, and at most one starred symbol."""

    tokens: tuple[str, ...]

    @property
    def symbols(self) -> tuple[str, ...]:
        """All that are no numbers, without their star."""
        return tuple(token.lstrip("*") for token in self.tokens if not token.isdigit())

    def bind(self, shape: Sequence[Any], name: str, sizes: Sizes) -> None:
        """Settle symbols by the shape of array `name`; ValueError where it does not fit what is settled."""
        head = next((i for i, token in enumerate(self.tokens) if token[0] == "*"), len(self.tokens))
        starred, tail = self.tokens[head : head + 1], self.tokens[head + 1 :]
        if len(shape) != len(self.tokens) and not (starred and len(shape) >= len(self.tokens) - 1):
            raise ValueError(f"{name} has shape {tuple(shape)}, not {self}")
        tail_start = len(shape) - len(tail)
        for token, size in zip(self.tokens[:head] + tail, (*shape[:head], *shape[tail_start:]), strict=True):
            self._settle(token, size, name, sizes, shape)
        if starred:
            self._settle_axes(starred[0][1:], tuple(shape[head:tail_start]), name, sizes, shape)

    def resolve(self, sizes: Sizes) -> tuple[Any, ...]:
        """The shape that the settled symbols give."""
        shape: list[Any] = []
        for token in self.tokens:
            if token[0] == "*":
                shape += sizes.axes[token[1:]]
            else:
                shape.append(int(token) if token.isdigit() else sizes.values[token])
        return tuple(shape)

    def __str__(self) -> str:
        return f"[{', '.join(f'…{t[1:]}' if t[0] == '*' else t for t in self.tokens)}]"

    def _settle(self, token: str, size: Any, name: str, sizes: Sizes, shape: Sequence[Any]) -> None:
        expected = int(token) if token.isdigit() else sizes.values.setdefault(token, size)
        where = sizes.source.setdefault(token, name)
        if size != expected:
            why = "" if token.isdigit() else f" with {token} = {expected} as in {where}"
            raise ValueError(f"{name} has shape {tuple(shape)}, not {self}{why}")

    def _settle_axes(self, symbol: str, axes: tuple[Any, ...], name: str, sizes: Sizes, shape: Sequence[Any]) -> None:
        expected = sizes.axes.setdefault(symbol, axes)
        where = sizes.source.setdefault(symbol, name)
        if axes != expected:
            raise ValueError(f"{name} has shape {tuple(shape)}, not {self} with …{symbol} = {expected} as in {where}")
        sizes.values[symbol] = prod(axes)


def parse_shape(text: str, name: str) -> ShapeSpec:
    """The spec of array `name`; ValueError for what is neither a symbol nor a number, or for a second star."""
    tokens = tuple(text.split())
    wrong = [token for token in tokens if not _TOKEN.fullmatch(token)]
    if wrong or sum(token[0] == "*" for token in tokens) > 1:
        part = f"{wrong[0]!r}" if wrong else "a second star"
        raise ValueError(
            f"shape of {name}: {text!r} has {part}: it is symbols and whole numbers between blanks, one of them "
            'perhaps with a star for any number of axes, as in "*rows width"'
        )
    return ShapeSpec(tokens)


def check_stars(specs: Mapping[str, ShapeSpec]) -> None:
    """ValueError where a symbol has a star in one array and none in another: it would be two things."""
    plain = {token: name for name, spec in specs.items() for token in spec.tokens if token[0] != "*"}
    for name, spec in specs.items():
        for token in spec.tokens:
            if token[0] == "*" and token[1:] in plain:
                raise ValueError(f"shape: {token} of {name} is {token[1:]} without a star in {plain[token[1:]]}")
