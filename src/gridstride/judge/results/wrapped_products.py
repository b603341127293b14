"""Products of a block's number and a size that 32 bits do not hold at the timed size, whose grid is not run here."""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.judge.cases.size_conditions import ORDERS, SizeCondition
from gridstride.judge.execution.block_products import BITS, BlockProduct
from gridstride.judge.problem import Problem
from gridstride.judge.verdict import Finding

_SMALL = 4096  # a size below which a kernel may well go another way without having anything to do with 32 bits


def wrapped_products(
    problem: Problem,
    products: Sequence[BlockProduct],
    conditions: Sequence[SizeCondition],
    *,
    grid: Sequence[int],
    block: Sequence[int],
) -> tuple[Finding, ...]:
    """A finding for the first that wraps in the timed size's launch. A kernel that goes other ways above some size may
    have one in 64 bits there: nothing is said of it.
    """
    if any(c.comparison in ORDERS and any(abs(number) > _SMALL for number in c.constants) for c in conditions):
        return ()
    sizes = {f"p{i}": problem.timed[p.name] for i, p in enumerate(problem.parameters) if p.name in problem.timed}
    for product in products:
        first = product.wraps(grid, block, sizes)
        if first is not None:
            return (_finding(problem, product, first, grid[product.axis]),)
    return ()


def _finding(problem: Problem, product: BlockProduct, first: int, blocks: int) -> Finding:
    index = f"blockIdx.{'xyz'[product.axis]}"
    timed = " ".join(f"{name}={value}" for name, value in problem.timed.items())
    named = {f"p{i}": p.name for i, p in enumerate(problem.parameters)}
    factor = " and ".join(sorted(named[size] for size in product.sizes))
    message = (
        f"{index} times {factor} is made in {BITS} bits, which do not hold it from block {first:,} on, of the "
        f"{blocks:,} of the timed size ({timed}): it begins at 0 again there. No run here has so many blocks and so "
        f"large a size. Make it in 64 bits: (long long){index} * …"
    )
    return Finding("wrong_result", message, line=product.line or None)
