"""Products of a block's number and a size: found in PTX, and the block from which 32 bits do not hold them."""

from __future__ import annotations

import pytest

import gridstride as gs
from gridstride.judge.execution.block_products import BlockProduct, block_products

CHUNKS = """
__global__ void k(float* x, int n, long long m)
{
    unsigned begin = blockIdx.x * (unsigned)n / gridDim.x;
    unsigned end = (blockIdx.x + 1) * (unsigned)n / gridDim.x;
    for (unsigned i = begin + threadIdx.x; i < end; i += blockDim.x) x[i] = 0.0f;
}
"""


def products(source: str) -> tuple[BlockProduct, ...]:
    return block_products(gs.cuda(source).ptx)


def test_a_cut_into_chunks_has_one() -> None:
    """The end's is the beginning's and n more: the compiler makes one of two."""
    (product,) = products(CHUNKS)
    assert (product.line, product.axis, product.more, product.sizes) == (4, 0, 0, {"p1"})


def test_products_of_64_bits_are_none() -> None:
    assert products(CHUNKS.replace("(unsigned)n", "(unsigned long long)n")) == ()


def test_the_place_of_a_thread_is_none() -> None:
    assert not products("__global__ void k(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
                        " if (i < n) x[i] = 0.0f; }")  # fmt: skip


def test_what_depends_on_an_expression_of_sizes_and_another_axis() -> None:
    (product,) = products(
        "__global__ void k(float* x, int rows, int columns)"
        " { x[blockIdx.y * (rows * columns + 4u) / gridDim.y] = 0.0f; }"
    )
    assert (product.axis, product.sizes) == (1, frozenset({"p1", "p2"}))


@pytest.mark.parametrize(
    "body",
    [
        "if (blockIdx.x < 16) x[blockIdx.x * (unsigned)n / gridDim.x] = 0.0f;",
        "if (blockIdx.x >= 32) return; x[blockIdx.x * (unsigned)n / gridDim.x] = 0.0f;",
        "unsigned b = blockIdx.x * (unsigned)n / gridDim.x; x[blockIdx.x < 32 ? b : blockIdx.x] = 0.0f;",
        "unsigned lo = blockIdx.x * (unsigned)n, hi = __umulhi(blockIdx.x, n);"
        " x[((unsigned long long)hi << 32 | lo) / gridDim.x] = 0.0f;",
        "x[(threadIdx.x + blockIdx.x * (unsigned)n) % 256] = 0.0f;",
        "x[blockIdx.x * 256 + (threadIdx.x + blockIdx.x * (unsigned)n & 255)] = 0.0f;",
        "unsigned b = blockIdx.x * (unsigned)n / (n + 1); x[blockIdx.x < 32 ? b : 0] = 0.0f;",
        "__nanosleep(blockIdx.x * (unsigned)n >> 20); x[threadIdx.x] = 0.0f;",
        "__nanosleep(blockIdx.x * (unsigned)n & 63); x[threadIdx.x] = 0.0f;",
        "x[(blockIdx.x * 2654435761u + (unsigned)n) % gridDim.x] = 0.0f;",
    ],
)
def test_what_may_wrap_or_is_guarded_is_none(body: str) -> None:
    assert products(f"__global__ void k(float* x, int n) {{ {body} }}") == ()


def test_the_first_block_that_wraps() -> None:
    """16 times 2^28 is 2^32."""
    one = BlockProduct(line=4, axis=0, more=0, factor=("p1", "as.u32"))
    sizes = {"p1": 1 << 28}
    assert one.wraps((264, 1, 1), (256, 1, 1), sizes) == 16
    assert one.wraps((17, 1, 1), (256, 1, 1), sizes) == 16
    assert one.wraps((16, 1, 1), (256, 1, 1), sizes) is None
    assert BlockProduct(4, 0, 1, ("p1", "as.u32")).wraps((16, 1, 1), (256, 1, 1), sizes) == 15
    assert one.wraps((264, 1, 1), (256, 1, 1), {"p2": 5}) is None


def test_only_as_many_shares_as_blocks_count() -> None:
    """A constant that is their number divides, too; half of them, or a turn of threads, is no share."""
    sizes, block = {"p1": 1 << 28}, (256, 1, 1)
    for divisor, blocks, wraps in (((256,), 256, 16), ((256,), 264, None), (("g0",), 264, 16), (("p1",), 264, None)):
        one = BlockProduct(4, 0, 0, ("p1", "as.u32"), divisor)
        assert one.wraps((blocks, 1, 1), block, sizes) == wraps
    (fixed,) = products("__global__ void k(float* x, int n) { x[blockIdx.x * (unsigned)n / 256] = 0.0f; }")
    assert fixed.divisor == (256,)


def test_a_product_of_other_places() -> None:
    one = BlockProduct(line=4, axis=0, more=0, factor=("p1", "g0", "mul.u32"))
    moved = one.moved([None, 3])
    assert moved is not None
    assert moved.factor == ("p3", "g0", "mul.u32")
    assert one.moved([0, None]) is None
    assert one.moved([0]) is None


@pytest.mark.parametrize(
    "wrong",
    [{"axis": 3}, {"more": -1}, {"factor": ("p1", "mul.u32")}, {"factor": ()}, {"factor": ("boom",)}],
    ids=str,
)
def test_what_is_no_product_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no product"):
        BlockProduct(**{"line": 1, "axis": 0, "more": 0, "factor": ("p1",), **wrong})  # type: ignore[arg-type]
