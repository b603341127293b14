"""What a kernel's indices stay below, read from its text: for advice on its launch, not for truth.

The text is CUDA C++, or Python in which block and thread indices are spelled as CUDA spells them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*=(?!=)\s*")
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+)$", re.MULTILINE)
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w.(])")
_ARITHMETIC = re.compile(r"[\w\s+*/()-]+")
_DEEPEST = 6  # names that stand for names
_LONGEST, _MOST = 1000, 32  # characters of an expression that is read, indices that are looked at

BLOCK = "blockDim"
"""The step of an index that goes by the threads of a block."""
PART = "blockIdx"
"""The step of an index that is a part of the block's number."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a grid. `step`: how far the index goes from one block to the next, `bound`: what it stays below,
    over the problem's sizes; empty where the text does not say.
    """

    step: str
    bound: str
    threads: bool  # whether the thread's number is added as it is


class IndexText:
    """A kernel's text, and the problem's sizes by the kernel's own names of them."""

    def __init__(self, text: str, sizes: Mapping[str, str]) -> None:
        self._text, self._sizes = _COMMENT.sub(" ", text), sizes
        self._values: dict[str, str] = {}
        for name, value in (*_DEFINED.findall(self._text), *self._assignments()):
            self._values.setdefault(name, value)

    def has(self, word: str) -> bool:
        """Whether the kernel uses it, such as threadIdx.y."""
        return word in self._text

    def axis(self, letter: str) -> Axis | None:
        """The dimension x, y or z of the grid; None where the kernel has no index of it."""
        index = f"blockIdx.{letter}"
        if index not in self._text:
            return None
        held = [(name, expression) for name in self._values if index in (expression := self.expanded(name))]
        terms = [
            (name, expression)
            for name, expression in held
            if not re.search("[/%]", expression) and self._alone(expression)
        ]
        bounded = ((expression, bound) for name, expression in terms[:_MOST] if (bound := self._bound(name)))
        expression, bound = next(bounded, (self._text, ""))
        plain = re.search(rf"(?<![*/%] )(?<![*/%])\bthreadIdx\.{letter}\b(?!\s*[*/%>])", expression) is not None
        step = PART if not bound and len(terms) < len(held) else self._step(expression, letter)
        return Axis(step, bound, plain)

    def _alone(self, expression: str) -> bool:
        return len(set(re.findall(r"blockIdx\.\w", expression))) == 1

    def expanded(self, name: str) -> str:
        """What a name stands for, with the names in it replaced by what they stand for."""
        expression = self._values.get(name, name)
        for _ in range(_DEEPEST):
            more = _NAME.sub(lambda match: self._alias(match[0]), expression)
            if more == expression or len(more) > _LONGEST:
                break
            expression = more
        return expression

    def number(self, text: str) -> int | None:
        """The whole number that a name of the text or a product of such names is."""
        factors = [self.expanded(factor.strip()).strip("() ") for factor in text.split("*")]
        product = 1
        for factor in factors:
            if not factor.isdecimal() or len(factor) > 9:
                return None
            product *= int(factor)
        return product

    def quotients(self) -> Iterator[tuple[str, str]]:
        """Sizes and what they are divided by, of what is set to a quotient rounded up."""
        for value in self._values.values():
            match = re.fullmatch(r"(?:tl|triton)\.cdiv\((\w+), (\w+)\)", value.strip())
            if match and match[1] in self._sizes:
                yield self._sizes[match[1]], match[2]

    def _step(self, expression: str, letter: str) -> str:
        """What the block's number is multiplied with; 1 where it stands alone or counts rows of a size."""
        index = rf"\(*\bblockIdx\.{letter}\b\)*"
        if re.search(rf"{index}\s*[/%]", expression):
            return PART
        factors = re.findall(rf"{index}\s*\*\s*\(*([\w.]+)", expression) or re.findall(
            rf"([\w.]+)\)*\s*\*\s*{index}", expression
        )
        if f"{BLOCK}.{letter}" in factors:
            return BLOCK
        return next((factor for factor in factors if factor not in self._sizes and "." not in factor), "1")

    def _alias(self, name: str) -> str:
        value = self._values.get(name)
        return name if value is None or name in _NAME.findall(value) else value

    def _assignments(self) -> Iterator[tuple[str, str]]:
        for match in _ASSIGNED.finditer(self._text):
            yield match[1], _expression(self._text, match.end(), ";,\n")

    def _bound(self, name: str) -> str:
        """The first expression over the problem's sizes that the name is compared with."""
        for match in re.finditer(rf"\b{re.escape(name)}(?:\[[^\]]*\])?\s*(?:<(?![<=])|>=)\s*", self._text):
            expression = _expression(self._text, match.end(), ";,\n?:&|=")
            names = _NAME.findall(expression)
            if _ARITHMETIC.fullmatch(expression) and names and all(name in self._sizes for name in names):
                return _NAME.sub(lambda match: self._sizes[match[0]], " ".join(expression.split()))
        return ""


def _expression(text: str, start: int, stops: str) -> str:
    """From here to the first of the stops, or to a bracket that was not opened here."""
    depth = 0
    end = min(len(text), start + _LONGEST)
    for at in range(start, end):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        if depth < 0 or (not depth and text[at] in stops):
            return text[start:at].strip()
    return text[start:end].strip()
