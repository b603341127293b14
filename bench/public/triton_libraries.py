"""Triton's tutorials and a library of Triton kernels: what of them ran, by their own comparisons with PyTorch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
TUTORIALS = {
    "01-vector-add": "", "02-fused-softmax": "", "03-matrix-multiplication": "", "04-low-memory-dropout": "",
    "05-layer-norm": "", "06-fused-attention": "", "07-extern-functions": "", "08-grouped-gemm": "",
    "09-persistent-matmul": "its comparisons stand behind the command line and cuBLAS",
    "10-block-scaled-matmul": "needs tcgen05 of compute capability 10",
    "11-programmatic-dependent-launch": "",
}  # fmt: skip
LIGER = (
    "attn_res", "cross_entropy", "dyt", "embedding", "fused_add_rms_norm", "fused_linear_cross_entropy",
    "fused_linear_jsd", "fused_moe", "fused_neighborhood_attention", "geglu", "group_norm", "grpo_loss", "jsd",
    "kl_div", "layer_norm", "llama4_rope", "mhc", "mlp", "mm_int8int2", "modulated_rms_norm", "multi_token_attention",
    "poly_norm", "qwen2vl_mrope", "relu_squared", "rms_norm", "rope", "softmax", "sparsemax", "swiglu", "tvd",
)  # fmt: skip
"""Its tests by name, without those of other backends (CuTe, cuTile), of other hardware and of whole models."""
LEET = {
    "openai-triton/vector-add/triton_vector_add": "", "openai-triton/layer-norm/triton_layer_norm": "",
    "openai-triton/fused-softmax/triton_fused_softmax": "needs PyCUDA",
    "openai-triton/merge-attn-states/test_merge_attn_states": "needs an extension that PyTorch compiles",
}  # fmt: skip
"""LeetCUDA's files of Triton."""
OURS = re.compile(r"^(KernelFault|CompileError|LaunchError|UnsupportedInstruction|DeviceError|Deadlock)\b")
Found = tuple[str, str, str]
"""A kernel, its verdict, the reason."""


def tutorial(root: Path, name: str) -> Iterator[Found]:
    """The kernels of one tutorial."""
    yield from script(root / "python" / "tutorials" / f"{name}.py", TUTORIALS[name])


def script(path: Path, unable: str = "") -> Iterator[Found]:
    """The kernels of a file that compares them with PyTorch; `unable` says why it cannot run here."""
    if unable or not path.exists():
        yield "", "theirs", unable or "is not in this copy"
        return
    command = [sys.executable, str(HERE / "tutorials.py"), str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=_environment(), timeout=600)
        told = json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        yield "", "refused", "not ended after 600 s"
        return
    except (IndexError, json.JSONDecodeError):
        yield "", "refused", done.stderr[-500:]
        return
    verdict, reason = _tutorial_verdict(told)
    if told["error"] and not told["launched"]:
        yield "", verdict, reason
    for kernel in told["kernels"]:
        yield (kernel, verdict, reason) if kernel in told["launched"] else (kernel, "not run", "")


def _tutorial_verdict(told: dict[str, Any]) -> tuple[str, str]:
    error, said = told["error"], told["said"]
    if error:
        return ("wrong" if error.startswith("AssertionError") else "refused"), error
    apart = [float(each) for each in re.findall(r"maximum difference between torch and triton is ([\d.e+-]+)", said)]
    if "❌" in said or any(each > 1e-5 for each in apart):
        return "wrong", said[-300:]
    return "right", ""  # what is not printed is asserted


def library(root: Path, name: str, *, few: int = 1) -> Iterator[Found]:
    """The kernels that a test file of the library launches."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        places = [str(root / "src"), str(HERE)]
        environment = _environment(*places) | {"GRIDSTRIDE_NOTES": str(notes), "GRIDSTRIDE_FEW": str(few)}
        options = ["-p", "library_tests", "-p", "no:cacheprovider", "-n", "0", "-q", "--timeout", "120"]
        command = [sys.executable, "-m", "pytest", *options, f"test/transformers/test_{name}.py"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root, timeout=1200)
            ended = done.stdout[-400:]
        except subprocess.TimeoutExpired:
            ended = "not ended after 1200 s"
        lines = [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()]
    if not lines:
        yield "", "theirs", f"no test ran: {ended}"
    elif all(line["outcome"] == "skipped" for line in lines):
        yield "", "theirs", "its own file skips all of its tests"
    yield from judged(lines)


def judged(lines: Sequence[dict[str, Any]]) -> Iterator[Found]:
    """A verdict for each test's kernels."""
    for line in lines:
        verdict, reason = "right", ""
        if line["outcome"] == "skipped":
            continue
        if line["outcome"] != "passed":
            error = line["error"] or ""
            verdict = "wrong" if error.startswith("AssertionError") else "refused" if OURS.match(error) else "theirs"
            reason = f"{line['test']}: {error}"
        for kernel in line["kernels"] or ([""] if verdict != "right" else []):
            yield kernel, verdict, reason


def kernels_of(root: Path) -> set[str]:
    """All that the library decorates, helper functions with them."""
    found = r"@triton\.jit(?:\([^)]*\))?\s*\ndef (\w+)"
    return {
        each for path in (root / "src/liger_kernel/ops").glob("*.py") for each in re.findall(found, path.read_text())
    }


def _environment(*places: str) -> dict[str, str]:
    known = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [*places, str(SOURCE), known]))}
