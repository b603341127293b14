"""`gridstride onnx`: words, what is shown and written, exit codes, mistakes in one sentence."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import command_line
import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'gridstride[onnx]'")


SOURCE = """
import torch
from torch import nn

def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)), torch.randn(4, 16)

def other():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)), torch.randn(4, 16)

def number():
    return 3

class Looks(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x

def looks():
    return Looks(), torch.randn(3)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "m.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


call = partial(command_line.status, "onnx")


def object_of(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert call(*words, "--json") == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_from_a_module_to_int8(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exported = object_of(capsys, "export", "m.py:mlp", "-o", "mlp.onnx")
    assert exported["inputs"] == {"input": ["batch", 16]}
    assert exported["checked"]["passed"]
    assert exported["checked"]["max_error"] < 1e-5
    assert [shape["sizes"] for shape in exported["checked"]["shapes"]] == [{"batch": n} for n in (2, 1, 3)]

    assert object_of(capsys, "check", "mlp.onnx", "--model", "m.py:mlp")["max_error"] < 1e-5
    assert object_of(capsys, "check", "mlp.onnx", "--model", "m.py:other", code=1)["passed"] is False

    ran = object_of(capsys, "run", "mlp.onnx", "--size", "batch=5", "--device", "virtual", "--compare")
    assert ran["passed"]
    assert ran["predicted"]
    assert ran["fusions"] == {"bias": 2, "product and activation": 1}
    assert [node["op"] for node in ran["nodes"]] == ["Linear+Relu", "Linear"]
    assert all(launch["instructions"] > 0 for node in ran["nodes"] for launch in node["launches"])

    small = object_of(capsys, "quantize", "mlp.onnx", "-o", "small.onnx", "--mode", "static", "--samples", "3")
    assert small["bytes_after"] < small["bytes_before"]
    assert 0 < small["mean_error"] < 0.1
    assert object_of(capsys, "run", "small.onnx", "--device", "virtual", "--compare")["passed"]


def test_what_people_see(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("x.npz", input=np.ones((2, 16), np.float32))
    assert call("export", "m.py:mlp", "-o", "mlp.onnx", "--no-check", "--opset", "18") == 0
    assert call("run", "mlp.onnx", "--inputs", "x.npz", "--outputs", "y.npz", "--device", "virtual") == 0
    shown = capsys.readouterr().out
    assert "wrote mlp.onnx: opset 18, 3 nodes" in shown
    assert "mlp.onnx on the virtual GPU (NVIDIA H200): 3 nodes, 2 after fusion (bias 2, " in shown
    assert "onnx_gemm" in shown
    assert "2 launches" in shown
    (name,) = np.load("y.npz").files
    assert np.load("y.npz")[name].shape == (2, 8)


def test_a_model_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gridstride.models.config import DecoderConfig
    from gridstride.models.decoder import Decoder
    from gridstride.models.huggingface.folder import save

    sizes = {"vocabulary": 61, "width": 16, "layers": 1, "heads": 2, "kv_heads": 1, "head_width": 8, "hidden": 24}
    save(Decoder(DecoderConfig(**sizes, context=12)), folder / "model")  # type: ignore[arg-type]
    exported = object_of(capsys, "export", "model", "-o", "decoder.onnx")
    assert exported["inputs"] == {"tokens": ["batch", "length"]}
    assert exported["checked"]["passed"]
    assert [shape["sizes"]["length"] for shape in exported["checked"]["shapes"]] == [9, 4, 12]
    ran = object_of(capsys, "run", "decoder.onnx", "--size", "length=7", "--device", "virtual", "--compare")
    assert ran["passed"]
    assert ran["outputs"].popitem()[1]["shape"] == [2, 7, 61]


PLUGIN = """
from gridstride.frameworks.onnx import plugin
import gridstride as gs

@plugin("Relu")
def relu(run, node, x):
    y = run.empty(x.shape, x.dtype)
    source = "__global__ void ramp(const float* x, float* y) { y[threadIdx.x] = fmaxf(x[threadIdx.x], 0.0f); }"
    run.launch(gs.cuda(source)["ramp"], 1, x.size, (run.contiguous(x), y))
    return y
"""


def test_a_plugin_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gridstride.frameworks.onnx.registry import PLUGINS

    (folder / "plugin.py").write_text(PLUGIN)
    assert call("export", "m.py:mlp", "-o", "mlp.onnx", "--no-check") == 0
    try:
        ran = object_of(capsys, "run", "mlp.onnx", "--plugin", "plugin.py", "--device", "virtual", "--compare")
    finally:
        PLUGINS.clear()
    assert ran["passed"]
    assert [node["launches"][0]["kernel"] for node in ran["nodes"]] == ["onnx_gemm", "ramp", "onnx_gemm"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("export", "nothing", "-o", "a.onnx"), "there is no folder nothing"),
        (("export", "none.py:f", "-o", "a.onnx"), "there is no file none.py"),
        (("export", "m.py:f", "-o", "a.onnx"), "m.py has no function 'f': it has looks, mlp, number, other"),
        (("export", "m.py:number", "-o", "a.onnx"), "must return (module, example inputs), not int"),
        (("export", "m.py:mlp", "-o", "a.txt"), "--out a.txt must end in .onnx"),
        (("export", "m.py:mlp", "-o", "no/a.onnx"), "there is no folder no"),
        (("export", "m.py:mlp", "-o", "a.onnx", "--opset", "3"), "opset 3 must be from 18 to 24"),
        (
            ("export", "m.py:mlp", "-o", "a.onnx", "--dtype", "float16"),
            "--dtype float16 is for model folders: m.py:mlp",
        ),
        (("export", "m.py:looks", "-o", "a.onnx"), "PyTorch cannot export Looks: "),
        (("check", "none.onnx"), "there is no file none.onnx"),
        (("run", "m.py"), "m.py is no ONNX model"),
        (("run", "none.onnx", "--device", "quantum"), "there is no device 'quantum'"),
        (("run", "none.onnx", "--size", "batch"), "--size batch: NAME=NUMBER belongs there"),
        (("run", "none.onnx", "--size", "b=1", "--inputs", "x.npz"), "leave one out"),
        (("run", "none.onnx", "--outputs", "y.txt"), "--outputs y.txt must end in .npz"),
        (("run", "none.onnx", "--plugin", "none.py"), "--plugin none.py: there is no such file"),
        (("quantize", "none.onnx", "-o", "q.onnx", "--mode", "half"), "--mode half is none of dynamic, static"),
        (("quantize", "none.onnx", "-o", "q.onnx", "--samples", "0"), "--samples 0 must be from 1 to"),
    ],
)
def test_mistakes(folder: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*words) == 2
    shown = capsys.readouterr().err.splitlines()
    assert said in shown[-1]
    assert shown[-1].startswith("error: ")
