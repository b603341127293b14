"""What launch a file without one is told to open with: the one that its own indices ask for."""

from __future__ import annotations

import re
from math import prod

import pytest

from gridstride.judge.find import find, problem_names
from gridstride.judge.header import KernelFile, SymbolicLaunch, parse_kernel
from gridstride.judge.ladder import Ladder
from gridstride.judge.likely_launch import cuda_header, python_header
from gridstride.judge.sandbox.python_header import parse_python
from gridstride.virtual.gpu import VirtualGPU

ROW = "int row = blockIdx.y * blockDim.y + threadIdx.y;"
COLUMN = "int column = blockIdx.x * blockDim.x + threadIdx.x;"
I = "int i = blockIdx.x * blockDim.x + threadIdx.x;"  # noqa: E741
TRANSPOSE = f"{COLUMN} {ROW} if (row < M && column < N) out[column * M + row] = in[row * N + column];"
CUDA = [
    ("vector_add", f"{I} if (i < n) c[i] = a[i] + b[i];", "ceil(n/256)", "256"),
    ("vector_add", f"{I} if (i >= n) return; c[i] = a[i] + b[i];", "ceil(n/256)", "256"),
    ("vector_add", f"{I} c[i] = a[i] + b[i];", "ceil(n/256)", "256"),
    (
        "vector_add",
        "for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 128 * gridDim.x) {}",
        "ceil(n/128)",
        "128",
    ),
    ("vector_add", "for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];", "1", "1"),
    ("transpose", TRANSPOSE, "ceil(N/32) ceil(M/8)", "32 8"),
    ("transpose", f"{I} if (i < M * N) out[i % N * M + i / N] = in[i];", "ceil(M*N/256)", "256"),
    (
        "transpose",
        "__shared__ float t[16][17]; int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y; "
        "if (x < N && y < M) t[threadIdx.y][threadIdx.x] = in[y * N + x];",
        "ceil(N/16) ceil(M/16)",
        "16 16",
    ),
    ("softmax", "int r = blockIdx.x; for (int c = threadIdx.x; c < columns; c += blockDim.x) {}", "rows", "256"),
    ("softmax", "__shared__ float s[128]; s[threadIdx.x] = x[blockIdx.x * columns + threadIdx.x];", "rows", "128"),
    ("reduction", f"__shared__ float s[512]; {I} s[threadIdx.x] = i < n ? x[i] : 0;", "ceil(n/512)", "512"),
]


def bare(problem: str, body: str) -> KernelFile:
    """A kernel of the problem's parameters with no word of its launch."""
    parameters = ", ".join(
        f"{'int' if not each.shape else ('' if each.written else 'const ') + 'float*'} {each.name}"
        for each in find(problem).problem.parameters
    )
    return parse_kernel(f"__global__ void k({parameters}) {{ {body} }}", filename="k.cu")


@pytest.mark.parametrize(("problem", "body", "grid", "block"), CUDA)
def test_the_grid_is_what_the_indices_are_held_against(problem: str, body: str, grid: str, block: str) -> None:
    lines = cuda_header(find(problem).problem.signature, bare(problem, body))
    assert lines == [f"// grid: {grid}", f"// block: {block}"]


def test_the_kernels_own_names_of_the_sizes_are_followed() -> None:
    source = "__global__ void k(const float* in, float* out, int height, int width) { "
    source += TRANSPOSE.replace("M", "height").replace("N", "width") + " }"
    assert cuda_header(find("transpose").problem.signature, parse_kernel(source)) == [
        "// grid: ceil(N/32) ceil(M/8)",
        "// block: 32 8",
    ]


def test_dynamic_shared_memory_gets_an_element_for_each_thread() -> None:
    body = f"extern __shared__ double s[]; {I} if (i < n) s[threadIdx.x] = x[i];"
    lines = cuda_header(find("reduction").problem.signature, bare("reduction", body))
    assert lines[2] == "// shared: 2048"


def test_dynamic_shared_memory_of_an_unknown_type_is_not_guessed() -> None:
    body = f"extern __shared__ Pair s[]; {I} if (i < n) s[threadIdx.x].first = x[i];"
    assert cuda_header(find("reduction").problem.signature, bare("reduction", body)) == []


@pytest.mark.parametrize(
    "body",
    [
        "int t = blockIdx.x / 4, u = blockIdx.x % 4;",  # tiles numbered through
        "int x = blockIdx.x * 64 + threadIdx.x * 4, y = blockIdx.y * 64 + threadIdx.y * 4; if (x < N && y < M) {}",
        "",
    ],
)
def test_where_the_text_does_not_tell_nothing_is_proposed(body: str) -> None:
    assert cuda_header(find("transpose").problem.signature, bare("transpose", body)) == []


def test_a_file_that_is_there_to_be_hard_to_read_is_left_alone() -> None:
    signature = find("vector_add").problem.signature
    many = "".join(f"int i{k} = blockIdx.x * 3 + (" for k in range(4000))
    assert cuda_header(signature, bare("vector_add", many)) == []
    assert cuda_header(signature, bare("vector_add", I + " " * 100_000)) == []
    nested = f"from numba import cuda\n@cuda.jit\ndef add(a):\n    a[0] = {'-' * 5000}1\n"
    kernel = KernelFile("add", "add.py", nested, "", "add", None, None, None)
    assert python_header(signature, kernel, "numba") == []


def test_a_matrix_transposed_as_beginners_write_it_passes_with_what_is_proposed() -> None:
    folder = find("transpose")
    kernel = bare("transpose", TRANSPOSE)
    source = "\n".join([*cuda_header(folder.problem.signature, kernel), kernel.source])
    climbing = Ladder(folder, device=VirtualGPU("h200"), seed=1, sandbox=False)
    try:
        assert climbing.judge(parse_kernel(source, filename="k.cu")).findings == ()
    finally:
        climbing.close()


def test_first_rungs_get_as_many_threads_as_they_ask_for() -> None:
    told = 0
    for name in problem_names():
        problem, rung = find(name).problem, find(name).rungs()[0]
        if rung.launch is None:
            continue
        text = re.sub(r"^// (grid|block|shared):.*\n", "", rung.source, flags=re.MULTILINE)
        if lines := cuda_header(problem.signature, parse_kernel(text, filename=rung.filename)):
            told += 1
            assert threads(as_launch(lines), problem.observed) >= threads(rung.launch, problem.observed), name
    assert told >= 20


def as_launch(lines: list[str]) -> SymbolicLaunch:
    launch = parse_kernel("\n".join([*lines, "__global__ void k() {}"])).launch
    assert launch is not None
    return launch


def threads(launch: SymbolicLaunch, sizes: dict[str, int]) -> int:
    shape = launch.shape(sizes)
    return prod(shape.grid) * (1 if max(shape.grid) == 1 else prod(shape.block))


ADD = """
@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    tl.store(output_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)
"""
TUNED = "@triton.autotune(configs=[triton.Config({'BLOCK_SIZE': 128}, num_warps=4)], key=['n_elements'])" + ADD
TILES = """
@triton.jit
def t(in_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(in_ptr + rows[:, None] * N + columns[None, :], mask=(rows[:, None] < M) & (columns[None, :] < N))
"""
GROUPED = """
@triton.jit
def mm(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, BM: tl.constexpr, BN: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BM)
    num_pid_n = tl.cdiv(N, BN)
    pid_m = pid // num_pid_n
"""
ROWS = """
@triton.jit
def softmax(y_ptr, x_ptr, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n_cols + tl.arange(0, BLOCK_SIZE))
"""
STRIDE = """
@cuda.jit
def add(a, b, c, n):
    for i in range(cuda.grid(1), c.size, cuda.gridsize(1)):
        c[i] = a[i] + b[i]
"""
GRID_2D = """
@cuda.jit
def t(src, dst, m, n):
    i, j = cuda.grid(2)
    if i < src.shape[0] and j < src.shape[1]:
        dst[j, i] = src[i, j]
"""


@pytest.mark.parametrize(
    ("language", "problem", "source", "lines"),
    [
        ("triton", "vector_add", ADD, ["# grid: ceil(n/BLOCK_SIZE)", "# constants: BLOCK_SIZE=1024"]),
        ("triton", "vector_add", TUNED, ["# grid: ceil(n/BLOCK_SIZE)"]),
        ("triton", "transpose", TILES, ["# grid: ceil(M/BLOCK) ceil(N/BLOCK)", "# constants: BLOCK=32"]),
        ("triton", "matmul", GROUPED, ["# grid: ceil(M/BM)*ceil(N/BN)", "# constants: BM=32 BN=32"]),
        ("triton", "softmax", ROWS, ["# grid: rows", "# constants: BLOCK_SIZE=1024"]),
        ("numba", "vector_add", STRIDE, ["# grid: ceil(n/256)", "# block: 256"]),
        ("numba", "transpose", GRID_2D, ["# grid: ceil(M/32) ceil(N/8)", "# block: 32 8"]),
    ],
)
def test_python_kernels_are_told_their_own_constants(
    language: str, problem: str, source: str, lines: list[str]
) -> None:
    imports = {"triton": "import triton\nimport triton.language as tl\n", "numba": "from numba import cuda\n"}[language]
    file = parse_python(imports + source, filename="mine.py")
    assert python_header(find(problem).problem.signature, file.kernel, language) == lines
