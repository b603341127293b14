"""An access that leaves the shared array it is made from is found, though its address is another array's."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.errors import variable_name

ARRAYS = "__shared__ float s[64]; __shared__ float t[64]; __shared__ unsigned bins[8]; int i = threadIdx.x;"
FILL = "s[i] = x[i]; t[i] = 2 * x[i]; if (i < 8) bins[i] = 0; __syncthreads();"


def said(body: str, *, n: int = 0, head: str = "", shared: int = 0) -> list[str]:
    """What is found when 64 threads run the body with these arrays, filled."""
    source = f"{head}__global__ void k(const float* x, const int* at, float* o, int n) {{ {ARRAYS} {FILL} {body} }}"
    x, at, o = np.ones(64, np.float32), np.arange(64, dtype=np.int32) % 8, np.zeros(64, np.float32)
    with gs.use(gs.VirtualGPU("h200")):
        return [each.message for each in gs.cuda(source)["k"].observe(1, 64, shared)(x, at, o, n).findings]


def test_past_the_end_is_another_arrays() -> None:
    (message,) = said("o[i] = s[i + n] + t[i] + bins[i & 7];", n=1)
    assert message == (
        "read of 4 bytes at offset 256 of shared memory, just past the end of s, which has 256 bytes: what lies there "
        "is another array's"
    )


@pytest.mark.parametrize(
    ("body", "n", "where"),
    [
        ("o[i] = t[i + n] + s[i] + bins[i & 7];", -3, "offset 244 of shared memory, 12 bytes before the start of t"),
        ("o[i] = t[i + n] + s[i] + bins[i & 7];", -1, "offset 252 of shared memory, just before the start of t"),
        ("t[2 * i + n] = 1; __syncthreads(); o[i] = s[i] + t[i] + bins[i & 7];", 0, "past the end of t"),
        ("atomicAdd(&bins[at[i] - n], 1u); __syncthreads(); o[i] = s[i] + t[i];", 1, "just before the start of bins"),
        ("float4 v = *(float4*)&s[4 * (i / 4) + n]; o[i] = v.w + t[i];", 4, "past the end of s"),
        ("float* p = s; for (int k = 0; k <= n; ++k) p += 8; o[i] = *p + t[i];", 7, "just past the end of s"),
    ],
)
def test_each_kind_of_access_is_held_to_its_array(body: str, n: int, where: str) -> None:
    found = said(body, n=n)
    assert len(found) == 1, found
    assert where in found[0]


@pytest.mark.parametrize(
    ("body", "n"),
    [
        ("o[i] = s[i + n] + t[63 - i] + bins[at[i]];", 0),
        ("float* p = n ? s : t; o[i] = p[i + 64 * n];", 1),  # into either: nobody can tell which was meant
        ("float* p[2] = {s, t}; o[i] = p[at[i] & 1][i];", 0),
        ("struct Two { float a[32], b[32]; }; Two& q = *(Two*)s; o[i] = q.a[i] + t[i];", 0),
        ("o[i] = *(s + i - 1000 + 1000) + t[i];", 0),
        ("for (float *p = s, *end = s + 64; p < end; p += 64) o[i] = p[i] + t[i];", 0),
    ],
)
def test_what_stays_in_its_array_or_may_be_in_several_is_fine(body: str, n: int) -> None:
    assert [message for message in said(body, n=n) if "another array" in message] == []


def test_dynamic_shared_memory_has_no_end_but_a_start() -> None:
    head = "extern __shared__ float dynamic[];"
    body = "dynamic[i] = 1; __syncthreads(); o[i] = dynamic[i - n] + s[i] + t[i] + bins[i & 7];"
    assert said(body, head=head, shared=256) == []
    (message,) = said(body, n=1, head=head, shared=256)
    assert "just before the start of dynamic: what lies there" in message


@pytest.mark.parametrize(
    ("mangled", "name"),
    [("_ZZ4scanPKfPfiE1s", "s"), ("_ZZ1kPfE4tile_0", "tile"), ("tile", "tile"), ("_ZN1a1bE", "a::b")],
)
def test_a_variable_of_a_function_has_its_own_name(mangled: str, name: str) -> None:
    assert variable_name(mangled) == name
