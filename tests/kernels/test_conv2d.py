"""Convolution as a PyTorch op, and the rungs of its ladder in bfloat16, which their problem does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride import ops
from gridstride.device.choice import use
from gridstride.device.modules.module import cuda
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.virtual.gpu import VirtualGPU

OPTIONS: list[dict[str, Any]] = [
    {"padding": 1},
    {"padding": 1, "stride": 2},
    {"padding": (2, 0), "dilation": (1, 2)},
    {"groups": 2},
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)
every_format = pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)


def drawn(
    *, n: int = 2, c: int = 4, k: int = 6, side: int = 5, groups: int = 1, dtype: torch.dtype = torch.float64,
    device: str = "cpu", memory_format: torch.memory_format = torch.channels_last,
) -> list[Tensor]:  # fmt: skip
    """Images, filters and a bias."""
    generator = torch.Generator().manual_seed(1)
    x, weight = (
        torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype).to(memory_format=memory_format)
        for shape in ((n, c, side, side + 2), (k, c // groups, 3, 3))
    )
    return [x, weight, torch.randn(k, generator=generator, dtype=torch.float64).to(device, dtype)]


def halves(**sizes: int) -> list[Tensor]:
    return drawn(**{"c": 8, "k": 16, **sizes}, dtype=torch.bfloat16)[:2]


# -- the op on the CPU -------------------------------------------------------------------------------------------------
@every_option
@every_format
@pytest.mark.parametrize("biased", [False, True])
def test_value_and_gradients_are_pytorchs(
    options: dict[str, Any], memory_format: torch.memory_format, biased: bool
) -> None:
    given = drawn(groups=options.get("groups", 1), memory_format=memory_format)[: 3 if biased else 2]
    results = []
    for call in (ops.conv2d, F.conv2d):
        inputs = [x.clone().requires_grad_() for x in given]
        y = call(*inputs, **options)
        results.append([y, *torch.autograd.grad((y * y).sum(), inputs)])
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected)


@every_option
def test_gradients_are_slopes(options: dict[str, Any]) -> None:
    given = [x.requires_grad_() for x in drawn(c=2, k=2, side=3, groups=options.get("groups", 1))]
    assert torch.autograd.gradcheck(lambda *each: ops.conv2d(*each, **options), given)


@every_format
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_pytorchs_own_rules_for_ops(dtype: torch.dtype, memory_format: torch.memory_format) -> None:
    x, weight, bias = (each.requires_grad_() for each in drawn(dtype=dtype, memory_format=memory_format))
    torch.library.opcheck(torch.ops.gridstride.conv2d.default, (x, weight, bias, [1, 1], [1, 1], [1, 1], 1))


def test_one_graph_under_torch_compile() -> None:
    given = drawn(dtype=torch.float32)
    compiled = torch.compile(lambda *each: ops.conv2d(*each, padding=1) + 1, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given), ops.conv2d(*given, padding=1) + 1)


@every_format
def test_the_result_lies_in_memory_as_the_images_do(memory_format: torch.memory_format) -> None:
    assert ops.conv2d(*drawn(memory_format=memory_format), padding=1).is_contiguous(memory_format=memory_format)


def test_what_does_not_fit_is_refused_by_name() -> None:
    x, weight, bias = drawn()
    with pytest.raises(ValueError, match=r"x is torch\.float64 \(4, 5, 7\)"):
        ops.conv2d(x[0], weight)
    with pytest.raises(ValueError, match=r"weight is .* not torch\.float64 \[K, 4 / 2 groups, R, S\]"):
        ops.conv2d(x, weight, groups=2)
    with pytest.raises(ValueError, match=r"weight is torch\.float32"):
        ops.conv2d(x, weight.float())
    with pytest.raises(ValueError, match=r"bias is .* not torch\.float64 \[6\]"):
        ops.conv2d(x, weight, bias[:5])
    with pytest.raises(ValueError, match=r"stride \(1, 1\), padding \(0, 0\), dilation \(3, 3\) leave no pixel"):
        ops.conv2d(x, weight, dilation=3)


def test_which_kernel_runs_and_why_is_told() -> None:
    x, weight = halves()
    assert ops.conv2d_kernel(x, weight, padding=1) == "PyTorch: tensors are on cpu"
    reasons = {
        "stride (2, 2) and padding (1, 1) are not 1 and 1": ops.conv2d_kernel(x, weight, padding=1, stride=2),
        "a filter of 1 x 1,": ops.conv2d_kernel(x, weight[:, :, :1, :1]),
        "dtype torch.float32 is not one of torch.float16": ops.conv2d_kernel(x.float(), weight.float(), padding=1),
        "is not channels-last: use x.to(": ops.conv2d_kernel(x.contiguous(), weight, padding=1),
        "8 or 12 channels are no multiple of 8": ops.conv2d_kernel(x, weight[:12], padding=1),
        "has no pixels": ops.conv2d_kernel(x[:0], weight, padding=1),
    }
    assert [reason for reason, said in reasons.items() if reason not in said or not said.startswith("PyTorch: ")] == []


# -- rungs in bfloat16 -------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("rung", [f.name for f in find("convolution_half").rungs() if "BFLOAT16" in f.source])
@pytest.mark.parametrize("sides", [(8, 16), (4, 12)], ids=["rows shared", "boxes of several images"])
def test_a_rung_is_right_and_safe_in_bfloat16(rung: str, sides: tuple[int, int]) -> None:
    x, weight = (each.to(torch.bfloat16) for each in drawn(n=4, c=72, k=136, side=4)[:2])
    x = x[:, :, :1, :1] * torch.linspace(-2, 2, sides[0] * sides[1]).view(1, 1, *sides).bfloat16()
    file = read_kernel(find("convolution_half").path / "rungs" / f"{rung}.cu")
    assert file.launch is not None
    sizes = {"N": 4, "H": sides[0], "W": sides[1], "C": 72, "K": 136}
    shape = file.launch.shape({**sizes, "SMS": 2})
    images, filters = (each.permute(0, 2, 3, 1).contiguous() for each in (x, weight))
    out = torch.full((4, *sides, 136), float("nan"), dtype=torch.bfloat16)
    with use(VirtualGPU("h200", sanitize=True, time_limit=60)):
        module = cuda(file.source, ["-DBFLOAT16=1"], filename=file.filename)
        run = module[file.entry].observe(shape.grid, shape.block, shape.shared)(images, filters, out, *sizes.values())
    assert run.findings == ()
    expected = F.conv2d(x.double(), weight.double(), padding=1).permute(0, 2, 3, 1)
    np.testing.assert_allclose(out.double(), expected, atol=0.02 * float(expected.abs().max()))


# -- on a GPU ----------------------------------------------------------------------------------------------------------
@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("n", "c", "k", "side"), [(3, 72, 104, 33), (8, 64, 320, 4), (2, 16, 128, 16), (64, 8, 72, 1)])
def test_against_float64_on_a_gpu(dtype: torch.dtype, n: int, c: int, k: int, side: int) -> None:
    x, weight, bias = drawn(n=n, c=c, k=k, side=side, dtype=dtype, device="cuda")
    assert not ops.conv2d_kernel(x, weight, bias, padding=1).startswith("PyTorch")
    expected = F.conv2d(x.double(), weight.double(), bias.double(), padding=1)
    rounding = (2e-3 if dtype == torch.float16 else 1.6e-2) * float(expected.abs().max())
    torch.testing.assert_close(ops.conv2d(x, weight, bias, padding=1).double(), expected, atol=rounding, rtol=0)
