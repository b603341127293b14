"""torch.compile with its Triton kernels on the virtual GPU: results, gradients, and no clock in what is compiled."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

import gridstride as gs

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from triton.runtime.driver import driver

from gridstride.frameworks import inductor
from gridstride.frameworks.triton_driver import VirtualDriver

TUNER = "torch._inductor.runtime.triton_heuristics.CachingAutotuner.bench"


@pytest.fixture(autouse=True)
def _caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from gridstride.device.physical.driver import physical_count

    if physical_count():
        pytest.skip("a physical GPU is here, and torch.compile is left to it")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "inductor"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "inductor_triton"))
    torch._dynamo.reset()
    with gs.use(gs.VirtualGPU(workers=2, time_limit=60)), mock.patch(TUNER, side_effect=AssertionError("was timed")):
        yield
    torch._dynamo.reset()


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def run(function: Callable, *args: torch.Tensor, **options) -> tuple[torch.Tensor, list]:
    with gs.frameworks.observed() as runs:
        result = torch.compile(function, backend=inductor.compile_graph, **options)(*args)
    return result, runs


def block(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return (F.gelu(F.layer_norm(x, x.shape[-1:], weight, bias)) * torch.sigmoid(x)).sum(-1)


def test_results_and_gradients() -> None:
    before = driver._active
    given = [normal(32, 96, seed=1), normal(96, seed=2), normal(96, seed=3)]
    for each in given:
        each.requires_grad_()
    compiled = torch.compile(block, backend=inductor.compile_graph)
    with gs.frameworks.observed() as runs:
        y = compiled(*given)
        forward = len(runs)
        gradients = torch.autograd.grad(y.square().sum(), given)
    wanted = block(*given)
    torch.testing.assert_close(y, wanted, rtol=1e-5, atol=2e-5)
    for gradient, right in zip(gradients, torch.autograd.grad(wanted.square().sum(), given), strict=True):
        torch.testing.assert_close(gradient, right, rtol=1e-4, atol=1e-3)
    assert 0 < forward < len(runs)
    assert all(run.kernel.startswith("triton_") and not run.findings for run in runs)
    assert driver._active is before  # nothing is left of what was set meanwhile


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_other_types(dtype: torch.dtype) -> None:
    x = normal(40, 50, dtype=dtype)
    y, runs = run(lambda x: F.softmax(x, -1) * 3, x)
    assert runs
    torch.testing.assert_close(y, F.softmax(x, -1) * 3, rtol=2e-2 if dtype != torch.float64 else 1e-12, atol=1e-2)


def test_large_tensors_reductions_scans_and_transposed_views() -> None:
    x = normal(512, 640)
    (total, scan, mixed), runs = run(lambda x: (x.sum(0), x.cumsum(1), x[:512, :512] + x[:, :512].T), x)
    assert len(runs) >= 3
    torch.testing.assert_close(total, x.sum(0), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(scan, x.cumsum(1), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(mixed, x[:, :512] + x[:, :512].T)


def test_dynamic_shapes_take_one_compilation() -> None:
    compiled = torch.compile(lambda x: x.relu() + 1, backend=inductor.compile_graph, dynamic=True)
    for n in (100, 257, 1000):
        x = normal(n, seed=n)
        torch.testing.assert_close(compiled(x), x.relu() + 1)


def test_options_are_inductors() -> None:
    x = normal(64)
    y, runs = run(lambda x: x.exp() - 1, x, options={"triton.unique_kernel_names": True, "fx_graph_cache": False})
    torch.testing.assert_close(y, x.exp() - 1)
    assert runs
    with pytest.raises(Exception, match="no_such_option"):
        run(lambda x: x + 1, x, options={"no_such_option": 1})


def test_another_chip_compiles_for_itself() -> None:
    x = normal(64)
    with gs.use(gs.VirtualGPU("a100", workers=1)):
        y, runs = run(torch.sin, x)
    assert runs[0].chip == "a100"
    torch.testing.assert_close(y, x.sin())


@triton.jit
def twice_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def twice_and_one(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    twice_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y + 1


def test_a_kernel_of_ones_own_among_what_is_compiled() -> None:
    x = normal(300)
    with gs.frameworks.triton():  # the graph ends in front of the launch, which Triton does itself
        y, runs = run(twice_and_one, x)
    assert [run.kernel.startswith("triton_") for run in runs] == [False, True]
    torch.testing.assert_close(y, 2 * x + 1)


@pytest.mark.parametrize("active", [True, False])
def test_a_compiled_function_runs_whoever_is_active(active: bool) -> None:
    x = normal(32)
    compiled = torch.compile(lambda x: x.cos() * 2, backend=inductor.compile_graph)
    with gs.frameworks.triton():
        if active:
            compiled(x)
        assert isinstance(driver.active, VirtualDriver)
    torch.testing.assert_close(compiled(x), x.cos() * 2)


def test_where_a_gpu_is_inductor_compiles_as_ever() -> None:
    with (
        mock.patch("gridstride.frameworks.activation.physical_count", return_value=1),
        mock.patch.object(inductor, "compile_fx", return_value="Inductor's") as compile_fx,
        pytest.warns(UserWarning, match="Triton runs on it as ever"),
    ):
        assert inductor.compile_graph("graph", [], options={"max_autotune": True}) == "Inductor's"
    compile_fx.assert_called_once_with("graph", [], config_patches={"max_autotune": True})


def test_the_installation_tells_pytorch_of_the_backend() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["torch_dynamo_backends"]["gridstride"].partition(":")
    assert getattr(importlib.import_module(module), name) is inductor.compile_graph
