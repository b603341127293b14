"""Signatures on disk: the same as fresh ones, and read once per source."""

from __future__ import annotations

import pytest

from gridstride.compiler import signature_cache, signatures
from gridstride.compiler.signature_cache import cached_signatures

SOURCE = """
namespace ns {
template <typename T, int N = 4> __global__ void tile(const T* __restrict__ in, float4* out, unsigned n) {}
}
extern "C" __global__ void plain() {}
"""


def test_the_second_reading_of_a_source_gives_the_same_without_tokenizing(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = signatures(SOURCE)
    assert cached_signatures(SOURCE) == fresh
    assert list(fresh) == ["ns::tile", "plain"]
    monkeypatch.setattr(signature_cache, "signatures", None)
    assert cached_signatures(SOURCE) == fresh


def test_another_source_is_read_for_itself() -> None:
    assert cached_signatures(SOURCE) != cached_signatures(SOURCE.replace("unsigned n", "int n"))
