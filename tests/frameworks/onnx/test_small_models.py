"""Each small model gives by our engine, at every shape, what ONNX Runtime gives; what should be fused is."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
pytest.importorskip("transformers", reason="transformers is not installed: pip install 'gridstride[test]'")
from library_models import LIBRARY, library_model
from small_models import NAMES, Model, models

from gridstride.frameworks.onnx.check import difference, run_session, session_of
from gridstride.frameworks.onnx.engine import Engine
from gridstride.frameworks.onnx.input_values import random_inputs

QUICK = ("mlp", "attention", "norms", "tables", "elementwise")
"""Run without fusion, too."""


@pytest.fixture(scope="module")
def small() -> dict[str, Model]:
    return models()


def hold(model: Model, path: Path, device: str | None = None) -> None:
    """Every shape of a model against ONNX Runtime."""
    model.write(path)
    fusions = (True, False) if model.name in QUICK else (True,)
    engines = [Engine(path, device=device, fused=fused) for fused in fusions]
    session = session_of(path, str(path))
    for sizes in model.shapes:
        values = random_inputs(engines[0].graph.inputs, sizes, 0, {"": model.tokens} | engines[0].token_limits)
        wanted = run_session(session, values)
        for engine in engines:
            outputs = engine.run(values).outputs
            for output, value in wanted.items():
                assert outputs[output].dtype == value.dtype
                error, share = difference(outputs[output], value, int8=engine.int8)
                assert share <= 1, f"{output} at {sizes}: error {error}"
    assert set(model.fusions) <= engines[0].fusions.keys()


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_gives_what_onnx_runtime_gives(
    name: str, small: dict[str, Model], tmp_path: Path, gpu: object
) -> None:
    hold(small[name], tmp_path / "model.onnx")


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_so_it_does_on_a_physical_gpu(name: str, small: dict[str, Model], tmp_path: Path) -> None:
    hold(small[name], tmp_path / "model.onnx", "physical")


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARY)
def test_a_model_of_the_transformers_library(name: str, tmp_path: Path, gpu: object) -> None:
    hold(library_model(name), tmp_path / "model.onnx")


def test_every_model_is_named(small: dict[str, Model]) -> None:
    assert tuple(small) == NAMES
