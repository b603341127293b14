"""Attention of packed sequences as a PyTorch op, and the rungs as it compiles them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import numpy as np
import pytest
import torch
from torch import Tensor

from gridstride import ops
from gridstride.device.choice import use
from gridstride.device.modules.module import cuda
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.kernels.attention.launch import RUNG, shared_bytes
from gridstride.kernels.attention_backward import launch as backward
from gridstride.virtual.gpu import VirtualGPU

Lengths = list[tuple[int, int]]
LENGTHS: Lengths = [(5, 9), (0, 4), (7, 3), (1, 1), (4, 0), (0, 0), (6, 6)]
"""Queries and keys of sequences: fewer, more and as many; none of either, and none of both."""
either_mask = pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])


def sums(lengths: Lengths, device: str = "cpu") -> list[Tensor]:
    """cu_seqlens of queries and of keys."""
    return [
        torch.tensor([0, *accumulate(each)], dtype=torch.int32, device=device) for each in zip(*lengths, strict=True)
    ]


def longest(lengths: Lengths) -> tuple[int, int]:
    return max(q for q, _ in lengths), max(k for _, k in lengths)


def drawn(
    lengths: Lengths = LENGTHS, *, heads: int = 4, kv_heads: int = 2, width: int = 16,
    dtype: torch.dtype = torch.float64, device: str = "cpu", seed: int = 1,
) -> list[Tensor]:  # fmt: skip
    generator = torch.Generator().manual_seed(seed)
    queries, keys = (sum(each) for each in zip(*lengths, strict=True))
    shapes = [(queries, heads, width), *[(keys, kv_heads, width)] * 2]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype) for shape in shapes]


def called(lengths: Lengths, given: list[Tensor], **words: object) -> Tensor:
    cu = sums(lengths, str(given[0].device))
    return ops.varlen_attention(*given, *cu, *longest(lengths), **words)


def apart(lengths: Lengths, given: list[Tensor], *, causal: bool, scale: float) -> tuple[Tensor, Tensor]:
    """Each query of each head by itself, in float64: out and lse."""
    q, k, v = (x.detach().cpu().double() for x in given)
    out, lse = torch.zeros_like(q), torch.full((q.shape[1], len(q)), -torch.inf, dtype=torch.float64)
    first_q = first_k = 0
    for queries, keys in lengths:
        for i, h in np.ndindex(queries, q.shape[1]):
            seen = max(0, keys - (queries - 1 - i)) if causal else keys
            if seen:
                mine = slice(first_k, first_k + seen), h // (q.shape[1] // k.shape[1])
                scores = k[mine] @ q[first_q + i, h] * scale
                out[first_q + i, h], lse[h, first_q + i] = scores.softmax(0) @ v[mine], scores.logsumexp(0)
        first_q, first_k = first_q + queries, first_k + keys
    return out, lse


def gradients(call: Callable[..., Tensor], given: list[Tensor]) -> list[Tensor]:
    """By a dout of eighths, which every dtype holds."""
    leaves = [x.detach().requires_grad_() for x in given]
    out = call(leaves)
    dout = torch.randint(-16, 17, out.shape, generator=torch.Generator().manual_seed(9)) / 8
    return list(torch.autograd.grad(out, leaves, dout.to(out.device, out.dtype)))


# -- the op on the CPU -------------------------------------------------------------------------------------------------
@either_mask
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_each_query_weighs_the_values_of_its_own_sequence(causal: bool, kv_heads: int) -> None:
    given = drawn(kv_heads=kv_heads)
    expected = apart(LENGTHS, given, causal=causal, scale=0.25)
    torch.testing.assert_close(called(LENGTHS, given, causal=causal, return_lse=True), expected)
    torch.testing.assert_close(called(LENGTHS, given, causal=causal), expected[0])


@pytest.mark.parametrize("scale", [0.5, -0.5, 0.0])
def test_any_scale(scale: float) -> None:
    given = drawn()
    expected, _ = apart(LENGTHS, given, causal=True, scale=scale)
    torch.testing.assert_close(called(LENGTHS, given, causal=True, scale=scale), expected)


@either_mask
def test_gradients_are_slopes(causal: bool) -> None:
    lengths: Lengths = [(2, 3), (0, 2), (3, 1), (1, 0)]
    given = [x.requires_grad_() for x in drawn(lengths, heads=2, kv_heads=1, width=3)]
    assert torch.autograd.gradcheck(lambda *each: called(lengths, list(each), causal=causal), given)


def test_one_sequence_is_attention() -> None:
    given = drawn([(6, 9)])
    alone = ops.attention(*(x.transpose(0, 1)[None] for x in given), past=3)[0].transpose(0, 1)
    torch.testing.assert_close(called([(6, 9)], given, causal=True), alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_pytorchs_own_rules_for_ops(dtype: torch.dtype) -> None:
    q, k, v = (x.requires_grad_() for x in drawn(dtype=dtype))
    rest = (*sums(LENGTHS), *longest(LENGTHS), True, 0.25)
    torch.library.opcheck(torch.ops.gridstride.varlen_attention.default, (q, k, v, *rest))
    q, k, v = (x.detach() for x in (q, k, v))
    out, lse = torch.ops.gridstride.varlen_attention(q, k, v, *rest)
    torch.library.opcheck(
        torch.ops.gridstride.varlen_attention_backward.default, (out, q, k, v, out, lse, *rest)
    )  # fmt: skip


def test_one_graph_under_torch_compile() -> None:
    given = drawn(dtype=torch.float32)
    cu = sums(LENGTHS)

    def call(each: list[Tensor]) -> Tensor:
        return ops.varlen_attention(*each, *cu, *longest(LENGTHS), causal=True) * 2

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(given), call(given))
    for got, expected in zip(gradients(compiled, given), gradients(call, given), strict=True):
        torch.testing.assert_close(got, expected)


def test_tensors_that_are_not_contiguous() -> None:
    given = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in drawn()]
    out = called(LENGTHS, given, causal=True)
    assert out.is_contiguous()
    torch.testing.assert_close(out, apart(LENGTHS, given, causal=True, scale=0.25)[0])


def test_a_second_derivative_is_refused_by_name() -> None:
    q, k, v = drawn()
    (dq,) = torch.autograd.grad(called(LENGTHS, [q.requires_grad_(), k, v]).square().sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match=r"gridstride::varlen_attention_backward has no derivative"):
        dq.sum().backward()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": torch.zeros(23, 64)}, r"q is torch\.float32 \(23, 64\) on cpu, not \[total_q, heads, D\]"),
        ({"k": torch.zeros(23, 2, 16).half()}, r"k is torch\.float16 .* not torch\.float32 \[total_k, kv_heads, 16\]"),
        ({"k": torch.zeros(23, 3, 16)}, "a divisor of the 4 heads of q"),
        ({"v": torch.zeros(22, 2, 16)}, r"v is torch\.float32 \(22, 2, 16\)"),
        ({"cu_seqlens_q": sums(LENGTHS)[0].long()}, r"cu_seqlens_q is torch\.int64 .* not contiguous torch\.int32"),
        ({"cu_seqlens_k": torch.zeros(1).int()}, r"cu_seqlens_k is .* not contiguous torch\.int32 \[sequences \+ 1\]"),
        ({"cu_seqlens_k": sums(LENGTHS)[1][1:].clone()}, "cu_seqlens_k is .* not of 8 numbers as cu_seqlens_q is"),
        ({"cu_seqlens_q": sums(LENGTHS)[0] + 1}, "cu_seqlens_q begins with 1, not with 0"),
        ({"cu_seqlens_q": torch.tensor([0, 9, 5, 12, 13, 17, 17, 23]).int()}, r"cu_seqlens_q\[2\] is 5, less than 9"),
        ({"cu_seqlens_k": torch.tensor([0, 9, 13, 16, 17, 17, 17, 22]).int()}, "cu_seqlens_k ends with 22, not"),
        ({"q": torch.tensor(1.0)}, r"q is torch\.float32 \(\) on cpu, not \[total_q, heads, D\]"),
        ({"cu_seqlens_q": [0, 23]}, "cu_seqlens_q is a list, not a tensor of torch.int32"),
        ({"max_seqlen_q": torch.tensor(7)}, "max_seqlen_q is a Tensor, not an int"),
        ({"max_seqlen_k": 8}, "max_seqlen_k is 8: sequence 0 of k has 9 tokens"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(changed: dict[str, object], message: str) -> None:
    names = "q", "k", "v", "cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k"
    right = dict(zip(names, (*drawn(dtype=torch.float32), *sums(LENGTHS), *longest(LENGTHS)), strict=True))
    with pytest.raises(ValueError, match=message):
        ops.varlen_attention(**{**right, **changed})


def test_numbers_that_change_are_read_again() -> None:
    given, (cu_q, cu_k) = drawn(), sums(LENGTHS)
    ops.varlen_attention(*given, cu_q, cu_k, *longest(LENGTHS))
    cu_q[-1] -= 1
    with pytest.raises(ValueError, match="cu_seqlens_q ends with 22"):
        ops.varlen_attention(*given, cu_q, cu_k, *longest(LENGTHS))


def test_which_kernel_runs_and_why_is_told() -> None:
    assert ops.varlen_attention_kernel(*drawn()) == "PyTorch: tensors are on cpu; one sequence after the other"


# -- the rungs as the op compiles them ---------------------------------------------------------------------------------
SHORT: Lengths = [(3, 7), (0, 5), (70, 81), (2, 0), (66, 30)]


def observed(path: str, macros: list[str], shape: tuple[int, int, int], args: list[object]) -> tuple[object, ...]:
    """What the sanitizer finds in one launch by grid, block and bytes of shared memory."""
    file = read_kernel(find(path.split("/")[0]).path / "rungs" / f"{path.split('/')[1]}.cu")
    with use(VirtualGPU("h200", sanitize=True, time_limit=200)):
        module = cuda(file.source, ["-DVARLEN=1", *macros], filename=file.filename)
        return module[file.entry].observe(*shape)(*args).findings


@pytest.mark.slow
@pytest.mark.timeout(450)
@pytest.mark.parametrize(("width", "causal", "scale"), [(64, True, 0.1), (128, False, -0.1), (256, True, -0.05)])
def test_the_forward_rung_is_right_and_safe(width: int, causal: bool, scale: float) -> None:
    given = drawn(SHORT, heads=2, kv_heads=1, width=width, dtype=torch.float16)
    q, k, v = (x.numpy() for x in given)
    out, lse = np.full(q.shape, np.nan, np.float16), np.full((2, len(q)), np.nan, np.float32)
    cu_q, cu_k = (x.numpy() for x in sums(SHORT))
    past = 0 if causal else len(q)
    args = [q, k, v, out, 1, 2, len(q), len(k), past, cu_q, cu_k, len(SHORT), lse, scale]
    macros = [f"-DHEAD_WIDTH={width}", "-DLOG_SUM_EXP=1"]
    assert observed(f"attention/{RUNG}", macros, (3, 384, shared_bytes(width)), args) == ()
    expected = apart(SHORT, given, causal=causal, scale=scale)
    np.testing.assert_allclose(out.astype(float), expected[0].numpy(), atol=4e-3)
    np.testing.assert_allclose(lse, expected[1].numpy(), atol=1e-5, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(450)
@pytest.mark.parametrize(("width", "causal"), [(64, False), (128, True), (256, True)])
def test_the_backward_rung_is_right_and_safe(width: int, causal: bool) -> None:
    given = [x.half().double() for x in drawn(SHORT, heads=2, kv_heads=1, width=width)]
    rest = (*sums(SHORT), *longest(SHORT), causal, -0.1)
    out, lse = torch.ops.gridstride.varlen_attention(*given, *rest)
    dout = torch.randint(-16, 17, out.shape, generator=torch.Generator().manual_seed(9)) / 8.0
    expected = torch.ops.gridstride.varlen_attention_backward(dout.double(), *given, out, lse, *rest)
    q, k, v, slopes = (x.half().numpy() for x in (*given, dout))
    delta = (dout * out).sum(-1).t().contiguous().float().numpy()
    dq, dk, dv = np.zeros(q.shape, np.float32), *(np.full(k.shape, np.nan, np.float16) for _ in range(2))
    cu_q, cu_k = (x.numpy() for x in sums(SHORT))
    past = 0 if causal else len(q)
    args = [q, k, v, slopes, lse.float().numpy(), delta, dq, dk, dv, 1, 2, len(q), len(k), past, cu_q, cu_k]
    shape = len(k) // backward.keys_of_block(width) + len(SHORT), 256, backward.shared_bytes(width)
    rung = f"attention_backward/{backward.rung_of(width)}"
    assert observed(rung, [f"-DHEAD_WIDTH={width}"], shape, [*args, len(SHORT), -0.1]) == ()
    for got, wanted in zip((dq, dk, dv), expected, strict=True):
        np.testing.assert_allclose(got.astype(float), wanted.numpy(), atol=2e-3 * float(wanted.abs().max()))


# -- on a GPU ----------------------------------------------------------------------------------------------------------
LONG: Lengths = [(300, 300), (0, 17), (1, 1000), (129, 64), (40, 0), *[(20, 20)] * 40, (700, 1031)]


@pytest.mark.gpu
@either_mask
@pytest.mark.parametrize("width", [64, 128, 256, 80])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_against_float64_on_a_gpu(causal: bool, width: int, dtype: torch.dtype) -> None:
    given = drawn(LONG, heads=6, kv_heads=2, width=width, dtype=dtype, device="cuda")
    wide = [x.cpu().double() for x in given]
    rounding = 2e-3 if dtype == torch.float16 else 1.6e-2
    out, lse = called(LONG, given, causal=causal, return_lse=True)
    expected_out, expected_lse = called(LONG, wide, causal=causal, return_lse=True)
    torch.testing.assert_close(out.cpu().double(), expected_out, atol=rounding, rtol=rounding)
    torch.testing.assert_close(lse.cpu().double(), expected_lse, atol=1e-3, rtol=1e-3)
    found = gradients(lambda each: called(LONG, each, causal=causal), given)
    for got, slope in zip(found, gradients(lambda each: called(LONG, each, causal=causal), wide), strict=True):
        torch.testing.assert_close(got.cpu().double(), slope, atol=2 * rounding * slope.abs().max().item(), rtol=0)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_any_dtype_and_scale_on_a_gpu(dtype: torch.dtype) -> None:
    given = drawn(heads=4, kv_heads=2, width=64, dtype=dtype, device="cuda")
    for scale in (-0.2, 0.0):
        expected, _ = apart(LENGTHS, given, causal=True, scale=scale)
        out = called(LENGTHS, given, causal=True, scale=scale).cpu().double()
        torch.testing.assert_close(out, expected, atol=2e-3, rtol=2e-3)


@pytest.mark.gpu
def test_which_kernel_runs_on_a_gpu() -> None:
    told = ops.varlen_attention_kernel(*drawn(width=256, dtype=torch.bfloat16, device="cuda"))
    if torch.cuda.get_device_capability() == (9, 0):
        assert told == f"{RUNG}, its gradient {backward.WIDE_RUNG}"
    else:
        assert "has no wgmma; " in told
    told = ops.varlen_attention_kernel(*drawn(width=80, dtype=torch.bfloat16, device="cuda"))
    assert told.endswith("heads of 80 elements are not of 64 or 128 or 256; FlashAttention")


@pytest.mark.gpu
def test_under_torch_compile_and_with_strided_tensors_on_a_gpu() -> None:
    given = drawn(LONG, heads=4, kv_heads=4, width=64, dtype=torch.float16, device="cuda")
    packed = torch.stack([torch.cat((x, x[:1].expand(5000 - len(x), -1, -1))) for x in given], 1)
    strided = [packed[: len(x), at] for at, x in enumerate(given)]
    cu = sums(LONG, "cuda")

    def call(each: list[Tensor]) -> Tensor:
        return ops.varlen_attention(*each, *cu, *longest(LONG), causal=True)

    compiled = torch.compile(call, fullgraph=True)
    for got, expected in zip(gradients(compiled, strided), gradients(call, given), strict=True):
        torch.testing.assert_close(got, expected, atol=4e-3, rtol=1e-2)


@pytest.mark.gpu
def test_a_recorded_graph_serves_other_lengths() -> None:
    given = drawn(LONG, heads=4, kv_heads=2, width=128, dtype=torch.bfloat16, device="cuda")
    if (told := ops.varlen_attention_kernel(*given)).startswith("PyTorch"):
        pytest.skip(told)
    cu, most = sums(LONG, "cuda"), longest(LONG)
    ops.varlen_attention(*given, *cu, *most, causal=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = ops.varlen_attention(*given, *cu, *most, causal=True)
    turned = LONG[::-1]
    for held, new in zip(cu, sums(turned, "cuda"), strict=True):
        held.copy_(new)
    graph.replay()
    torch.testing.assert_close(out, called(turned, given, causal=True))
