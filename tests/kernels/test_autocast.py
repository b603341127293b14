"""Under autocast the ops take and give the dtypes that PyTorch's own for the same work do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.kernels.op_cases import CASES
from torch import Tensor, nn

from gridstride import ops

BOTH = [torch.bfloat16, torch.float32]
Call = Callable[..., Tensor]


def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    (low, high), c, s = x.chunk(2, -1), cosine[:, None], sine[:, None]
    return torch.cat((low * c - high * s, high * c + low * s), -1)


def added(x: Tensor, delta: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x.clone().add_(delta), (8,), weight, 1e-6)


def packed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    cu = torch.tensor([0, 4], dtype=torch.int32, device=q.device)
    return ops.varlen_attention(*(x[0].transpose(0, 1) for x in (q, k, v)), cu, cu, 4, 4).transpose(0, 1)[None]


HEADS = [(1, 2, 4, 64)] * 3
OPS: dict[str, tuple[list[tuple[int, ...]], Call, Call]] = {
    "gelu": ([(3, 8)], ops.gelu, lambda x: F.gelu(x, approximate="tanh")),
    "softmax": ([(3, 8)], ops.softmax, lambda x: torch.softmax(x, -1)),
    "layer_norm": ([(3, 8), (8,), (8,)], ops.layer_norm, lambda x, w, b: F.layer_norm(x, (8,), w, b)),
    "rms_norm": ([(3, 8), (8,)], lambda x, w: ops.rms_norm(x, w, 1e-6), lambda x, w: F.rms_norm(x, (8,), w, 1e-6)),
    "add_rms_norm": ([(3, 8), (3, 8), (8,)], lambda x, d, w: ops.add_rms_norm(x.clone(), d, w, 1e-6), added),
    "swiglu": ([(3, 8), (3, 8)], ops.swiglu, lambda gate, up: F.silu(gate) * up),
    "rotary": ([(5, 2, 32), (5, 16), (5, 16)], lambda x, c, s: ops.rotary(x, c.detach(), s.detach()), turned),
    "attention": (HEADS, ops.attention, F.scaled_dot_product_attention),
    "varlen_attention": (HEADS, packed, F.scaled_dot_product_attention),
    "conv2d": ([(1, 8, 5, 5), (8, 8, 3, 3), (8,)], ops.conv2d, F.conv2d),
    "skinny_gemm": ([(3, 32), (8, 32), (8,)], ops.skinny_gemm, F.linear),
    "cross_entropy": (
        [(3, 8)],
        lambda x: ops.cross_entropy(x, torch.tensor([0, 7, 2], device=x.device)),
        lambda x: F.cross_entropy(x, torch.tensor([0, 7, 2], device=x.device)),
    ),
    "linear_cross_entropy": (
        [(3, 8), (6, 8)],
        lambda x, w: ops.linear_cross_entropy(x, w, torch.tensor([0, 5, 2], device=x.device)),
        lambda x, w: F.cross_entropy(F.linear(x, w), torch.tensor([0, 5, 2], device=x.device)),
    ),
}
every_op = pytest.mark.parametrize("name", OPS)
dtypes = pytest.mark.parametrize("activations", BOTH, ids=str)
parameters = pytest.mark.parametrize("weights", BOTH, ids=str)


def drawn(name: str, activations: torch.dtype, weights: torch.dtype, device: str = "cpu") -> list[Tensor]:
    """The first tensor in one dtype, those besides in another."""
    generator = torch.Generator().manual_seed(5)
    shapes = OPS[name][0]
    each = [torch.randn(shape, generator=generator).to(device) for shape in shapes]
    return [x.to(activations if at == 0 else weights) for at, x in enumerate(each)]


def compared(name: str, given: list[Tensor]) -> None:
    ours, theirs = OPS[name][1:]
    with torch.autocast(given[0].device.type, torch.bfloat16):
        got, expected = ours(*given), theirs(*given)
    assert got.dtype == expected.dtype
    torch.testing.assert_close(got, expected, rtol=0.02, atol=0.05)


@every_op
@dtypes
@parameters
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
def test_dtypes_are_those_of_pytorchs_ops(name: str, activations: torch.dtype, weights: torch.dtype) -> None:
    if name == "layer_norm" and (activations, weights) == (torch.float32, torch.bfloat16):
        pytest.skip("PyTorch's own refuses it on a CPU")
    compared(name, drawn(name, activations, weights))


@pytest.mark.gpu
@every_op
@dtypes
@parameters
def test_the_same_on_a_gpu(name: str, activations: torch.dtype, weights: torch.dtype) -> None:
    compared(name, drawn(name, activations, weights, "cuda"))


def test_no_op_is_cast_inside() -> None:
    for name, key in product((case.name for case in CASES), ("AutocastCPU", "AutocastCUDA")):
        assert torch._C._dispatch_has_kernel_for_dispatch_key(f"gridstride::{name}", key)
    a, scale = torch.randn(3, 64).to(torch.float8_e4m3fn), torch.rand(3)
    outside = ops.matmul_fp8(a, a, scale, scale)
    q = torch.randn(1, 2, 4, 8)
    wide = torch.ops.gridstride.attention_with_lse(q, q, q, 0, 1.0)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(ops.matmul_fp8(a, a, scale, scale), outside)
        torch.testing.assert_close(torch.ops.gridstride.attention_with_lse(q, q, q, 0, 1.0), wide)


@every_op
def test_gradients_come_in_the_dtypes_of_the_inputs(name: str) -> None:
    if name == "skinny_gemm":
        pytest.skip("has no gradient")
    given = [x.requires_grad_() for x in drawn(name, torch.bfloat16, torch.float32)]
    with torch.autocast("cpu", torch.bfloat16):
        y = OPS[name][1](*given)
    y.float().square().sum().backward()
    wanted = given[:1] if name == "rotary" else given
    assert all(x.grad is not None and x.grad.dtype == x.dtype for x in wanted)


@pytest.mark.parametrize(("ours", "theirs"), [(ops.LayerNorm(5), nn.LayerNorm(5)), (ops.RMSNorm(5), nn.RMSNorm(5))])
def test_norms_take_what_a_linear_layer_gives(ours: nn.Module, theirs: nn.Module) -> None:
    layer, x = nn.Linear(5, 5), torch.randn(3, 5)
    with torch.autocast("cpu", torch.bfloat16):
        got, expected = ours(layer(x)), theirs(layer(x))
        compiled = torch.compile(lambda x: ours(layer(x)), fullgraph=True, backend="aot_eager")(x)
    assert got.dtype == expected.dtype == compiled.dtype
    torch.testing.assert_close(got, expected, rtol=0.02, atol=0.02)
    torch.testing.assert_close(got, compiled)


@pytest.mark.parametrize("name", ["LlamaConfig", "Qwen2Config", "Qwen3Config", "GPT2Config"])
def test_a_patched_model_trains_under_autocast(name: str) -> None:
    transformers: Any = pytest.importorskip("transformers")
    sizes = {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    more = {} if name == "GPT2Config" else {"intermediate_size": 48, "num_key_value_heads": 2}
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, name)(**sizes, **more)).eval()
    tokens = torch.randint(0, 97, (2, 11))
    with torch.autocast("cpu", torch.bfloat16):
        own = model(tokens, labels=tokens).loss
        ops.patch(model)
        ours = model(tokens, labels=tokens).loss
    ours.backward()
    torch.testing.assert_close(own, ours.to(own.dtype), rtol=0.01, atol=0.01)
