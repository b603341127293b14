"""gridstride::adamw_: one step of AdamW in place, and AdamW, the optimizer that takes it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from gridstride.kernels.boundary import without_gradient
from gridstride.kernels.torch_op import ceil_div, check, check_alike, check_float, element, launcher

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define(
    "adamw_(Tensor(a!) param, Tensor grad, Tensor(b!) exp_avg, Tensor(c!) exp_avg_sq, int step, float lr, float beta1, "
    "float beta2, float eps, float weight_decay) -> ()"
)
_THREADS, _PER_THREAD = 256, 8
_MOMENTS = ("exp_avg", "exp_avg_sq")


def adamw_(
    param: Tensor, grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, *, step: int, lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
) -> None:  # fmt: skip
    """One step of AdamW, the `step`-th from 1 on, in place and without a gradient of its own.

    param and grad of one shape and dtype, the moments float32 (float64 where those are). param without gaps in memory,
    in any order of its axes, and the moments with its strides.
    """
    with torch.no_grad():
        _call(param, grad, exp_avg, exp_avg_sq, step, lr, *betas, eps, weight_decay)


def _check(param: Tensor, grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, step: int) -> None:
    check_float(param, "param")
    check(is_dense(param), "param", param, "without gaps in memory")
    check_alike(grad, "grad", param, "param")
    for name, moment in zip(_MOMENTS, (exp_avg, exp_avg_sq), strict=True):
        fits = moment.shape == param.shape and moment.dtype == _wide(param) and moment.device == param.device
        check(fits and lies_alike(moment, param), name, moment, lambda: f"{_wide(param)} {tuple(param.shape)} with "
              f"strides {tuple(param.stride())} on {param.device}")  # fmt: skip
    if step < 1:
        raise ValueError(f"step is {step}: the first step is 1, and its moments' corrections begin there")


def _wide(param: Tensor) -> torch.dtype:
    """The dtype of its moments."""
    if param.is_complex():
        return torch.complex128 if param.dtype == torch.complex128 else torch.complex64
    return torch.float64 if param.dtype == torch.float64 else torch.float32


def is_dense(x: Tensor) -> bool:
    """Whether the elements follow one another in memory, in whatever order of the axes."""
    if x.is_contiguous() or not x.numel():
        return True
    step = 1
    for stride, size in sorted((stride, size) for stride, size in zip(x.stride(), x.shape, strict=True) if size != 1):
        if stride != step:
            return False
        step *= size
    return True


def lies_alike(x: Tensor, other: Tensor) -> bool:
    """Whether two dense tensors of one shape have each element at the same place in memory."""
    if x.is_contiguous() and other.is_contiguous():
        return True
    sides = zip(x.stride(), other.stride(), x.shape, strict=True)
    return not x.numel() or all(mine == its for mine, its, size in sides if size != 1)


def _laid_as(param: Tensor, x: Tensor) -> Tensor:
    """x where param's strides look for it; a copy where it lies otherwise."""
    return x if lies_alike(x, param) else torch.empty_like(param, dtype=x.dtype).copy_(x)


@torch.library.impl(_LIBRARY, "adamw_", "CUDA")
def _cuda(
    param: Tensor, grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, step: int, lr: float, beta1: float, beta2: float,
    eps: float, weight_decay: float,
) -> None:  # fmt: skip
    _check(param, grad, exp_avg, exp_avg_sq, step)
    run, n = launcher("adamw", "03_vectorised", param.device, ELEMENT=element(param)), param.numel()
    if n:
        numbers = lr, beta1, beta2, eps, weight_decay, 1.0 - beta1**step, 1.0 - beta2**step
        grid = ceil_div(n, _THREADS * _PER_THREAD), 1, 1
        run(grid, _THREADS, param, exp_avg, exp_avg_sq, _laid_as(param, grad), n, *numbers)
        torch.autograd.graph.increment_version((param, exp_avg, exp_avg_sq))


@torch.library.impl(_LIBRARY, "adamw_", "CPU")
def _cpu(
    param: Tensor, grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, step: int, lr: float, beta1: float, beta2: float,
    eps: float, weight_decay: float,
) -> None:  # fmt: skip
    _check(param, grad, exp_avg, exp_avg_sq, step)
    slope = grad.to(exp_avg.dtype)
    exp_avg.mul_(beta1).add_(slope, alpha=1.0 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(slope, slope, value=1.0 - beta2)
    root = (exp_avg_sq / (1.0 - beta2**step)).sqrt_().add_(eps)
    wide = param.to(exp_avg.dtype) * (1.0 - lr * weight_decay)
    param.copy_(wide.addcdiv_(exp_avg, root, value=-lr / (1.0 - beta1**step)))


@torch.library.register_fake("gridstride::adamw_")
def _fake(
    param: Tensor, grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, step: int, lr: float, beta1: float, beta2: float,
    eps: float, weight_decay: float,
) -> None:  # fmt: skip
    _check(param, grad, exp_avg, exp_avg_sq, step)


_OPTIONS = ("amsgrad", "maximize", "foreach", "capturable", "differentiable", "fused")


class AdamW(torch.optim.AdamW):
    """torch.optim.AdamW with its state dict, a launch for each tensor; moments are float32 where parameters are less.

    ValueError for amsgrad and maximize, also out of a state dict, and for PyTorch's ways to do it (fused, say).
    Parameters whose memory has gaps are copied in each step.
    """

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, **options: bool | None,
    ) -> None:  # fmt: skip
        """`options`: PyTorch's other ones, as long as nothing is asked for; ValueError names one that is."""
        for name, value in {"amsgrad": amsgrad, **options}.items():
            if name not in _OPTIONS:
                raise TypeError(f"{name} is no option of AdamW: {', '.join(_OPTIONS)} are")
            if value:
                raise ValueError(f"{name} is {value!r}: the kernel has none; torch.optim.AdamW has")
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step for each parameter that has a gradient; gives the closure's loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for name in ("amsgrad", "maximize"):
                if group[name]:
                    raise ValueError(f"{name} is {group[name]}: the kernel has none; torch.optim.AdamW has")
            for param in group["params"]:
                if param.grad is not None:
                    self._step(param, group)
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """PyTorch's, but for moments, which it would round to the parameters' dtype."""
        super().load_state_dict(state_dict)
        saved = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        own_params = chain.from_iterable(group["params"] for group in self.param_groups)
        for number, param in zip(saved, own_params, strict=True):
            for name in _MOMENTS if number in state_dict["state"] else ():
                moment = state_dict["state"][number][name]
                self.state[param][name] = torch.empty_like(param, dtype=_wide(param)).copy_(moment)

    def _step(self, param: Tensor, group: dict[str, Any]) -> None:
        check(param.grad.layout is torch.strided, "grad", param.grad, "dense")
        state = self.state[param]
        if not state:
            state["step"] = torch.zeros(())
            for name in _MOMENTS:
                state[name] = torch.zeros_like(param, dtype=_wide(param))
        state["step"] += 1
        dense = param if is_dense(param) else param.clone()
        for name in _MOMENTS:  # a model may have been put into another memory format since
            state[name] = _laid_as(dense, state[name])
        adamw_(
            _real(dense), _real(param.grad.resolve_conj()), *(_real(state[name]) for name in _MOMENTS),
            step=int(state["step"]), lr=float(group["lr"]), betas=group["betas"], eps=group["eps"],
            weight_decay=group["weight_decay"],
        )  # fmt: skip
        if dense is not param:
            param.copy_(dense)


def _real(x: Tensor) -> Tensor:
    """Complex numbers as pairs, as PyTorch's optimizers take them."""
    return torch.view_as_real(x) if x.is_complex() else x


_call = without_gradient("gridstride::adamw_", _cuda, instead="use gridstride.ops.adamw_")
