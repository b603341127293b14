"""Attention's gradient as a PyTorch op, and its rungs for heads of other widths, which their problem does not have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from gridstride import ops
from gridstride.device.choice import use
from gridstride.device.modules.module import cuda
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.kernels.attention.launch import RUNG as FORWARD_RUNG
from gridstride.kernels.attention_backward.launch import RUNG, WIDE_RUNG, shared_bytes
from gridstride.virtual.gpu import VirtualGPU

every_past = pytest.mark.parametrize("past", [None, 0, 3, -2, -9])
"""No mask, a causal one, keys before the first query; queries that see nothing, and none that sees any."""


def drawn(
    *, batch: int = 2, heads: int = 4, kv_heads: int = 2, queries: int = 5, keys: int = 8, width: int = 16,
    dtype: torch.dtype = torch.float64, device: str = "cpu",
) -> list[Tensor]:  # fmt: skip
    generator = torch.Generator().manual_seed(1)
    shapes = [(batch, heads, queries, width), *[(batch, kv_heads, keys, width)] * 2]
    given = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return [x.to(device, dtype).requires_grad_() for x in given]


def gradients(call: Callable[..., Tensor], given: list[Tensor]) -> list[Tensor]:
    """The result and the gradients of all inputs, by a dout of eighths, which every dtype holds."""
    out = call(*given)
    dout = torch.randint(-16, 17, out.shape, generator=torch.Generator().manual_seed(9)) / 8
    return [out.detach(), *torch.autograd.grad(out, given, dout.to(out.device, out.dtype))]


def ours(past: int | None, scale: float | None = None) -> Callable[..., Tensor]:
    return lambda *given: ops.attention(*given, past=past, scale=scale, backward="gridstride")


def pytorchs(past: int | None, scale: float | None = None) -> Callable[..., Tensor]:
    return lambda *given: ops.attention(*given, past=past, scale=scale, backward="pytorch")


# -- the op on the CPU -------------------------------------------------------------------------------------------------
@every_past
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_gradients_are_pytorchs(past: int | None, kv_heads: int) -> None:
    given = drawn(kv_heads=kv_heads)
    for got, expected in zip(gradients(ours(past), given), gradients(pytorchs(past), given), strict=True):
        torch.testing.assert_close(got, expected)


@every_past
def test_gradients_are_slopes(past: int | None) -> None:
    given = drawn(batch=1, heads=2, kv_heads=1, queries=3, keys=4, width=3)
    assert torch.autograd.gradcheck(ours(past), given)


@pytest.mark.parametrize("scale", [0.5, -0.5, 0.0])
def test_any_scale(scale: float) -> None:
    given = drawn()
    for got, expected in zip(gradients(ours(0, scale), given), gradients(pytorchs(0, scale), given), strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize(("queries", "keys"), [(3, 0), (0, 3), (1, 1)])
def test_nothing_to_see_or_to_do(queries: int, keys: int) -> None:
    given = drawn(queries=queries, keys=keys)
    for got, expected in zip(gradients(ours(None), given), [given[0], *given], strict=True):
        assert got.shape == expected.shape
        assert not got.isnan().any()


def test_lse_is_that_of_the_scores_and_minus_infinity_where_nothing_is_seen() -> None:
    q, k, v = (x.detach() for x in drawn(kv_heads=4))
    lse = torch.ops.gridstride.attention_with_lse(q, k, v, -2, 0.25)[1]
    scores = (q @ k.mT * 0.25).masked_fill(~torch.ones(5, 8, dtype=torch.bool).tril(-2), -torch.inf)
    torch.testing.assert_close(lse, scores.logsumexp(-1))
    assert lse[:, :, :2].isneginf().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_pytorchs_own_rules_for_ops(dtype: torch.dtype) -> None:
    q, k, v = drawn(dtype=dtype)
    torch.library.opcheck(torch.ops.gridstride.attention_with_lse.default, (q, k, v, 2, 0.25))
    q, k, v = (x.detach() for x in (q, k, v))
    out, lse = torch.ops.gridstride.attention_with_lse(q, k, v, 2, 0.25)
    torch.library.opcheck(torch.ops.gridstride.attention_backward.default, (out, q, k, v, out, lse, 2, 0.25))


def test_one_graph_under_torch_compile() -> None:
    given = drawn(dtype=torch.float32)
    compiled = torch.compile(ours(0), fullgraph=True, backend="aot_eager")
    for got, expected in zip(gradients(compiled, given), gradients(ours(0), given), strict=True):
        torch.testing.assert_close(got, expected)


def test_a_second_derivative_is_refused_by_name() -> None:
    q, k, v = drawn()
    (dq,) = torch.autograd.grad(ours(0)(q, k, v).square().sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match=r"gridstride::attention_backward has no derivative"):
        dq.sum().backward()


def test_what_does_not_fit_is_refused_by_name() -> None:
    q, k, v = (x.detach() for x in drawn())
    out, lse = torch.ops.gridstride.attention_with_lse(q, k, v, 0, 1.0)
    backward = torch.ops.gridstride.attention_backward
    with pytest.raises(ValueError, match=r"dout is torch\.float64 \(2, 4, 4, 16\)"):
        backward(out[:, :, 1:], q, k, v, out, lse, 0, 1.0)
    with pytest.raises(ValueError, match=r"lse is torch\.float32"):
        backward(out, q, k, v, out, lse.float(), 0, 1.0)
    with pytest.raises(ValueError, match="backward is 'cudnn', not one of auto, gridstride, pytorch"):
        ops.attention(q.requires_grad_(), k, v, backward="cudnn")  # type: ignore[arg-type]


def test_whose_gradient_is_taken_and_why_is_told() -> None:
    given = drawn()
    assert ops.attention_kernel(*given) == "PyTorch: a gradient is wanted, and tensors are on cpu"
    told = ops.attention_kernel(*given, backward="pytorch")
    assert told == "PyTorch: a gradient is wanted, and PyTorch's is asked for"


# -- rungs as the op compiles them -------------------------------------------------------------------------------------
def test_the_ops_shared_memory_is_the_rungs() -> None:
    file = read_kernel(find("attention_backward").path / "rungs" / f"{RUNG}.cu")
    assert file.launch is not None
    assert shared_bytes(128) == file.launch.shape({"K": 1, "H": 1}).shared
    assert shared_bytes(256) <= 227 << 10


def halves(width: int = 64, **sizes: int) -> list[np.ndarray]:
    return [x.detach().numpy() for x in drawn(dtype=torch.float16, width=width, **sizes)]


@pytest.mark.slow
def test_the_forward_rung_leaves_lse_where_it_is_asked_for() -> None:
    q, k, v = halves(batch=1, heads=2, kv_heads=1, queries=70, keys=150)
    file = read_kernel(find("attention").path / "rungs" / f"{FORWARD_RUNG}.cu")
    out, lse = np.full(q.shape, np.nan, np.float16), np.full(q.shape[:3], np.nan, np.float32)
    with use(VirtualGPU("h200", sanitize=True, time_limit=60)):
        module = cuda(file.source, ["-DHEAD_WIDTH=64", "-DLOG_SUM_EXP=1"], filename=file.filename)
        launch = module[file.entry].observe((2, 1, 1), 384, 2 * 64 * (128 + 4 * 128))
        run = launch(q, k, v, out, 1, 2, 70, 150, -3, lse, -0.125)
    assert run.findings == ()
    _, expected = torch.ops.gridstride.attention_with_lse(*(torch.tensor(x).double() for x in (q, k, v)), -3, -0.125)
    torch.testing.assert_close(torch.tensor(lse).double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("rung", "width"), [*((file.name, 64) for file in find("attention_backward").rungs()), (WIDE_RUNG, 256)]
)
def test_every_rung_is_right_and_safe_for_other_heads(rung: str, width: int) -> None:
    q, k, v = (torch.tensor(x).double() for x in halves(width, batch=1, heads=2, kv_heads=1, queries=70, keys=150))
    dout = torch.randint(-16, 17, q.shape, generator=torch.Generator().manual_seed(9)) / 8.0
    out, lse = torch.ops.gridstride.attention_with_lse(q, k, v, 90, -0.125)
    expected = torch.ops.gridstride.attention_backward(dout.double(), q, k, v, out, lse, 90, -0.125)
    file = read_kernel(find("attention_backward").path / "rungs" / f"{rung}.cu")
    assert file.launch is not None
    shape = file.launch.shape({"H": 1, "G": 2, "Q": 70, "K": 150, "SMS": 2})
    given = [x.half().numpy() for x in (q, k, v, dout)]
    statistics = [x.float().numpy() for x in (lse, (dout * out).sum(-1))]
    found = [np.zeros(q.shape, np.float32), *(np.full(k.shape, np.nan, np.float16) for _ in range(2))]
    with use(VirtualGPU("h200", sanitize=True, time_limit=60)):
        module = cuda(file.source, [f"-DHEAD_WIDTH={width}"], filename=file.filename)
        launch = module[file.entry].observe(shape.grid, shape.block, max(shape.shared, shared_bytes(width)))
        run = launch(*given, *statistics, *found, 1, 2, 70, 150, 90, -0.125)
    assert run.findings == ()
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got.astype(float), wanted.numpy(), atol=2e-3 * float(wanted.abs().max()))


# -- on a GPU ----------------------------------------------------------------------------------------------------------
@pytest.mark.gpu
@every_past
@pytest.mark.parametrize("width", [64, 128, 256, 80])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_gradients_against_float64_on_a_gpu(past: int | None, width: int, dtype: torch.dtype) -> None:
    given = drawn(queries=133, keys=150, width=width, dtype=dtype, device="cuda")
    wide = [x.detach().cpu().double().requires_grad_() for x in given]
    rounding = 4e-3 if dtype == torch.float16 else 3e-2
    for got, expected in zip(gradients(ours(past), given), gradients(ours(past), wide), strict=True):
        most = max(1e-3, expected.abs().max().item())
        torch.testing.assert_close(got.cpu().double(), expected, atol=rounding * most, rtol=0)


@pytest.mark.gpu
def test_gradients_of_long_sequences_with_grouped_heads_on_a_gpu() -> None:
    given = drawn(batch=1, heads=8, queries=2000, keys=2000, width=128, dtype=torch.bfloat16, device="cuda")
    for got, expected in zip(gradients(ours(0), given), gradients(pytorchs(0), given), strict=True):
        most = expected.abs().max().item()
        torch.testing.assert_close(got, expected, atol=3e-2 * most, rtol=0)


@pytest.mark.gpu
def test_whose_gradient_is_taken_on_a_gpu() -> None:
    given = drawn(width=128, dtype=torch.bfloat16, device="cuda")
    if torch.cuda.get_device_capability() == (9, 0):
        assert ops.attention_kernel(*given, backward="gridstride") == FORWARD_RUNG
        assert f"{RUNG} is not known to be faster than PyTorch" in ops.attention_kernel(*given)
    else:
        assert "has no wgmma" in ops.attention_kernel(*given, backward="gridstride")


@pytest.mark.gpu
def test_under_torch_compile_and_with_strided_tensors_on_a_gpu() -> None:
    given = drawn(queries=64, keys=64, width=64, dtype=torch.float16, device="cuda")
    turned = [x.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for x in given]
    compiled = torch.compile(ours(0), fullgraph=True)
    for got, expected in zip(gradients(compiled, turned), gradients(ours(0), given), strict=True):
        torch.testing.assert_close(got, expected, atol=2e-3, rtol=1e-2)
