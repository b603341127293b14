"""Products of 32 bits with a size in them: found in PTX, and what they can be at most in a launch."""

from __future__ import annotations

import pytest

import gridstride as gs
from gridstride.judge.cases.size_products import HELD, SizeProduct, size_products
from gridstride.judge.header import LaunchShape

SHAPE = LaunchShape((264, 3, 1), (256, 1, 1))
SIZES = {"p1": 1 << 26, "p2": 100}
CUT = "unsigned b = FIRST * (unsigned)n / gridDim.x; for (unsigned i = b; i < n; i += 256) x[i] = 0.0f;"


def products(body: str, *, before: str = "") -> tuple[SizeProduct, ...]:
    return size_products(gs.cuda(f"{before}\n__global__ void k(float* x, int n, int m)\n{{ {body} }}").ptx)


@pytest.mark.parametrize(
    ("first", "most"),
    [
        ("blockIdx.x", 264 << 26),
        ("(blockIdx.x + 1)", 265 << 26),
        ("(gridDim.x - 1 - blockIdx.x)", 2 * 264 << 26),  # ~blockIdx.x + gridDim.x
        ("(blockIdx.x * 8 + threadIdx.x / 32)", (264 * 8 + 8) << 26),
        ("threadIdx.x", 256 << 26),
        ("(unsigned)m", 100 << 26),
        ("atomicAdd((unsigned *)x, 1u)", 264 * 3 << 26),
    ],
)
def test_a_share_that_is_cut_by_a_product_has_a_bound(first: str, most: int) -> None:
    found = products(CUT.replace("FIRST", first))
    assert max(product.largest(SHAPE, SIZES) for product in found) == most
    assert {product.line for product in found} == {3}


def test_behind_a_branch_and_in_a_function_too() -> None:
    behind = "if (n > 4096) { " + CUT.replace("FIRST", "blockIdx.x") + " }"
    assert any(product.wraps(SHAPE, SIZES) for product in products(behind))
    function = "__device__ __noinline__ unsigned cut(unsigned k, unsigned n, unsigned of) { return k * n / of; }"
    assert any(product.wraps(SHAPE, SIZES) for product in products("x[cut(blockIdx.x, n, m)] = 0.0f;", before=function))


def test_what_is_not_followed_beside_a_block_s_number_may_be_any_size() -> None:
    body = "int k = n; for (int i = 0; i < m; ++i) k = x[i] > 0 ? n : m; x[blockIdx.x * k / 100] = 0.0f;"
    assert any(product.largest(SHAPE, SIZES) == 264 << 26 for product in products(body))


@pytest.mark.parametrize(
    "body",
    [
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 0.0f;",
        "unsigned long long b = (unsigned long long)blockIdx.x * n / gridDim.x; x[b] = 0.0f;",
        "x[blockIdx.y * 4096 + threadIdx.x * 4] = 0.0f;",
        "x[threadIdx.x] = expf(x[blockIdx.x]) + (((int *)x)[1] << 24 | ((int *)x)[2] << 16);",
        "x[(blockIdx.x * 2654435761u ^ n * 2246822519u) % 7] = 0.0f;",
    ],
)
def test_what_32_bits_hold_and_what_a_hash_makes_says_nothing(body: str) -> None:
    assert not any(product.wraps(SHAPE, SIZES) for product in products(body))


@pytest.mark.parametrize(
    ("most", "largest"),
    [
        (("p1", -4, "and.b32"), 1 << 26),
        (("p1", 255, "and.b32"), 255),
        (("p1", -1, "add.s32"), (1 << 26) - 1),
        (("p2", -3, "mul.s32"), 300),
        (("p2", "neg.s32", "p2", "sub.s32"), 100),
    ],
)
def test_negative_numbers_mask_and_take_away(most: tuple[str | int, ...], largest: int) -> None:
    most = tuple(token.replace("b32", "u32") if isinstance(token, str) else token for token in most)
    assert SizeProduct(1, most).largest(SHAPE, SIZES) == largest


def test_a_product_moves_with_its_arguments() -> None:
    product = SizeProduct(1, ("p1", "g0", "mul.s64"))
    moved = product.moved([0, 4])
    assert moved is not None
    assert moved.most == ("p4", "g0", "mul.s64")
    assert product.moved([0, None]) is None
    assert product.largest(SHAPE, {"p4": 1}) == 0


def test_the_bound_is_what_a_signed_number_holds() -> None:
    assert HELD == 2**31 - 1
    with pytest.raises(ValueError, match="no expression"):
        SizeProduct(1, ("p1", "g0"))
