"""Attention as a PyTorch op, and its rungs for heads of other widths, which their problem does not have."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from gridstride import ops
from gridstride.device.choice import use
from gridstride.device.modules.module import cuda
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.kernels.attention import op as own
from gridstride.kernels.attention.launch import RUNG, shared_bytes
from gridstride.virtual.gpu import VirtualGPU

MEASURED = Path(__file__).parents[2] / "bench" / "results" / "ops_h200.json"
PASTS = [None, 0, 3, 7, -2, -9, 100]
"""No mask, a causal one, keys before the first query, all of them; queries that see nothing, and none that sees any."""
every_past = pytest.mark.parametrize("past", PASTS)


def drawn(
    *, batch: int = 2, heads: int = 4, kv_heads: int = 2, queries: int = 5, keys: int = 8, width: int = 16,
    dtype: torch.dtype = torch.float64, device: str = "cpu",
) -> list[Tensor]:  # fmt: skip
    generator = torch.Generator().manual_seed(1)
    shapes = [(batch, heads, queries, width), *[(batch, kv_heads, keys, width)] * 2]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype) for shape in shapes]


def by_hand(q: Tensor, k: Tensor, v: Tensor, past: int | None, scale: float) -> Tensor:
    """Each query by itself, in float64."""
    out = torch.zeros(q.shape, dtype=torch.float64)
    for b, h, i in np.ndindex(*q.shape[:3]):
        seen = k.shape[2] if past is None else max(0, min(k.shape[2], i + past + 1))
        if seen:
            group = h // (q.shape[1] // k.shape[1])
            keys, values = (x[b, group, :seen].cpu().double() for x in (k, v))
            out[b, h, i] = torch.softmax(keys @ q[b, h, i].cpu().double() * scale, 0) @ values
    return out


# -- the op on the CPU -------------------------------------------------------------------------------------------------
@every_past
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_each_query_weighs_the_values_of_the_keys_that_it_sees(past: int | None, kv_heads: int) -> None:
    given = drawn(kv_heads=kv_heads)
    torch.testing.assert_close(ops.attention(*given, past=past), by_hand(*given, past, 0.25))


@pytest.mark.parametrize("scale", [0.5, -0.5, 0.0])
def test_any_scale(scale: float) -> None:
    given = drawn()
    torch.testing.assert_close(ops.attention(*given, past=0, scale=scale), by_hand(*given, 0, scale))


@pytest.mark.parametrize(("queries", "keys"), [(3, 0), (0, 3), (1, 1)])
def test_nothing_to_see_or_to_do(queries: int, keys: int) -> None:
    given = drawn(queries=queries, keys=keys)
    torch.testing.assert_close(ops.attention(*given), by_hand(*given, None, 0.25))


@every_past
def test_gradients_are_slopes(past: int | None) -> None:
    given = [x.requires_grad_() for x in drawn(batch=1, heads=2, kv_heads=1, queries=3, keys=4, width=3)]
    assert torch.autograd.gradcheck(lambda *each: ops.attention(*each, past=past), given)


@pytest.mark.parametrize("backward", ["auto", "gridstride"])
def test_gradients_come_through_vmap(backward: str) -> None:
    q = torch.randn(2, 1, 2, 3, 8, dtype=torch.float64, requires_grad=True)
    together = torch.func.vmap(lambda q: ops.attention(q, q, q, past=0, backward=backward))(q)
    apart = torch.stack([ops.attention(each, each, each, past=0) for each in q])
    got, expected = (torch.autograd.grad(y.square().sum(), q)[0] for y in (together, apart))
    torch.testing.assert_close(got, expected)


def test_the_bare_op_has_no_gradient_and_says_who_has() -> None:
    q, k, v = drawn()
    out = torch.ops.gridstride.attention(q.requires_grad_(), k, v, 0, 1.0)
    with pytest.raises(
        NotImplementedError, match=r"gridstride::attention has no derivative.* use gridstride\.ops\.atte"
    ):
        out.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_pytorchs_own_rules_for_ops(dtype: torch.dtype) -> None:
    torch.library.opcheck(torch.ops.gridstride.attention.default, (*drawn(dtype=dtype), 2, 0.25))


def test_one_graph_under_torch_compile() -> None:
    given = drawn(dtype=torch.float32)
    compiled = torch.compile(lambda *each: ops.attention(*each, past=0) + 1, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given), ops.attention(*given, past=0) + 1)


def test_tensors_that_are_not_contiguous() -> None:
    given = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in drawn()]
    out = ops.attention(*given, past=1)
    assert out.is_contiguous()
    torch.testing.assert_close(out, by_hand(*given, 1, 0.25))


def test_what_does_not_fit_is_refused_by_name() -> None:
    q, k, v = drawn()
    with pytest.raises(ValueError, match=r"q is torch\.float64"):
        ops.attention(q[0], k, v)
    with pytest.raises(ValueError, match=r"k is torch\.float32"):
        ops.attention(q, k.float(), v)
    with pytest.raises(ValueError, match="a divisor of the 3 heads of q"):
        ops.attention(q[:, :3], k, v)
    with pytest.raises(ValueError, match=r"v is torch\.float64"):
        ops.attention(q, k, v[:, :, 1:])


def test_which_kernel_runs_and_why_is_told() -> None:
    given = drawn()
    assert ops.attention_kernel(*given) == "PyTorch: tensors are on cpu"
    kernel = ops.attention_kernel(given[0].requires_grad_(), *given[1:])
    assert kernel == "PyTorch: a gradient is wanted, and tensors are on cpu"


def test_why_cudnns_kernel_runs_is_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "why_not_possible", lambda q, k: "")
    monkeypatch.setattr(torch.backends.cudnn, "is_available", lambda: True)
    took: dict[int, list[float]] = {}
    for case in next(each for each in json.loads(MEASURED.read_text())["ops"] if each["op"] == "attention")["cases"]:
        ms = {each["variant"]: each["ms"] for each in case["variants"]}
        if case["sizes"]["Q"] >= 4096:
            took.setdefault(256 if "width=256" in case["case"] else 128, []).append(ms["cuDNN"] / ms[RUNG])
    for width in (64, 128, 256):
        told, shares = ops.attention_kernel(*drawn(width=width)), took.get(width)
        share = f"cuDNN's kernel takes {min(shares):.2f} to {max(shares):.2f} of the rung's time" if shares else ""
        assert (share or f"has not been timed against cuDNN's kernel with heads of {width}") in told
    assert ops.attention_kernel(*drawn(width=128), past=3) == RUNG


# -- rungs for other heads ---------------------------------------------------------------------------------------------
def test_the_ops_shared_memory_is_the_rungs() -> None:
    file = read_kernel(find("attention").path / "rungs" / f"{RUNG}.cu")
    assert file.launch is not None
    assert shared_bytes(128) == file.launch.shape({"H": 1, "G": 1, "Q": 1, "SMS": 1}).shared
    assert shared_bytes(256) + (1 << 10) <= 227 << 10  # with the barriers' line


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("rung", "width"), [*((file.name, 64) for file in find("attention").rungs()), (RUNG, 256)])
def test_every_rung_is_right_and_safe_for_other_heads(rung: str, width: int) -> None:
    q, k, v = drawn(batch=1, heads=2, kv_heads=1, queries=70, keys=150, width=width, dtype=torch.float16)
    file = read_kernel(find("attention").path / "rungs" / f"{rung}.cu")
    assert file.launch is not None
    shape = file.launch.shape({"H": 1, "G": 2, "Q": 70, "K": 150, "SMS": 2})
    out = np.full(q.shape, np.nan, np.float16)
    with use(VirtualGPU("h200", sanitize=True, time_limit=60)):
        module = cuda(file.source, [f"-DHEAD_WIDTH={width}"], filename=file.filename)
        launch = module[file.entry].observe(shape.grid, shape.block, max(shape.shared, shared_bytes(width)))
        run = launch(q.numpy(), k.numpy(), v.numpy(), out, 1, 2, 70, 150, 90, -0.125)
    assert run.findings == ()
    np.testing.assert_allclose(out.astype(float), by_hand(q, k, v, 90, -0.125).numpy(), atol=2e-3)


# -- on a GPU ----------------------------------------------------------------------------------------------------------
@pytest.mark.gpu
@every_past
@pytest.mark.parametrize("width", [64, 128, 256, 80])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_against_float64_on_a_gpu(past: int | None, width: int, dtype: torch.dtype) -> None:
    given = drawn(queries=133, keys=150, width=width, dtype=dtype, device="cuda")
    rounding = 2e-3 if dtype == torch.float16 else 1.6e-2
    expected = by_hand(*given, past, width**-0.5)
    torch.testing.assert_close(ops.attention(*given, past=past).cpu().double(), expected, atol=rounding, rtol=rounding)
