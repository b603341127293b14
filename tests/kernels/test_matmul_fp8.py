"""The product of 8-bit floats as the op launches it: bfloat16, with sums in float32 or in the tensor cores' 14 bits."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import Tensor

import gridstride as gs
from gridstride.judge.find import find
from gridstride.kernels.matmul_fp8.op import matmul_fp8, plan
from gridstride.kernels.matmul_fp8.problem import VALUES, encode

E4M3 = torch.float8_e4m3fn
DRAW = torch.Generator().manual_seed(5)
GPU = gs.VirtualGPU("h200", sanitize=True)
RUNGS = {file.name: file for file in find("matmul_fp8").rungs()}


def inputs(m: int, n: int, k: int) -> list[Tensor]:
    """a, b and their scales."""
    a, b = (torch.randn(rows, k, generator=DRAW).to(E4M3) for rows in (m, n))
    return [a, b, *(torch.rand(rows, generator=DRAW) for rows in (m, n))]


def exact(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    return a.double() @ b.double().T * (scale_a.double()[:, None] * scale_b.double())


def launched(given: list[Tensor], *, capability: tuple[int, int] = (9, 0), sms: int = 4, fast: bool = False) -> Tensor:
    """C as the virtual GPU computes it in the op's plan, with nothing to find for its sanitizer."""
    a, b, *scales = given
    (m, k), n = a.shape, len(b)
    rung, grid, threads, shared = plan(m, n, capability=capability, multiprocessors=sms)
    c = torch.full((m, n), torch.nan, dtype=torch.bfloat16)
    codes = (x.view(torch.uint8) for x in (a, b))
    with gs.use(GPU):
        run = compiled(rung, fast).observe(grid, threads, shared)(*codes, *scales, c, m, n, k)
    assert run.findings == ()
    return c


@functools.cache
def compiled(rung: str, fast: bool) -> gs.Kernel:
    return gs.cuda(RUNGS[rung].source, ["-DBFLOAT16=1", f"-DFAST={int(fast)}"])[RUNGS[rung].entry]


def relative(c: Tensor, given: list[Tensor]) -> float:
    expected = exact(*given)
    return float((c.double() - expected).norm() / expected.norm())


# -- formats -----------------------------------------------------------------------------------------------------------
def test_codes_are_pytorchs() -> None:
    codes = torch.arange(256, dtype=torch.uint8)
    torch.testing.assert_close(torch.from_numpy(VALUES), codes.view(E4M3).double(), equal_nan=True)
    x = torch.randn(1000, generator=DRAW) * 100
    assert torch.equal(torch.from_numpy(encode(x.numpy())), x.clamp(-448, 448).to(E4M3).view(torch.uint8))


# -- what the op launches ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("capability", "rung"), [((8, 0), "02"), ((8, 9), "03"), ((9, 0), "05"), ((12, 0), "03")])
def test_a_gpu_gets_the_last_rung_that_it_has_instructions_for(capability: tuple[int, int], rung: str) -> None:
    assert plan(64, 64, capability=capability, multiprocessors=4)[0].startswith(rung)
    given = inputs(140, 40, 176)
    assert relative(launched(given, capability=capability), given) < 2.0**-8


@pytest.mark.parametrize(("m", "n", "sms"), [(1, 1, 132), (4096, 4096, 132), (300, 1000, 7), (128, 257, 1)])
@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (9, 0)])
def test_the_plan_is_what_the_rungs_header_says(m: int, n: int, sms: int, capability: tuple[int, int]) -> None:
    rung, grid, threads, shared = plan(m, n, capability=capability, multiprocessors=sms)
    shape = RUNGS[rung].launch.shape({"M": m, "N": n, "K": 64, "SMS": sms})
    assert (shape.grid, shape.block, shape.shared) == (grid, (threads, 1, 1), shared)


def test_clusters_go_on_to_further_tiles_of_c() -> None:
    given = inputs(520, 600, 272)
    assert relative(launched(given, sms=2), given) < 2.0**-8


@pytest.mark.slow
def test_sums_of_one_sign_are_right_unless_they_are_left_to_the_tensor_cores() -> None:
    a, b, *scales = inputs(8, 8, 2048)
    given = [a.float().abs().to(E4M3), b.float().abs().to(E4M3), *scales]
    assert relative(launched(given), given) < 2.0**-8
    assert 2.0**-6 < relative(launched(given, fast=True), given) < 2.0**-2


# -- the op ------------------------------------------------------------------------------------------------------------
def test_on_a_cpu_it_is_the_product_in_float32() -> None:
    given = inputs(5, 7, 33)
    torch.testing.assert_close(matmul_fp8(*given).double(), exact(*given), rtol=2**-8, atol=1e-6)
    assert matmul_fp8(*given, fast=True).dtype == torch.bfloat16
    assert not matmul_fp8(*inputs(3, 2, 0)).any()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({0: lambda a: a.half()}, r"a is torch.float16 \(5, 32\) on cpu, not contiguous torch.float8_e4m3fn \[M, K\]"),
        ({0: lambda a: a.view(torch.float8_e5m2)}, "a is torch.float8_e5m2"),
        ({1: lambda b: b.T}, r"b is torch.float8_e4m3fn \(32, 7\) with strides .* torch.float8_e4m3fn \[N, 32\]"),
        ({1: lambda b: b[:, :16].contiguous()}, r"b is torch.float8_e4m3fn \(7, 16\)"),
        ({2: lambda s: s[0]}, r"scale_a is torch.float32 \(\) on cpu, not contiguous torch.float32 \(5,\)"),
        ({3: lambda s: s.double()}, "scale_b is torch.float64 .* a scale for each row of b"),
    ],
)
def test_what_it_does_not_take_is_refused_by_name(changed: dict, said: str) -> None:
    given = [changed.get(place, lambda x: x)(x) for place, x in enumerate(inputs(5, 7, 32))]
    with pytest.raises(ValueError, match=said):
        matmul_fp8(*given)


def test_torchs_own_rules_for_ops() -> None:
    op = torch.ops.gridstride.matmul_fp8.default  # test_schema multiplies inputs, which 8-bit floats have no code for
    torch.library.opcheck(op, inputs(3, 5, 16), test_utils=("test_faketensor",))


@pytest.mark.gpu
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (256, 512, 1024), (1000, 777, 333), (3000, 1040, 784)])
def test_on_a_gpu(m: int, n: int, k: int, fast: bool) -> None:
    given = inputs(m, n, k)
    on_gpu = [x.cuda() for x in given]
    assert relative(matmul_fp8(*on_gpu, fast=fast).cpu(), given) < 2.0**-7
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = matmul_fp8(*on_gpu, fast=fast)
    graph.replay()
    assert relative(c.cpu(), given) < 2.0**-7
