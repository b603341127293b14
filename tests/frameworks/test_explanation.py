"""What torch.compile made of a function: kernels with counters, the lines they come from, what PyTorch computes."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

import gridstride as gs

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import torch


@pytest.fixture(autouse=True)
def _caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from gridstride.device.physical.driver import physical_count

    if physical_count():
        pytest.skip("a physical GPU is here, and torch.compile is left to it")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "inductor"))
    with gs.use(gs.VirtualGPU(workers=2, time_limit=60)):
        yield
    torch._dynamo.reset()


def network(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    scaled = x * x.square().mean(-1, keepdim=True).rsqrt()
    return torch.relu(scaled @ weight)


FIRST = network.__code__.co_firstlineno


def test_kernels_have_counters_and_lines() -> None:
    x, weight = torch.randn(48, 64), torch.randn(64, 32)
    explanation = gs.frameworks.explain(network, x, weight)
    norm, relu = explanation.kernels
    assert [(line.file, line.line) for line in norm.lines] == [(__file__, FIRST + 1)]
    assert [line.line for line in relu.lines] == [FIRST + 2]
    assert relu.run.counters.global_sectors == 2 * 48 * 32 * 4 // 32
    assert explanation.predicted_ms == norm.run.predicted.ms + relu.run.predicted.ms > 0
    ((name, lines),) = explanation.others
    assert (name, [line.line for line in lines]) == ("extern_kernels.mm", [FIRST + 2])
    shown = str(explanation)
    assert "test_explanation.py:" in shown
    assert "x * x.square().mean(-1, keepdim=True).rsqrt()" in shown
    assert "extern_kernels.mm: left to PyTorch, on the processor" in shown
    assert "warp instructions" in shown


def test_gradients_are_explained_too() -> None:
    x, weight = torch.randn(48, 64), torch.randn(64, 32, requires_grad=True)
    forward, both = (gs.frameworks.explain(network, x, weight, backward=each) for each in (False, True))
    assert len(both.kernels) > len(forward.kernels)
    assert weight.grad.shape == (64, 32)


def test_what_has_no_gradient_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing of what the function returns requires a gradient"):
        gs.frameworks.explain(torch.sin, torch.randn(8), backward=True)


def test_nothing_to_explain() -> None:
    assert str(gs.frameworks.explain(lambda x: x, torch.randn(8))) == "no kernels"


def test_a_physical_gpu_is_left_alone() -> None:
    with (
        mock.patch("gridstride.frameworks.activation.physical_count", return_value=1),
        pytest.warns(UserWarning, match="physical GPU"),
        pytest.raises(RuntimeError, match="explain counts on the virtual GPU"),
    ):
        gs.frameworks.explain(torch.sin, torch.randn(8))
