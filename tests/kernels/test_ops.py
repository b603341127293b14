"""The ops that ship: on CPU tensors against formulas, on a GPU against the CPU, and by torch's own rules for ops."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from gridstride.kernels.paged_attention.op import paged_attention
from gridstride.kernels.rms_norm.op import add_rms_norm, rms_norm
from gridstride.kernels.rotary_cache.op import rotary_cache
from gridstride.kernels.sample.op import sample
from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.op import skinny_gemm

DTYPES = [torch.float32, torch.float16, torch.bfloat16]
ROUNDING = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: str(d).removeprefix("torch."))


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def rotary_inputs(dtype: torch.dtype, *, heads: int = 4, kv: int = 2, width: int = 128, norm: bool = True) -> list:
    angles = torch.rand(50, width // 2, generator=torch.Generator().manual_seed(1)) * 7
    weights = [normal(width, dtype=dtype, seed=s) if norm else None for s in (2, 3)]
    caches = [normal(5, kv, 16, width, dtype=dtype, seed=s) for s in (4, 5)]
    places = torch.tensor([3, 49, 0, 17]), torch.tensor([79, 0, 33, 34])
    return [
        normal(4, (heads + 2 * kv) * width, dtype=dtype),
        angles.cos(),
        angles.sin(),
        *weights,
        *places,
        *caches,
        1e-6,
    ]


def attention_inputs(
    dtype: torch.dtype, *, lengths: tuple[int, ...] = (1, 37, 0, 700), kv: int = 2, group: int = 2, width: int = 128
) -> list[Tensor]:
    count, blocks = len(lengths), 50
    tables = torch.randint(0, 60, (count, blocks), generator=torch.Generator().manual_seed(6), dtype=torch.int32)
    caches = [normal(60, kv, 16, width, dtype=dtype, seed=s) for s in (7, 8)]
    return [normal(count, kv * group, width, dtype=dtype, seed=9), *caches, tables, torch.tensor(lengths).int()]


def sample_inputs(rows: int = 40, vocabulary: int = 1000) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)

    def pick(values: list) -> Tensor:
        return torch.tensor(values)[torch.randint(0, len(values), (rows,), generator=generator)]

    uniform = torch.rand(rows, generator=generator, dtype=torch.float64)
    wishes = pick([0.0, 0.7, 1.3]), pick([0, 1, 20]).int(), pick([1.0, 0.9, 0.3]), pick([0.0, 0.05])
    return [normal(rows, vocabulary) * 3, *wishes, uniform]


# -- what they compute -------------------------------------------------------------------------------------------------
def test_a_norm_behind_an_addition_changes_the_residual_in_place() -> None:
    x, delta, weight = normal(3, 8), normal(3, 8, seed=1), normal(8, seed=2)
    total = x + delta
    out = add_rms_norm(x, delta, weight, 1e-6)
    assert torch.equal(x, total)
    torch.testing.assert_close(out, total * (total.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * weight)


def test_gate_comes_before_up() -> None:
    row = torch.tensor([[1.0, -2.0, 3.0, 5.0]])
    torch.testing.assert_close(
        silu_mul(row), torch.tensor([[1 / (1 + 2.718281828**-1) * 3, -2 / (1 + 2.718281828**2) * 5]])
    )


def test_rotary_writes_only_the_slots_it_is_given() -> None:
    given = rotary_inputs(torch.float32)
    before = [given[7].clone(), given[8].clone()]
    rotary_cache(*given)
    for cache, old in zip(given[7:9], before, strict=True):
        changed = (cache != old).any(-1).any(1).flatten().nonzero().flatten()
        assert changed.tolist() == [0, 33, 34, 79]


def test_attention_of_one_token_is_its_value() -> None:
    q, keys, values, tables, _ = attention_inputs(torch.float32)
    out = paged_attention(q, keys, values, tables, torch.ones(4, dtype=torch.int32), scale=0.1)
    torch.testing.assert_close(out, values[tables[:, 0].long(), :, 0].repeat_interleave(2, dim=1))


def test_a_sequence_without_tokens_sees_zeros() -> None:
    q, keys, values, tables, _ = attention_inputs(torch.float32)
    assert not paged_attention(q, keys, values, tables, torch.zeros(4, dtype=torch.int32), scale=0.1).any()


def test_a_row_that_is_not_finite_gives_no_token() -> None:
    logits, *wishes = sample_inputs(3)
    logits[0, 5], logits[1, 7], logits[2] = torch.nan, torch.inf, -torch.inf
    assert sample(logits, *wishes).tolist() == [-1, -1, -1]


def test_draws_follow_the_distribution() -> None:
    rows = 4000
    logits = torch.tensor([0.1, 0.2, 0.3, 0.4]).log().expand(rows, 4).contiguous()
    points = (torch.arange(rows, dtype=torch.float64) + 0.5) / rows
    ones, none = torch.ones(rows), torch.zeros(rows)
    counts = sample(logits, ones, none.int(), ones, none, points).bincount(minlength=4)
    assert counts.tolist() == pytest.approx([400, 800, 1200, 1600], abs=2)


def test_top_p_keeps_the_fewest_that_reach_it() -> None:
    logits = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log()
    for share, low in ((0.35, 3), (0.5, 2), (0.75, 1), (0.95, 0)):
        first = sample(
            logits, torch.ones(1), torch.zeros(1).int(), torch.tensor([share]), torch.zeros(1), torch.zeros(1).double()
        )
        assert first.item() == low


def test_a_gated_product_is_the_product_and_the_gate() -> None:
    x, weight, bias = normal(3, 64), normal(40, 64, seed=1), normal(40, seed=2)
    torch.testing.assert_close(skinny_gemm(x, weight, bias), x @ weight.T + bias)
    torch.testing.assert_close(skinny_gemm(x, weight, bias, gated=True), silu_mul(x @ weight.T + bias))


# -- bad input ---------------------------------------------------------------------------------------------------------
@pytest.mark.gpu
def test_what_a_kernel_cannot_take_is_refused_by_name() -> None:
    x = torch.randn(4, 8, device="cuda")
    with pytest.raises(ValueError, match=r"residual is torch.float32 \(8, 4\) with strides"):
        add_rms_norm(x.T, x.T, x[0, :4].contiguous(), 1e-6)
    with pytest.raises(ValueError, match="weight is"):
        rms_norm(x, x[0, :4], 1e-6)
    with pytest.raises(TypeError, match=r"torch.float64 is not one of"):
        silu_mul(x.double())
    q, keys, values, tables, lengths = (t.cuda() for t in attention_inputs(torch.float16))
    with pytest.raises(ValueError, match=r"tables is torch\.int64"):
        paged_attention(q, keys, values, tables.long(), lengths, scale=1.0)
    half = torch.zeros(200, 64, device="cuda", dtype=torch.float16)
    with pytest.raises(ValueError, match="weight is"):
        skinny_gemm(half[:4], half[:, :32])
    with pytest.raises(ValueError, match=r"200 x 64 times 200 x 64: 1 to 128 rows .* torch.nn.functional.linear"):
        skinny_gemm(half, half)


# -- a GPU against the CPU ---------------------------------------------------------------------------------------------
def on_gpu(op: Callable[..., Tensor], given: list, **more: float) -> tuple[Tensor, Tensor, list]:
    """The op on the CPU in float32 and on the GPU as it is; the GPU's arguments afterwards."""
    wide = [g.float() if isinstance(g, Tensor) and g.dtype in DTYPES else g for g in given]
    there = [g.cuda() if isinstance(g, Tensor) else g for g in given]
    return op(*wide, **more), op(*there, **more).cpu(), there


@pytest.mark.gpu
@every_dtype
@pytest.mark.parametrize("width", [8, 75, 1024, 5000])
def test_norms_on_a_gpu(dtype: torch.dtype, width: int) -> None:
    given = [
        normal(5, width, dtype=dtype),
        normal(5, width, dtype=dtype, seed=1),
        normal(width, dtype=dtype, seed=2),
        1e-6,
    ]
    expected, got, _ = on_gpu(add_rms_norm, given)
    torch.testing.assert_close(got.float(), expected, rtol=ROUNDING[dtype], atol=ROUNDING[dtype])


@pytest.mark.gpu
@every_dtype
@pytest.mark.parametrize("hidden", [8, 301, 3072])
def test_silu_mul_on_a_gpu(dtype: torch.dtype, hidden: int) -> None:
    expected, got, _ = on_gpu(silu_mul, [normal(5, 2 * hidden, dtype=dtype)])
    torch.testing.assert_close(got.float(), expected, rtol=ROUNDING[dtype], atol=ROUNDING[dtype])


@pytest.mark.gpu
@every_dtype
@pytest.mark.parametrize(("heads", "kv", "width", "norm"), [(4, 2, 128, True), (3, 3, 64, False), (16, 2, 128, False)])
def test_rotary_on_a_gpu(dtype: torch.dtype, heads: int, kv: int, width: int, norm: bool) -> None:
    given = rotary_inputs(dtype, heads=heads, kv=kv, width=width, norm=norm)
    wide = [g.float() if isinstance(g, Tensor) and g.dtype in DTYPES else g for g in given]
    there = [g.cuda() if isinstance(g, Tensor) else g for g in given]
    for expected, got in zip(
        (rotary_cache(*wide), wide[7], wide[8]), (rotary_cache(*there), there[7], there[8]), strict=True
    ):
        torch.testing.assert_close(got.cpu().float(), expected, rtol=ROUNDING[dtype], atol=2 * ROUNDING[dtype])


@pytest.mark.gpu
@every_dtype
@pytest.mark.parametrize("ring", [False, True], ids=["split", "ring"])
@pytest.mark.parametrize(("kv", "group", "width"), [(2, 2, 128), (1, 8, 64), (3, 1, 128), (1, 12, 64)])
def test_attention_on_a_gpu(
    dtype: torch.dtype, kv: int, group: int, width: int, ring: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not ring:
        monkeypatch.setattr("gridstride.kernels.paged_attention.op._ring", lambda *_: "not in this test")
    given = attention_inputs(dtype, kv=kv, group=group, width=width)
    for _ in range(2):  # twice: the counters of the merge must be back at zero
        expected, got, _ = on_gpu(paged_attention, given, scale=width**-0.5)
        torch.testing.assert_close(got.float(), expected, rtol=ROUNDING[dtype], atol=ROUNDING[dtype])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=lambda d: str(d).removeprefix("torch."))
@pytest.mark.parametrize(("m", "n", "k"), [(1, 4096, 1024), (31, 1024, 3072), (33, 1000, 2048), (128, 6144, 1024)])
@pytest.mark.parametrize("gated", [False, True])
def test_skinny_gemm_on_a_gpu(dtype: torch.dtype, m: int, n: int, k: int, gated: bool) -> None:
    scaled = (normal(n, k, seed=1) * k**-0.5).to(dtype)
    for fixed in (False, True):
        given = [normal(m, k, dtype=dtype), scaled, normal(n, dtype=dtype, seed=2)]
        expected, got, _ = on_gpu(skinny_gemm, given, gated=gated, fixed_weights=fixed)
        torch.testing.assert_close(got.float(), expected, rtol=ROUNDING[dtype], atol=ROUNDING[dtype])


@pytest.mark.gpu
@pytest.mark.parametrize("vocabulary", [1, 1000, 151_936])
def test_samples_on_a_gpu_are_the_cpus(vocabulary: int) -> None:
    expected, got, _ = on_gpu(sample, sample_inputs(200 if vocabulary == 1000 else 20, vocabulary))
    assert (expected == got).float().mean() >= 0.99  # exp rounds differently: a point between two tokens may fall


@pytest.mark.gpu
def test_torchs_own_rules_for_ops() -> None:
    ops, rules = torch.ops.gridstride, ("test_schema", "test_faketensor")
    half = torch.float16
    cases = [
        (ops.rms_norm.default, [normal(3, 64, dtype=half), normal(64, dtype=half), 1e-6]),
        (
            ops.add_rms_norm.default,
            [normal(3, 64, dtype=half), normal(3, 64, dtype=half), normal(64, dtype=half), 1e-6],
        ),
        (ops.silu_mul.default, [normal(3, 64, dtype=half)]),
        (ops.rotary_cache.default, rotary_inputs(half)),
        (ops.paged_attention.default, [*attention_inputs(half), 0.1]),
        (ops.sample.default, sample_inputs()),
        (ops.skinny_gemm.default, [normal(3, 64, dtype=half), normal(40, 64, dtype=half), None, True, True]),
    ]
    for op, given in cases:
        torch.library.opcheck(op, [g.cuda() if isinstance(g, Tensor) else g for g in given], test_utils=rules)


@pytest.mark.gpu
def test_under_a_captured_graph_and_torch_compile() -> None:
    x, weight = torch.randn(4, 256, device="cuda"), torch.rand(256, device="cuda")
    expected = silu_mul(rms_norm(x, weight, 1e-6))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = silu_mul(rms_norm(x, weight, 1e-6))
    graph.replay()
    assert torch.equal(out, expected)
    compiled = torch.compile(lambda a: silu_mul(rms_norm(a, weight, 1e-6)), fullgraph=True)
    torch.testing.assert_close(compiled(x), expected)
