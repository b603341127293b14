"""Mutants of a kernel: its source with one small mistake of the kind that people make.

The changes are to text, found by patterns in code whose comments and preprocessor lines are left alone. Not every
mutant compiles, and not every one that does behaves differently.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake: its kind, the line it is in, what stood there and what stands there now, and the whole source."""

    kind: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.kind}, line {self.line}: {self.before} -> {self.after}"


Change = Callable[[re.Match[str]], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Mistake:
    kind: str
    pattern: re.Pattern[str]
    changes: Change


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a CUDA source, kind by kind."""
    code = _blanked(source)
    for mistake in _MISTAKES:
        for match in mistake.pattern.finditer(code):
            before = source[match.start() : match.end()]
            line = source.count("\n", 0, match.start()) + 1
            for after in mistake.changes(match):
                if after != before:
                    text = source[: match.start()] + after + source[match.end() :]
                    yield Mutant(mistake.kind, line, _short(before), _short(after), text)
    yield from _index_mutants(source, code)
    yield from _swapped_mutants(source, code)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:57]}…"


def _blanked(source: str) -> str:
    """The source with comments, strings, preprocessor lines and template lists as blanks of the same length."""
    hidden = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*|template\s*<[^>]*>'
                        r"|(?:static|reinterpret|const)_cast<[^>]*>", re.DOTALL | re.MULTILINE)  # fmt: skip
    return hidden.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source)


def _index_mutants(source: str, code: str) -> Iterator[Mutant]:
    """Subscripts that are one off; those of declarations, which are sizes, are left out."""
    for start, end in _subscripts(code):
        inner, line = source[start:end], source.count("\n", 0, start) + 1
        for step in ("+ 1", "- 1"):
            text = f"{source[:start]}({inner}) {step}{source[end:]}"
            yield Mutant("index off by one", line, f"[{_short(inner)}]", f"[{_short(inner)} {step}]", text)


def _swapped_mutants(source: str, code: str) -> Iterator[Mutant]:
    """Two subscripts in the wrong order, `tile[k][x]` for `tile[x][k]`; those of declarations are left out."""
    subscripts = list(_subscripts(code))
    for (start, end), (next_start, next_end) in itertools.pairwise(subscripts):
        first, second = source[start:end], source[next_start:next_end]
        if source[end:next_start] == "][" and first != second:
            line = source.count("\n", 0, start) + 1
            text = f"{source[:start]}{second}][{first}{source[next_end:]}"
            before, after = f"[{first}][{second}]", f"[{second}][{first}]"
            yield Mutant("swapped indices", line, _short(before), _short(after), text)


_TYPES = "float[234]?|double|u?int[234]?|unsigned|uchar[234]?|char|bool|long|half2?"
_DECLARATION = re.compile(rf"(?:__shared__|\b(?:{_TYPES}))[\w\s:<>*&]*(?:\[[^\]]*\])*\s*$")


def _subscripts(code: str) -> Iterator[tuple[int, int]]:
    for opening in re.finditer(r"\[", code):
        head = re.split(r"[;{},(]", code[: opening.start()])[-1]
        if _DECLARATION.search(head):
            continue
        depth, at = 1, opening.end()
        while at < len(code) and depth:
            depth += {"[": 1, "]": -1}.get(code[at], 0)
            at += 1
        if code[opening.end() : at - 1].strip():
            yield opening.end(), at - 1


def _numbers(match: re.Match[str]) -> tuple[str, ...]:
    value = int(match[0])
    return (str(value + 1), *((str(value - 1),) if value > 1 else ()))


def _to(**words: str) -> Change:
    return lambda match: (words[match[1]],)


_SIZES: dict[str, tuple[str, ...]] = {
    "M": ("N", "K"), "N": ("M", "K"), "K": ("N",), "width": ("height",), "height": ("width",),
    "rows": ("columns",), "columns": ("rows",),
}  # fmt: skip
_OTHER_AXIS = {"x": "y", "y": "x", "z": "x"}
_COMPARISONS = {"<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "==": ("!=",), "!=": ("==",)}

_MISTAKES = (
    _Mistake("dropped barrier", re.compile(r"__sync(?:threads|warp)\s*\([^;]*\)\s*;"), lambda m: (";",)),
    _Mistake("comparison", re.compile(r"(?<=[\w)\]] )(<=|>=|==|!=|<|>)(?= [\w(])"), lambda m: _COMPARISONS[m[1]]),
    _Mistake("dropped guard", re.compile(r"\bif\s*\(((?:[^()]|\([^()]*\))*)\)"), lambda m: ("if (true)",)),
    _Mistake("dropped return", re.compile(r"\bif\s*\((?:[^()]|\([^()]*\))*\)\s*return\s*;"), lambda m: (";",)),
    _Mistake("dropped accumulation", re.compile(r"(?<=[\w)\]] )\+=(?= )"), lambda m: ("=",)),
    _Mistake("wrong axis", re.compile(r"\b((?:thread|block)Idx|(?:block|grid)Dim)\.([xyz])\b"),
             lambda m: (f"{m[1]}.{_OTHER_AXIS[m[2]]}",)),
    _Mistake("block and thread", re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\b"),
             _to(threadIdx="blockIdx", blockIdx="threadIdx", blockDim="gridDim", gridDim="blockDim")),
    _Mistake("wrong size", re.compile(r"(?<=[*%<] )\b(M|N|K|width|height|rows|columns)\b"),
             lambda m: _SIZES[m[1]]),
    _Mistake("swapped indices", re.compile(r"(?<![\w.])([a-z_]\w*) \* (\w+) \+ ([a-z_]\w*)(?![\w.(\[])"),
             lambda m: (f"{m[3]} * {m[2]} + {m[1]}",)),
    _Mistake("wrong stride", re.compile(r"(?<=[*+/%] |= )\b\d+\b(?![.\w])"), _numbers),
    _Mistake("wrong sign", re.compile(r"(?<=[\w)\]] )([+\-])(?= [\w(])"), lambda m: ("-" if m[1] == "+" else "+",)),
    _Mistake("wrong operator", re.compile(r"(?<=[\w)\]] )([*/%])(?= [\w(])"),
             lambda m: ({"*": "+", "/": "*", "%": "/"}[m[1]],)),
    _Mistake("wrong connective", re.compile(r"&&|\|\|"), lambda m: ("||" if m[0] == "&&" else "&&",)),
    _Mistake("minimum and maximum", re.compile(r"\b(f?)(min|max)(f?)\b(?=\()"),
             lambda m: (m[1] + {"min": "max", "max": "min"}[m[2]] + m[3],)),
    _Mistake("half precision", re.compile(r"(?<=\+= )([^;{}]+)(?=;[ \t]*\n)"),
             lambda m: (f"gridstride_half({m[1]})",)),
)  # fmt: skip
"""Order and patterns are data: a mistake that people make and that is missing is one more line."""

HALF = """#include <cuda_fp16.h>
template <class T> __device__ T gridstride_half(T x) { return x; }
template <> __device__ inline float gridstride_half(float x) { return __half2float(__float2half(x)); }
"""
"""What a mutant of half precision needs ahead of its source."""


def compilable(mutant: Mutant) -> str:
    """The mutant's source with what it needs before it."""
    if mutant.kind != "half precision":
        return mutant.source
    return f"{HALF}#line 1\n{mutant.source}"
