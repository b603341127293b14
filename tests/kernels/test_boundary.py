"""Laws of every op that is registered: what autograd and checkpointing find at it, and no derivative that is zero."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.kernels.op_cases import CASES, Case
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

from gridstride import ops

every_op = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
with_slopes = pytest.mark.parametrize("case", [case for case in CASES if case.slopes], ids=lambda case: case.name)
refusing = pytest.mark.parametrize(
    "case", [case for case in CASES if not case.slopes and case.name != "sample"], ids=lambda case: case.name
)
"""But `sample`, whose tokens are whole numbers: nothing can ask for their slope."""


def first(outputs: Any) -> Tensor:
    return outputs[0] if isinstance(outputs, tuple) else outputs


def wanting(given: list[Any]) -> list[Tensor]:
    return [x for x in given if isinstance(x, Tensor) and x.requires_grad]


def test_every_op_has_a_case() -> None:
    registered = {name for name in torch._C._dispatch_get_all_op_names() if name.startswith("gridstride::")}
    assert registered == {f"gridstride::{case.name}" for case in CASES}


@every_op
def test_autograd_finds_a_gradient_or_a_refusal(case: Case) -> None:
    assert torch._C._dispatch_has_kernel_for_dispatch_key(f"gridstride::{case.name}", "Autograd")


# -- no gradient -------------------------------------------------------------------------------------------------------
@refusing
def test_a_backward_pass_without_a_gradient_names_the_op_and_what_to_use(case: Case) -> None:
    with pytest.raises(NotImplementedError, match=f"gridstride::{case.name} has no derivative: .*use "):
        first(case.op(*case.inputs(requires_grad=True))).float().sum().backward()


@pytest.mark.filterwarnings("ignore:Error detected in")
@refusing
def test_so_does_torch_compile(case: Case) -> None:
    compiled = torch.compile(case.op, fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match=f"gridstride::{case.name} has no derivative"):
        first(compiled(*case.inputs(requires_grad=True))).float().sum().backward()


@every_op
def test_torch_func_takes_no_gradient_for_zero(case: Case) -> None:
    given = case.inputs()
    at = 1 if case.in_place else 0

    def call(x: Tensor) -> Tensor:
        return first(case.op(*given[:at], x, *given[at + 1 :])).float().sum()

    if case.name != "sample":
        with pytest.raises(NotImplementedError, match=f"gridstride::{case.name} has no derivative under torch.func"):
            torch.func.grad(call)(given[at])


@every_op
def test_forward_mode_is_refused_by_name(case: Case) -> None:
    given = case.inputs()
    at = 1 if case.in_place else 0
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=f"gridstride::{case.name} has no deriv"):
        case.op(*given[:at], forward_ad.make_dual(given[at], torch.ones_like(given[at])), *given[at + 1 :])


def test_forward_mode_through_torch_func_is_refused_too() -> None:
    x = torch.randn(3, 4)
    with pytest.raises(NotImplementedError, match="gridstride::gelu has no derivative in forward mode"):
        torch.func.jvp(ops.gelu, (x,), (x,))


@every_op
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_where_nothing_is_recorded_every_op_runs(case: Case, mode: Any) -> None:
    given = case.inputs(requires_grad=not case.in_place)
    with mode():
        assert first(case.op(*given)) is None or not first(case.op(*given)).requires_grad


def test_an_op_that_writes_in_place_counts_versions() -> None:
    for name, written in (("adamw_", (0, 2, 3)), ("add_rms_norm", (0,)), ("rotary_cache", (7, 8))):
        case = next(case for case in CASES if case.name == name)
        given = case.inputs()
        case.op(*given)
        assert [given[at]._version > 0 for at in written] == [True] * len(written)


# -- gradients ---------------------------------------------------------------------------------------------------------
@with_slopes
def test_gradients_are_the_same_under_checkpointing(case: Case) -> None:
    given = case.inputs(requires_grad=True)
    slopes = torch.autograd.grad(first(case.op(*given)).square().sum(), wanting(given))
    again = checkpoint(case.op, *given, use_reentrant=False)
    for one, other in zip(slopes, torch.autograd.grad(first(again).square().sum(), wanting(given)), strict=True):
        torch.testing.assert_close(one, other)


def test_silu_mul_has_swiglus_gradient() -> None:
    gate_up = torch.randn(3, 10, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(ops.silu_mul, gate_up)
    (got,) = torch.autograd.grad(ops.silu_mul(gate_up).square().sum(), gate_up)
    (expected,) = torch.autograd.grad(ops.swiglu(*gate_up.chunk(2, -1)).square().sum(), gate_up)
    torch.testing.assert_close(got, expected)
