"""gridstride::conv2d: convolutions of images, 3x3 of channels-last halves by our rung, all others by PyTorch's own."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.autocast import autocast_products
from gridstride.kernels.boundary import need_number, need_tensors, with_gradient
from gridstride.kernels.torch_op import ceil_div, check, check_float, launcher, multiprocessors, properties

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define(
    "conv2d(Tensor x, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups)"
    " -> Tensor"
)
_RUNG = "07_shared_rows"
_THREADS = 384
_SHARED = 4 * 2 * (128 * 64 + 64 * 256) + 2 * 2 * 2 * 64 * 64  # bytes, as the rung's header says
_MACROS: dict[torch.dtype, dict[str, object]] = {torch.float16: {}, torch.bfloat16: {"BFLOAT16": 1}}
_NARROW = 64
_MOST = (1 << 31) - 256  # pixels or channels that the kernel counts in an int, with a tile more

Pair = tuple[int, int]


def conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, stride: int | Pair = 1, padding: int | Pair = 0,
    dilation: int | Pair = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The convolution [N, K, H', W'] of x [N, C, H, W] with weight [K, C / groups, R, S], fp32 inside, plus bias [K].

    As torch.nn.functional.conv2d, and its gradient is PyTorch's. `conv2d_kernel` says which kernel runs. The result is
    channels-last in memory where x is. ValueError for shapes that do not fit.
    """
    need_tensors("gridstride::conv2d", x=x, weight=weight, **({} if bias is None else {"bias": bias}))
    sides = _pair("stride", stride), _pair("padding", padding), _pair("dilation", dilation)
    need_number("gridstride::conv2d", "groups", groups, whole=True)
    x, weight, bias = autocast_products(x, weight, bias)
    _check(x, weight, bias, *sides, groups)
    out: Tensor = _call(x, weight, bias, *sides, groups)
    return out


def conv2d_kernel(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, stride: int | Pair = 1, padding: int | Pair = 0,
    dilation: int | Pair = 1, groups: int = 1,
) -> str:  # fmt: skip
    """Which kernel `conv2d` runs: a rung's name, or "PyTorch: " and why. ValueError for shapes that do not fit."""
    need_tensors("gridstride::conv2d", x=x, weight=weight, **({} if bias is None else {"bias": bias}))
    sides = _pair("stride", stride), _pair("padding", padding), _pair("dilation", dilation)
    need_number("gridstride::conv2d", "groups", groups, whole=True)
    _check(x, weight, bias, *sides, groups)
    reason = _fallback_reason(x, weight, *sides, groups)
    return f"PyTorch: {reason}" if reason else _RUNG


def _pair(name: str, value: int | Pair) -> list[int]:
    """Down and across; TypeError for what is neither a whole number nor two of them."""
    pair = list(value) if isinstance(value, tuple | list) else [value, value]
    if len(pair) != 2 or not all(isinstance(side, int | torch.SymInt) for side in pair):
        raise TypeError(f"gridstride::conv2d: {name} is {value!r}, not a whole number or a pair of them")
    return pair


def _fallback_reason(
    x: Tensor, weight: Tensor, stride: list[int], padding: list[int], dilation: list[int], groups: int
) -> str:
    """Why the rung does not run for these; empty where it runs."""
    kernel = tuple(weight.shape[2:])
    if kernel != (3, 3) or groups != 1 or list(dilation) != [1, 1]:
        return f"a filter of {kernel[0]} x {kernel[1]}, dilation {tuple(dilation)}, {groups} groups is not 3 x 3, 1, 1"
    if list(stride) != [1, 1] or list(padding) != [1, 1]:
        return f"stride {tuple(stride)} and padding {tuple(padding)} are not 1 and 1"
    if x.dtype not in _MACROS:
        return f"dtype {x.dtype} is not one of {', '.join(map(str, _MACROS))}"
    if not x.is_contiguous(memory_format=torch.channels_last):
        return f"x with strides {tuple(x.stride())} is not channels-last: use x.to(memory_format=torch.channels_last)"
    if x.shape[1] % 8 or weight.shape[0] % 8:
        return f"{x.shape[1]} or {weight.shape[0]} channels are no multiple of 8"
    if not x.numel() or not weight.numel() or max(x.numel() // x.shape[1], weight.shape[0]) > _MOST:
        return f"x of shape {tuple(x.shape)} has no pixels, no channels or more than {_MOST} of them"
    if not x.is_cuda:
        return f"tensors are on {x.device}"
    if x.data_ptr() % 16:
        return "x does not begin at a multiple of 16 bytes"
    if weight.shape[0] <= _NARROW:
        return f"with {_NARROW} filters and fewer cuDNN takes 0.8 of the rung's time, bench/results/ops_h200.json"
    gpu = properties(x.device)
    if gpu.compute_capability != (9, 0):
        return f"{gpu.name} has no wgmma"
    return ""


@torch.library.impl(_LIBRARY, "conv2d", "CUDA")
def _cuda(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: list[int], padding: list[int], dilation: list[int],
    groups: int,
) -> Tensor:  # fmt: skip
    if _fallback_reason(x, weight, stride, padding, dilation, groups):
        return _torchs(x, weight, bias, stride, padding, dilation, groups)
    weight = weight.contiguous(memory_format=torch.channels_last)
    weight = weight if weight.data_ptr() % 16 == 0 else weight.clone(memory_format=torch.channels_last)
    out = _fake(x, weight, bias, stride, padding, dilation, groups)
    n, c, h, w = x.shape
    k = weight.shape[0]
    run = launcher("convolution_half", _RUNG, x.device, **_MACROS[x.dtype])
    clusters = min(max(1, multiprocessors(x.device) // 2), ceil_div(n * h * w, 128) * ceil_div(k, 64))
    run((2 * clusters, 1, 1), _THREADS, x, weight, out, n, h, w, c, k, shared=_SHARED)
    return out if bias is None else out.add_(bias[:, None, None])


@torch.library.impl(_LIBRARY, "conv2d", "CPU")
def _torchs(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: list[int], padding: list[int], dilation: list[int],
    groups: int,
) -> Tensor:  # fmt: skip
    """The same by PyTorch."""
    _check(x, weight, bias, stride, padding, dilation, groups)
    out = F.conv2d(x, weight, bias, stride, padding, dilation, groups)
    return out.contiguous(memory_format=_format(x))


@torch.library.register_fake("gridstride::conv2d")
def _fake(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: list[int], padding: list[int], dilation: list[int],
    groups: int,
) -> Tensor:  # fmt: skip
    _check(x, weight, bias, stride, padding, dilation, groups)
    sides = _out(x, weight, stride, padding, dilation)
    shape = x.shape[0], weight.shape[0], *sides
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=_format(x))


def _format(x: Tensor) -> torch.memory_format:
    last = x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
    return torch.channels_last if last else torch.contiguous_format


def _out(x: Tensor, weight: Tensor, stride: list[int], padding: list[int], dilation: list[int]) -> list[int]:
    """Rows and columns of the result."""
    every = zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    return [(size + 2 * p - d * (taps - 1) - 1) // s + 1 for size, taps, s, p, d in every]


def _check(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: list[int], padding: list[int], dilation: list[int],
    groups: int,
) -> None:  # fmt: skip
    check_float(x, "x", double=True)
    check(x.dim() == 4, "x", x, "[N, C, H, W]")
    fits = weight.dim() == 4 and groups > 0 and weight.shape[1] * groups == x.shape[1]
    fits = fits and weight.shape[0] % groups == 0 and (weight.dtype, weight.device) == (x.dtype, x.device)
    check(fits, "weight", weight, lambda: f"{x.dtype} [K, {x.shape[1]} / {groups} groups, R, S] on {x.device}")
    if bias is not None:
        matches = tuple(bias.shape) == (weight.shape[0],) and (bias.dtype, bias.device) == (x.dtype, x.device)
        check(matches, "bias", bias, lambda: f"{x.dtype} [{weight.shape[0]}] on {x.device}")
    if min(*stride, *dilation) < 1 or min(padding) < 0 or min(_out(x, weight, stride, padding, dilation)) < 1:
        raise ValueError(
            f"stride {tuple(stride)}, padding {tuple(padding)}, dilation {tuple(dilation)} leave no pixel of x "
            f"{tuple(x.shape)} for weight {tuple(weight.shape)}: stride and dilation are at least 1, padding 0, and "
            "the window no larger than the padded image"
        )


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weight, bias, *ctx.sides = inputs
    ctx.save_for_backward(x, weight)
    ctx.bias_sizes = None if bias is None else list(bias.shape)


def _gradient(ctx: Any, dy: Tensor) -> tuple[Any, ...]:
    x, weight = ctx.saved_tensors
    stride, padding, dilation, groups = ctx.sides
    output_mask = [bool(flag) for flag in ctx.needs_input_grad[:3]]
    slopes = torch.ops.aten.convolution_backward(
        dy, x, weight, ctx.bias_sizes, stride, padding, dilation, False, [0, 0], groups, output_mask
    )
    return (*slopes, None, None, None, None)


_call = with_gradient("gridstride::conv2d", _cuda, keep=_keep, gradient=_gradient)
