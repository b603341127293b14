"""A block's number times a size: refused where the timed size's launch wraps it, and nowhere else."""

from __future__ import annotations

from gridstride.judge.cases.size_conditions import SizeCondition
from gridstride.judge.execution.block_products import BlockProduct
from gridstride.judge.find import find
from gridstride.judge.results.wrapped_products import wrapped_products
from gridstride.judge.verdict import Finding

PROBLEM = find("reduction").problem  # x, total, n; timed with 2^28 numbers
PRODUCT = BlockProduct(line=7, axis=0, more=0, factor=("p2", "as.u32"))


def findings(
    blocks: int, *, product: BlockProduct = PRODUCT, conditions: tuple[SizeCondition, ...] = ()
) -> tuple[Finding, ...]:
    return wrapped_products(PROBLEM, [product], conditions, grid=(blocks, 1, 1), block=(256, 1, 1))


def test_a_launch_that_wraps_is_a_wrong_result() -> None:
    (finding,) = findings(264)
    assert (finding.kind, finding.line) == ("wrong_result", 7)
    assert "blockIdx.x times n is made in 32 bits" in finding.message
    assert "from block 16 on, of the 264" in finding.message
    assert "n=268435456" in finding.message


def test_fewer_blocks_are_right() -> None:
    assert findings(16) == ()


def test_a_parameter_that_is_no_size_says_nothing() -> None:
    assert findings(264, product=BlockProduct(7, 0, 0, ("p1", "as.u32"))) == ()


def test_a_kernel_that_goes_another_way_for_large_sizes_is_left_alone() -> None:
    large = SizeCondition(("p2",), "gt", "s32", (1 << 20,))
    small = SizeCondition(("p2",), "gt", "s32", (32,))
    assert findings(264, conditions=(large,)) == ()
    assert len(findings(264, conditions=(small,))) == 1
