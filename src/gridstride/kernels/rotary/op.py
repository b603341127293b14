"""gridstride::rotary: the two halves of each head turned by the angles of its position, and back for the gradient."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor

from gridstride.kernels.autocast import JOIN
from gridstride.kernels.boundary import of_gradient, with_gradient
from gridstride.kernels.torch_op import ceil_div, check, check_float, element, launcher

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("rotary(Tensor x, Tensor cosine, Tensor sine, bool back=False) -> Tensor")
_THREADS, _HEADS = 256, 4  # heads of a thread
_MOST_ROWS = 1 << 31
_LEADING = "leading axes may be 1"


def rotary(x: Tensor, cosine: Tensor, sine: Tensor, back: bool = False) -> Tensor:
    """low cos - high sin and high cos + low sin of the halves of each head of x [..., S, H, D]; `back` turns back.

    cosine and sine [..., S, D/2] are of x's dtype; so may be rows of D numbers whose halves are the same, as
    transformers have them. Their leading axes are x's, or 1. They have no gradient.
    """
    out: Tensor = _call(x, cosine, sine, back)
    return out


def _check(x: Tensor, cosine: Tensor, sine: Tensor) -> int:
    """How many rows the tables have."""
    check_float(x, "x")
    check(x.dim() >= 3 and x.shape[-1] % 2 == 0 and x.shape[-1] > 0, "x", x, "[..., S, H, D] with an even D")
    rows, half = x.shape[:-2], x.shape[-1] // 2
    check(prod(rows) < _MOST_ROWS, "x", x, "less than 2^31 tokens")
    for name, table in (("cosine", cosine), ("sine", sine)):
        fits = table.dim() > 1 and _leads(table.shape[:-1], rows) and table.shape[-1] in (half, 2 * half)
        fits = fits and table.dtype == x.dtype and table.device == x.device
        check(fits, name, table, lambda: f"{x.dtype} {(*rows, half)} or {(*rows, 2 * half)} on {x.device}, {_LEADING}")
        check(not table.requires_grad, name, table, "what has a gradient: the op has none for it")
    check(cosine.shape == sine.shape, "sine", sine, lambda: f"{tuple(cosine.shape)}, as cosine is")
    return prod(cosine.shape[:-1])


def _leads(lead: torch.Size, rows: torch.Size) -> bool:
    """Whether a table's leading axes are x's, or 1. One size at a time: comparing tuples of them, or putting them into
    a set, would compile a graph for each length of a sequence.
    """
    if len(lead) > len(rows) or lead[-1] != rows[-1]:
        return False
    every = len(lead) == len(rows) and all([mine == its for mine, its in zip(lead, rows, strict=True)])  # noqa: C419
    return every or all([size == 1 for size in lead[:-1]])  # noqa: C419


@torch.library.impl(_LIBRARY, "rotary", "CUDA")
def _cuda(x: Tensor, cosine: Tensor, sine: Tensor, back: bool = False) -> Tensor:
    table_rows = _check(x, cosine, sine)
    heads, width = x.shape[-2:]
    vector = 16 // x.element_size()
    check(width % (2 * vector) == 0, "x", x, lambda: f"heads of a multiple of {2 * vector} numbers on a GPU")
    x, out = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
    run = launcher("rotary", "03_heads", x.device, ELEMENT=element(x), HEAD_WIDTH=width, HEADS=_HEADS)
    if x.numel():
        rows = x.numel() // (heads * width)
        blocks = ceil_div(rows * ceil_div(heads, _HEADS) * (width // 2 // vector), _THREADS)
        tables, gap = (cosine.contiguous(), sine.contiguous()), cosine.shape[-1] - width // 2
        run((blocks, 1, 1), _THREADS, x, *tables, out, rows, heads, table_rows, gap, -1.0 if back else 1.0)
    return out


@torch.library.impl(_LIBRARY, "rotary", "CPU")
def _cpu(x: Tensor, cosine: Tensor, sine: Tensor, back: bool = False) -> Tensor:
    _check(x, cosine, sine)
    half, wide = x.shape[-1] // 2, torch.float64 if x.dtype == torch.float64 else torch.float32
    low, high = x.to(wide).split(half, dim=-1)
    c, s = (table[..., :half].to(wide).unsqueeze(-2) for table in (cosine, sine))
    s = -s if back else s
    return torch.cat((low * c - high * s, high * c + low * s), dim=-1).to(x.dtype)


@torch.library.register_fake("gridstride::rotary")
def _fake(x: Tensor, cosine: Tensor, sine: Tensor, back: bool = False) -> Tensor:
    _check(x, cosine, sine)
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, bool], output: Tensor) -> None:
    _, cosine, sine, ctx.back = inputs
    ctx.save_for_backward(cosine, sine)


def _gradient(ctx: Any, dy: Tensor) -> tuple[Tensor, None, None, None]:
    tables = ctx.saved_tensors
    op = of_gradient(torch.ops.gridstride.rotary, _cuda, dy, *tables)
    return op(dy, *tables, not ctx.back), None, None, None


_call = with_gradient("gridstride::rotary", _cuda, keep=_keep, gradient=_gradient, autocast=JOIN)
