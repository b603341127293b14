"""Triton and Numba files as they are written elsewhere: their own names, launchers, measurements and configurations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gridstride.judge.find import find
from gridstride.judge.ladder import Ladder
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.submission import submission
from gridstride.judge.verdict import RungResult
from gridstride.virtual.gpu import VirtualGPU

pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"Python submissions are refused here: {why_not()}")

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
TUTORIAL = (
    "# Vector addition as a tutorial has it.\n# grid: ceil(n_elements/BLOCK_SIZE)\n"
    + HEAD
    + """
DEVICE = triton.runtime.driver.active.get_active_torch_device()

DECORATORS
@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    tl.store(output_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)

def add(x: torch.Tensor, y: torch.Tensor):
    output = torch.empty_like(x)
    assert x.device == DEVICE and output.device == DEVICE
    n_elements = output.numel()
    add_kernel[lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)](x, y, output, n_elements)
    return output

x = torch.rand(98432, device=DEVICE)
assert torch.allclose(add(x, x), x + x)
print(f"the maximum difference is {torch.max(torch.abs(add(x, x) - x)):.3f}")

@triton.testing.perf_report(triton.testing.Benchmark(
    x_names=["size"], x_vals=[2**i for i in range(12, 28)], line_arg="provider", line_vals=["triton"],
    line_names=["Triton"], styles=[("blue", "-")], ylabel="GB/s", plot_name="add", args={}))
def benchmark(size, provider):
    return triton.testing.do_bench(lambda: add(x, x))

benchmark.run(print_data=True)
"""
)
TUNED = (
    "@triton.autotune([triton.Config({'BLOCK_SIZE': 256}, num_warps=2), triton.Config({'BLOCK_SIZE': 512})], key=[])"
)
TRANSPOSE = (
    "# grid: ceil(M/32) ceil(N/32)\n# arguments: row=N column=1\n"
    + HEAD
    + """
@triton.jit
def tile(n, offset):
    return offset * n + tl.arange(0, n)

@triton.jit
def transposed(src, dst, M, N, row, column, BLOCK: tl.constexpr = 32):
    i, j = tile(BLOCK, tl.program_id(0))[:, None], tile(BLOCK, tl.program_id(1))[None, :]
    inside = (i < M) & (j < N)
    tl.store(dst + j * M + i, tl.load(src + i * row + j * column, mask=inside), mask=inside)
"""
)
NUMBA = """# block: 256
# grid: ceil(size/256)
import numpy as np
import torch
from numba import cuda

@cuda.jit
def add(out, x, y, size):
    i = cuda.grid(1)
    if i < size:
        out[i] = x[i] + y[i]

a = cuda.to_device(np.ones(3, np.float32))
add[1, 32](a, a, a, 3)
"""


@pytest.fixture(scope="module")
def ladder() -> Iterator[Ladder]:
    judge = Ladder(find("vector_add"), device=VirtualGPU(), sandbox=True)
    yield judge
    judge.close()


def verdict(ladder: Ladder, folder: Path, source: str) -> RungResult:
    (folder / "mine.py").write_text(source)
    return ladder.judge(submission(folder / "mine.py"))


def test_a_tutorials_file_is_judged_by_its_kernel(ladder: Ladder, tmp_path: Path) -> None:
    result = verdict(ladder, tmp_path, TUTORIAL.replace("DECORATORS", TUNED))
    assert result.verdict == "pass"
    tuned, matched = result.notes
    assert tuned.startswith("configuration 1 of 2 of @triton.autotune: BLOCK_SIZE=256 num_warps=2")
    assert matched == "parameters matched by position: x_ptr = a, y_ptr = b, output_ptr = c, n_elements = n"
    assert result.check_json()["notes"] == list(result.notes)


def test_constants_choose_among_configurations(ladder: Ladder, tmp_path: Path) -> None:
    source = TUTORIAL.replace("DECORATORS", TUNED).replace("# grid", "# constants: BLOCK_SIZE=512\n# grid", 1)
    assert verdict(ladder, tmp_path, source).notes[0].startswith("configuration 2 of 2")


def test_a_constexpr_given_nowhere_names_the_line_to_write(ladder: Ladder, tmp_path: Path) -> None:
    (finding,) = verdict(ladder, tmp_path, TUTORIAL.replace("DECORATORS", "")).findings
    assert (
        "BLOCK_SIZE is a tl.constexpr and given nowhere: write a line `# constants: BLOCK_SIZE=1024`" in finding.message
    )


def test_a_heuristic_that_asks_for_arguments_names_its_constant(ladder: Ladder, tmp_path: Path) -> None:
    heuristic = "@triton.heuristics({'BLOCK_SIZE': lambda args: triton.next_power_of_2(args['n_elements'])})"
    (finding,) = verdict(ladder, tmp_path, TUTORIAL.replace("DECORATORS", heuristic)).findings
    assert "BLOCK_SIZE is set by @triton.heuristics from the arguments of a launch" in finding.message


def test_a_parameter_named_like_a_keyword_and_strides_of_its_own(tmp_path: Path) -> None:
    judge = Ladder(find("transpose"), device=VirtualGPU(), sandbox=True)
    try:
        result = verdict(judge, tmp_path, TRANSPOSE)
    finally:
        judge.close()
    assert result.verdict == "pass"
    assert result.notes == ("parameters matched by name: src = in, dst = out, M = M, N = N",)


def test_a_numba_file_with_its_own_order_and_launch(ladder: Ladder, tmp_path: Path) -> None:
    result = verdict(ladder, tmp_path, NUMBA)
    assert result.verdict == "pass"
    assert "out = c, x = a, y = b, size = n" in result.notes[0]


@pytest.mark.parametrize("signature", ['"void(float32[:], float32[:], float32[:], int32)"', "types"])
def test_a_numba_kernel_with_a_signature_needs_no_driver(ladder: Ladder, tmp_path: Path, signature: str) -> None:
    """With one Numba compiles where the function is defined, and for the GPU of the machine."""
    given = "void(float32[:], float32[:], float32[:], int32)" if signature == "types" else signature
    source = f"""# grid: ceil(n/128)
# block: 128
from numba import cuda, float32, int32, void
@cuda.jit("float32(float32, float32)", device=True)
def total(x, y):
    return x + y
@cuda.jit({given})
def vector_add(a, b, c, n):
    i = cuda.grid(1)
    if i < n:
        c[i] = total(a[i], b[i])
"""
    assert verdict(ladder, tmp_path, source).verdict == "pass"
