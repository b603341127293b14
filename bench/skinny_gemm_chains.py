"""Chains of a decoder's products, for bench/skinny_gemm_h200.py: what multiplies, and how layers feed one another."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.cut import TilingRule, by_rule
from gridstride.kernels.skinny_gemm.op import launch, skinny_gemm
from gridstride.serve.runner.cuda import linear

Work = Callable[[], None]
Product = Callable[[Tensor, Tensor, bool], Tensor]


def products() -> dict[str, Product]:
    """What is compared: (x, weight, whether a gate belongs behind it) -> what the next product is fed with."""
    return {
        "cuBLAS": lambda x, w, gate: silu_mul(F.linear(x, w)) if gate else F.linear(x, w),
        "plain": lambda x, w, gate: skinny_gemm(x, w, gated=gate),
        "early": lambda x, w, gate: skinny_gemm(x, w, gated=gate, fixed_weights=True),
        "served": lambda x, w, gate: linear.gated_linear(x, w) if gate else linear.linear(x, w),
    }


def by(rule: TilingRule, multiprocessors: int, kept: list[tuple[int, Tensor]] | None = None) -> Product:
    """Products cut by a rule; into `kept` go their sizes and what blocks say of their cycles, without gates."""
    more = {} if kept is None else {"TIMES": 1}

    def each(x: Tensor, w: Tensor, gate: bool) -> Tensor:
        (n, k), gated = w.shape, gate and kept is None
        chosen = by_rule(rule, len(x), n, k, multiprocessors=multiprocessors)
        assert chosen is not None
        y = x.new_empty(len(x), n // 2 if gated else n)
        launch(chosen, x, w, None, y, gated=gated, fixed_weights=True, **more)
        if kept is not None:
            kept.append((n * k, y))
        return y

    return each


def chain(x: Tensor, layers: list[dict[str, Tensor]], each: Product) -> Work:
    """All layers; of a result that is wider than the next product wants, as many elements as that takes."""

    def part(y: Tensor, width: int) -> Tensor:
        return y.view(-1, width)[: len(x)]

    def work() -> None:
        state = x
        for layer in layers:
            seen = part(each(state, layer["qkv"], False), 2048)
            state = each(seen, layer["output"], False)
            state = each(part(each(state, layer["gated"], True), 3072), layer["down"], False)

    return work
