"""C types as kernels' parameters name them, and the NumPy dtypes that fit."""

from __future__ import annotations

from collections.abc import Sequence

_INTEGER_WORDS = frozenset({"unsigned", "signed", "long", "short", "int", "char"})
_TYPE_WORDS = _INTEGER_WORDS | {"float", "double", "bool", "void", "half", "auto"}
_GLUED_LEFT = frozenset({"*", "&", "::", "<", ">", ",", ")", "[", "]", "."})
_GLUED_RIGHT = ("::", "<", "(", "[", "(*", "(&")
_QUALIFIERS = frozenset({"const", "volatile", "constexpr"})

_DTYPES = {
    "float": "float32", "double": "float64", "bool": "bool",
    "half": "float16", "__half": "float16", "__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3fn", "__nv_fp8_e5m2": "float8_e5m2",
    "size_t": "uint64", "ssize_t": "int64", "ptrdiff_t": "int64", "intptr_t": "int64", "uintptr_t": "uint64",
    "uint": "uint32", "uchar": "uint8", "ushort": "uint16",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "cuFloatComplex": "complex64", "cuComplex": "complex64", "float_complex": "complex64",
    "cuDoubleComplex": "complex128",
}  # fmt: skip
_SCALARS = {
    "float": "float32", "double": "float64", "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16",
    "int": "int32", "uint": "uint32", "longlong": "int64", "ulonglong": "uint64",
}  # fmt: skip
# An array passed for `float4*` is an array of float: CUDA's vector types count when pointed to.
_VECTORS = {
    **{f"{name}{n}": dtype for name, dtype in _SCALARS.items() for n in (1, 2, 3, 4)},
    "half2": "float16", "__half2": "float16", "__nv_bfloat162": "bfloat16", "nv_bfloat162": "bfloat16",
}  # fmt: skip


class Aliases:
    """Names that a source gives to types by `using`, typedef and `#define`."""

    def __init__(self) -> None:
        self._meaning: dict[str, list[str]] = {}

    def define(self, words: Sequence[str]) -> None:
        """`NAME type…` of a #define; a macro with parameters or with anything but words is none of ours."""
        if len(words) > 1 and all(word.isidentifier() or word in {"*", "::"} for word in words):
            self._meaning.setdefault(words[0], list(words[1:]))

    def declare(self, words: Sequence[str]) -> None:
        """`using NAME = type` or `typedef type NAME`."""
        if words[0] == "using" and len(words) > 3 and words[2] == "=":
            self._meaning.setdefault(words[1], list(words[3:]))
        elif words[0] == "typedef" and len(words) > 2 and words[-1].isidentifier() and "{" not in words:
            self._meaning.setdefault(words[-1], list(words[1:-1]))

    def expand(self, words: Sequence[str], depth: int = 8) -> list[str]:
        """The words with aliases replaced by what they stand for; depth ends a circle."""
        expanded: list[str] = []
        for word in words:
            meaning = self._meaning.get(word)
            expanded += self.expand(meaning, depth - 1) if meaning and depth else [word]
        return expanded


def is_type_word(word: str) -> bool:
    """Whether a word is part of a built-in type, so that it cannot be a parameter's name."""
    return word in _TYPE_WORDS or word in _QUALIFIERS


def dtype_of(words: Sequence[str]) -> str | None:
    """NumPy's name for a type, for one pointer for what it points to; None for what no array element can be."""
    plain = [word for word in words if word not in _QUALIFIERS and word not in {"&", "std", "cuda", "::"}]
    pointers = plain.count("*")
    plain = [word for word in plain if word != "*"]
    if pointers > 1 or not plain:
        return None
    if _INTEGER_WORDS.issuperset(plain):
        return _integer(plain)
    if len(plain) > 1:
        return None
    return _DTYPES.get(plain[0]) or (_VECTORS.get(plain[0]) if pointers else None)


def _integer(words: Sequence[str]) -> str:
    bits = 8 if "char" in words else 16 if "short" in words else 64 if "long" in words else 32
    return f"uint{bits}" if "unsigned" in words else f"int{bits}"


def spell(words: Sequence[str]) -> str:
    """Tokens as one writes them: `const float* const*`, `ns::pair<int, 2>`."""
    text = ""
    for word in words:
        glued = not text or word in _GLUED_LEFT or text.endswith(_GLUED_RIGHT) or (word == "(" and text[-1] == ")")
        text += word if glued else f" {word}"
    return text
