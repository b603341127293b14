"""Triton's tutorials written anew and launched as they do it, with CPU tensors, against PyTorch."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import torch
import triton
import triton.language as tl

pytestmark = pytest.mark.usefixtures("triton_here")


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@triton.jit
def add_kernel(x_ptr, y_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(sum_ptr + i, tl.load(x_ptr + i, mask=mask) + tl.load(y_ptr + i, mask=mask), mask=mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64], ids=str)
def test_vector_addition(dtype: torch.dtype) -> None:
    device = triton.runtime.driver.active.get_active_torch_device()
    x, y = (10 * normal(98_432, seed=seed, dtype=torch.float32).to(device, dtype) for seed in (1, 2))
    total = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, total, x.numel(), BLOCK=1024)
    torch.testing.assert_close(total, x + y, rtol=0, atol=0)


@triton.jit
def softmax_kernel(
    out_ptr, in_ptr, in_stride, out_stride, rows, columns, BLOCK: tl.constexpr, num_stages: tl.constexpr
):
    i = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=num_stages):
        x = tl.load(in_ptr + row * in_stride + i, mask=i < columns, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + i, e / tl.sum(e, axis=0), mask=i < columns)


def test_fused_softmax_asks_the_chip_how_many_programs_fit() -> None:
    x = normal(300, 781)
    y = torch.empty_like(x)
    block, warps = triton.next_power_of_2(781), 8
    limits = triton.runtime.driver.active.utils.get_device_properties(x.device.index)
    kernel = softmax_kernel.warmup(
        y, x, x.stride(0), y.stride(0), 300, 781, BLOCK=block, num_stages=2, num_warps=warps, grid=(1,)
    )
    kernel._init_handles()
    assert 16 <= kernel.n_regs <= 255
    fit = limits["max_num_regs"] // (kernel.n_regs * limits["warpSize"] * warps)
    fit = min(fit, limits["max_shared_mem"] // kernel.metadata.shared) if kernel.metadata.shared else fit
    programs = min(limits["multiprocessor_count"] * fit, 300)
    kernel[(programs, 1, 1)](y, x, x.stride(0), y.stride(0), 300, 781, block, 2)
    torch.testing.assert_close(y, torch.softmax(x, 1), rtol=2e-5, atol=1e-7)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.autotune(
    configs=[
        triton.Config({"M": 32, "N": 32, "K": 32, "GROUP": 4}, num_stages=3, num_warps=2),
        triton.Config({"M": 64, "N": 64, "K": 32, "GROUP": 4}, num_stages=3, num_warps=4),
        triton.Config({"M": 64, "N": 32, "K": 64, "GROUP": 8}, num_stages=2, num_warps=4),
    ],
    key=["m", "n", "k"],
)
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, cm, cn,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    program, rows, columns = tl.program_id(0), tl.cdiv(m, M), tl.cdiv(n, N)
    group = program // (GROUP * columns)
    first = group * GROUP
    height = min(rows - first, GROUP)
    row = first + (program % (GROUP * columns)) % height
    column = (program % (GROUP * columns)) // height
    i, j, inner = (row * M + tl.arange(0, M)) % m, (column * N + tl.arange(0, N)) % n, tl.arange(0, K)
    a = a_ptr + i[:, None] * am + inner[None, :] * ak
    b = b_ptr + inner[:, None] * bk + j[None, :] * bn
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in range(tl.cdiv(k, K)):
        left = tl.load(a, mask=inner[None, :] < k - step * K, other=0.0)
        right = tl.load(b, mask=inner[:, None] < k - step * K, other=0.0)
        total = tl.dot(left, right, total)
        a += K * ak
        b += K * bk
    if ACTIVATION == "leaky_relu":
        total = leaky_relu(total)
    i, j = row * M + tl.arange(0, M), column * N + tl.arange(0, N)
    tl.store(c_ptr + cm * i[:, None] + cn * j[None, :], total.to(tl.float16), mask=(i[:, None] < m) & (j[None, :] < n))


@pytest.mark.parametrize("activation", ["", "leaky_relu"])
def test_autotuned_matmul_of_a_transposed_factor(activation: str) -> None:
    a, b = normal(192, 136, seed=1, dtype=torch.float16), normal(160, 136, seed=2, dtype=torch.float16).T
    c = torch.empty(192, 160, dtype=torch.float16)
    matmul_kernel[lambda meta: (triton.cdiv(192, meta["M"]) * triton.cdiv(160, meta["N"]),)](
        a, b, c, 192, 160, 136, *a.stride(), *b.stride(), *c.stride(), ACTIVATION=activation
    )
    wanted = a.float() @ b.float()
    wanted = torch.nn.functional.leaky_relu(wanted) if activation else wanted
    torch.testing.assert_close(c.float(), wanted, rtol=2e-3, atol=2e-2)


@triton.jit
def seeded_dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    kept = tl.rand(seed, i) > p
    tl.store(out_ptr + i, tl.where(kept, x / (1 - p), 0.0), mask=i < n)


def dropout(x: torch.Tensor, p: float, seed: int) -> torch.Tensor:
    out = torch.empty_like(x)
    seeded_dropout[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), p, seed, BLOCK=512)
    return out


def test_dropout_keeps_the_same_elements_for_a_seed() -> None:
    x = normal(10_000).abs() + 1
    first, again, other = dropout(x, 0.3, 123), dropout(x, 0.3, 123), dropout(x, 0.3, 512)
    kept = first != 0
    assert torch.equal(first, again)
    assert not torch.equal(kept, other != 0)
    assert 0.68 < kept.float().mean() < 0.72
    torch.testing.assert_close(first[kept], x[kept] / 0.7)


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def layer_norm_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, scale_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    apart = tl.where(i < n, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(scale_ptr + row, scale)
    w, b = tl.load(w_ptr + i, mask=i < n), tl.load(b_ptr + i, mask=i < n)
    tl.store(y_ptr + row * stride + i, apart * scale * w + b, mask=i < n)


class LayerNorm(torch.autograd.Function):
    """As the tutorial launches it: within a function of PyTorch's autograd, on tensors that want gradients."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        y = torch.empty_like(x)
        mean, scale = torch.empty(len(x)), torch.empty(len(x))
        layer_norm_kernel[(len(x),)](x, y, weight, bias, mean, scale, x.stride(0), x.shape[1], eps, num_warps=8)
        ctx.save_for_backward(x, weight, mean, scale)
        return y


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_layer_norm_forward(dtype: torch.dtype) -> None:
    x, weight, bias = (normal(*shape, seed=s, dtype=dtype) for s, shape in enumerate([(37, 500), (500,), (500,)]))
    y = LayerNorm.apply(x.requires_grad_(), weight.requires_grad_(), bias.requires_grad_(), 1e-5)
    wanted = torch.nn.functional.layer_norm(x.float(), (500,), weight.float(), bias.float(), 1e-5)
    torch.testing.assert_close(y.float(), wanted, rtol=2e-2, atol=1e-5 if dtype == torch.float32 else 3e-2)


def set_blocks(args) -> None:
    """What the tutorial's pre_hook does: descriptors get the blocks of the configuration."""
    for name, rows in [("q_desc", "M"), ("k_desc", "N"), ("v_desc", "N"), ("o_desc", "M")]:
        args[name].block_shape = [args[rows], args["D"]]


@triton.jit
def attend(q, k_desc, v_desc, offset, scale, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    largest = tl.full([M], -float("inf"), tl.float32)
    total, out = tl.zeros([M], tl.float32), tl.zeros([M, D], tl.float32)
    for start in tl.range(0, length, N):
        scores = tl.dot(q, k_desc.load([offset + start, 0]).T) * scale
        newest = tl.maximum(largest, tl.max(scores, 1))
        p, shrink = tl.math.exp2(scores - newest[:, None]), tl.math.exp2(largest - newest)
        total = total * shrink + tl.sum(p, 1)
        out = tl.dot(p.to(tl.float16), v_desc.load([offset + start, 0]), out * shrink[:, None])
        largest = newest
    return out / total[:, None]


@triton.autotune(
    configs=[triton.Config({"M": 64, "N": n}, num_stages=2, num_warps=4, pre_hook=set_blocks) for n in (32, 64)],
    key=["length", "D"],
)
@triton.jit
def attention_kernel(q_desc, k_desc, v_desc, o_desc, scale, length, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    offset = tl.program_id(1) * length
    row = offset + tl.program_id(0) * M
    out = attend(q_desc.load([row, 0]), k_desc, v_desc, offset, scale * 1.44269504, length, M, N, D)
    o_desc.store([row, 0], out.to(tl.float16))


def test_fused_attention_over_descriptors() -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    q, k, v = (normal(1, 2, 128, 64, seed=seed, dtype=torch.float16) for seed in (1, 2, 3))
    out = torch.empty_like(q)
    described = (TensorDescriptor(each, [256, 64], [64, 1], [1, 1]) for each in (q, k, v, out))
    attention_kernel[lambda meta: (triton.cdiv(128, meta["M"]), 2)](*described, 64**-0.5, 128, D=64)
    wanted = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float())
    torch.testing.assert_close(out.float(), wanted, rtol=2e-3, atol=2e-3)
