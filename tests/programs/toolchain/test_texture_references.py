"""References of CUDA 11 in preprocessed text: which declarations become managed variables, and that lines stay."""

from __future__ import annotations

import pytest

from gridstride.programs.toolchain.texture_references import managed_references

MANAGED = "__attribute__((device)) __attribute__((managed)) "


@pytest.mark.parametrize(
    "declaration",
    [
        "texture<float> t;",
        "texture<float, 2, cudaReadModeElementType> t;",
        "texture<uchar4, 3, cudaReadModeNormalizedFloat> t(1, cudaFilterModeLinear);",
        "texture< float,1 > a, b;",
        "surface<void, 2> s;",
    ],
)
def test_a_reference_at_namespace_scope_is_managed(declaration: str) -> None:
    for before in ("int x;\n", "void f() {}\n", "namespace n {\n", '# 3 "a.cu"\n', "", 'extern "C" ', "int x; static "):
        assert managed_references(before + declaration) == before + MANAGED + declaration


def test_a_name_for_a_reference_type_counts_too() -> None:
    text = "typedef texture<int2, 1> pairs;\nusing image = texture<float, 2>;\npairs p;\nimage i;\nint q(pairs t);\n"
    expected = text.replace("pairs p;", f"{MANAGED}pairs p;").replace("image i;", f"{MANAGED}image i;")
    assert managed_references(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "void bind(texture<float, 1> &t);",
        "void bind(int n, texture<float, 1> t);",
        "template <class T> struct texture {};",
        "bool f(int texture) { return texture < 3; }",
        "int texture, surface;",
    ],
)
def test_other_uses_of_the_words_stay(text: str) -> None:
    assert managed_references(text) == text


def test_lines_stay_where_they_are() -> None:
    text = "int x;\n\ntexture<float,\n  2> t;\nint y;\n"
    assert [line[-6:] for line in managed_references(text).split("\n")] == [line[-6:] for line in text.split("\n")]
