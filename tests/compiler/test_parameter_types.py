"""C types of parameters: the dtype that fits, aliases, and how they are spelled."""

from __future__ import annotations

import pytest

from gridstride.compiler.parameter_types import Aliases, dtype_of, is_type_word, spell


@pytest.mark.parametrize(
    ("words", "dtype"),
    [
        ("float", "float32"), ("const double * __restrict__", None), ("const double *", "float64"),
        ("unsigned long long", "uint64"), ("unsigned char", "uint8"), ("short int", "int16"), ("signed", "int32"),
        ("float4 *", "float32"), ("float4", None), ("__half2 *", "float16"), ("half", "float16"),
        ("std :: size_t", "uint64"), ("cuda :: std :: int8_t &", "int8"), ("float * *", None), ("Mine", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_dtype_of_a_type(words: str, dtype: str | None) -> None:
    assert dtype_of(words.split()) == dtype


def test_names_stand_for_what_the_source_says() -> None:
    aliases = Aliases()
    aliases.declare("using real = float".split())
    aliases.declare("typedef const real * input".split())
    aliases.define("INDEX unsigned long long".split())
    assert aliases.expand(["input"]) == ["const", "float", "*"]
    assert dtype_of(aliases.expand(["INDEX"])) == "uint64"


def test_what_is_no_alias_of_a_type_is_left_alone() -> None:
    aliases = Aliases()
    aliases.define(["N", "1024"])
    aliases.declare("typedef struct { int x ; } pair".split())
    assert aliases.expand(["N", "pair"]) == ["N", "pair"]


def test_names_that_stand_for_one_another_come_to_an_end() -> None:
    aliases = Aliases()
    aliases.declare("using a = b".split())
    aliases.declare("using b = a".split())
    assert aliases.expand(["a"]) in (["a"], ["b"])


def test_the_first_definition_counts() -> None:
    aliases = Aliases()
    for meaning in ("float", "double"):
        aliases.define(["T", meaning])
    assert aliases.expand(["T"]) == ["float"]


def test_a_parameter_is_not_named_like_a_type() -> None:
    assert is_type_word("unsigned")
    assert is_type_word("const")
    assert not is_type_word("x")


@pytest.mark.parametrize(
    ("words", "text"),
    [("const float * const *", "const float* const*"), ("ns :: pair < int , 2 >", "ns::pair<int, 2>"),
     ("float ( & ) [ 4 ]", "float (&)[4]")],
)  # fmt: skip
def test_tokens_are_spelled_as_one_writes_them(words: str, text: str) -> None:
    assert spell(words.split()) == text
