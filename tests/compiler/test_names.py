"""Names of kernels from their mangled names."""

from __future__ import annotations

import pytest

from gridstride.compiler import compile_cuda
from gridstride.compiler.names import source_name


@pytest.mark.parametrize(
    ("lowered", "name"),
    [
        ("saxpy", "saxpy"),
        ("_Z5saxpyifPKfPf", "saxpy"),
        ("_ZN2ns4tileEPf", "ns::tile"),
        ("_ZN1a1b1cEv", "a::b::c"),
        ("_Z4tileIfLi16EEvPT_", None),
        ("_ZN2ns4tileIfEEvPT_", None),
        ("_Z", None),
        ("_ZN", None),
    ],
)
def test_a_lowered_name_gives_the_source_name(lowered: str, name: str | None) -> None:
    assert source_name(lowered) == name


def test_kernels_with_internal_linkage_are_named_as_in_the_source() -> None:
    source = "static __global__ void s(int* x) {}\nnamespace { __global__ void a(int* x) {} }"
    names = compile_cuda(source, names=["s", "a"]).names
    assert set(names) == {"s", "a"}
