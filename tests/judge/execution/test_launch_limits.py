"""Launches that hardware would refuse are refused, at sizes that are not run too."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

import gridstride as gs
from gridstride.judge.execution.launch_limits import too_many_registers
from gridstride.judge.find import Folder, find
from gridstride.judge.header import parse_kernel
from gridstride.judge.ladder import Ladder
from gridstride.judge.verdict import Finding

COPY = find("transpose")


def judged(header: str, body: str, *, chip: str = "h200", folder: Folder = COPY) -> tuple[Finding, ...]:
    source = f"{header}\n__global__ void t(const float* in, float* out, int M, int N)\n{{\n{body}\n}}"
    ladder = Ladder(folder, device=gs.VirtualGPU(chip), seed=1)
    return ladder.judge(parse_kernel(source)).findings


TURN = """    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * N; i += gridDim.x * blockDim.x)
        out[(size_t)(i % N) * M + i / N] = in[i];"""
ONE_LINE = "// grid: ceil(M*N/256)\n// block: 256"


def test_a_kernel_within_the_limits_is_judged_by_what_it_does() -> None:
    assert judged(ONE_LINE, TURN) == ()


@pytest.mark.parametrize("chip", ["h200", "h100", "a100", "rtx4090", "t4"])
def test_more_static_shared_memory_than_the_assembler_takes(chip: str) -> None:
    body = "    __shared__ float tile[64 * 200];\n    tile[threadIdx.x] = 0; __syncthreads();\n" + TURN
    body = body.replace("in[i];", "in[i] + tile[threadIdx.x % 64];")
    (found,) = judged(ONE_LINE, body, chip=chip)
    assert found.kind == "launch"
    assert "51,200 bytes of static shared memory are above the 49,152" in found.message
    assert "extern __shared__" in found.message


def test_more_constants_than_a_module_may_have() -> None:
    source = """// grid: 1
// block: 32
__constant__ float table[20000];
__global__ void t(const float* in, float* out, int M, int N) { out[0] = table[M]; }"""
    (found,) = Ladder(COPY, device="virtual", seed=1).judge(parse_kernel(source)).findings
    assert found.kind == "launch"
    assert "80,000 bytes of __constant__ variables, a module may have 65,536" in found.message


def test_a_grid_that_is_impossible_at_the_timed_size_only() -> None:
    tall = Folder(COPY.path, replace(COPY.problem, timed={"M": 1 << 20, "N": 64}))
    header = "// grid: ceil(N/32) ceil(M/8)\n// block: 32 8"
    body = """    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r < M && c < N) out[(size_t)c * M + r] = in[(size_t)r * N + c];"""
    (found,) = judged(header, body, folder=tall)
    assert found.kind == "launch"
    assert "grid.y = 131072 is above the 65,535" in found.message
    assert "(M=1048576 N=64, the timed size)" in found.message


def test_dynamic_shared_memory_that_grows_too_large_at_the_timed_size() -> None:
    header = f"{ONE_LINE}\n// shared: 32*N"
    (found,) = judged(header, "    extern __shared__ float row[];\n    row[threadIdx.x % N] = 0;\n" + TURN)
    assert found.kind == "launch"
    assert "262,144 bytes of shared memory" in found.message
    assert "the timed size" in found.message


@pytest.mark.parametrize(
    ("registers", "estimated", "refused"), [(64, False, False), (65, False, True), (78, True, False), (90, True, True)]
)
def test_more_registers_than_a_multiprocessor_has_for_the_block(registers: int, estimated: bool, refused: bool) -> None:
    run = SimpleNamespace(block=(1024, 1, 1), occupancy=SimpleNamespace(registers=registers, estimated=estimated))
    found = too_many_registers(run, (32, 1, 1), gs.VirtualGPU("h200").properties)
    assert [f.kind for f in found] == ["launch"] * refused
    for finding in found:
        assert f"{registers} registers per thread × 1024 threads are above the 65,536" in finding.message
        assert "__launch_bounds__(1024)" in finding.message


MALLOC = """// grid: ceil(n/256)
// block: 256
__global__ void add(const float* a, const float* b, float* c, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float* mine = (float*)malloc(WORDS * sizeof(float));
    mine[0] = i < n ? a[i] + b[i] : 0.0f;
    if (i < n) c[i] = mine[0];
    free(mine);
}"""


def test_the_block_of_the_timed_size_must_find_its_registers_too() -> None:
    """One that grows with a size is small where it was counted."""
    run = SimpleNamespace(block=(256, 1, 1), occupancy=SimpleNamespace(registers=128, estimated=False))
    gpu = gs.VirtualGPU("h200").properties
    assert too_many_registers(run, (256, 1, 1), gpu) == ()
    (found,) = too_many_registers(run, (1024, 1, 1), gpu)
    assert "128 registers per thread × 1024 threads are above the 65,536" in found.message


def test_malloc_of_more_than_the_device_heap_at_full_residency() -> None:
    (found,) = (
        Ladder(find("vector_add"), device="virtual", seed=1).judge(parse_kernel(MALLOC.replace("WORDS", "32"))).findings
    )
    assert found.kind == "out_of_memory"
    assert "a block asks for 32,768 bytes, and at the timed size 1,056 blocks are on the GPU" in found.message
    assert "8,388,608 bytes of the device heap" in found.message


def test_malloc_that_fits_the_device_heap_passes() -> None:
    source = MALLOC.replace("WORDS", "32").replace("// grid: ceil(n/256)", "// grid: 128")
    source = source.replace("float* mine", "if (i >= 128 * 256) return;\n    float* mine")
    source = source.replace("if (i < n) c[i] = mine[0];", "for (int k = i; k < n; k += 128 * 256) c[k] = a[k] + b[k];")
    assert Ladder(find("vector_add"), device="virtual", seed=1).judge(parse_kernel(source)).findings == ()


LOCAL = """// grid: ceil(n/256)
// block: 256
__global__ void add(const float* a, const float* b, float* c, int n) {
    volatile float mine[WORDS];
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) { mine[n % WORDS] = a[i]; c[i] = mine[n % WORDS] + b[i]; }
}"""


@pytest.mark.parametrize(
    ("chip", "words", "said"),
    [
        ("h200", 140_000, "560,000 bytes of local memory are above the 524,288 that a thread may have"),
        ("t4", 110_000, "440,000 bytes of local memory for each of the 40,960 threads that NVIDIA T4 holds"),
        ("h200", 1000, ""),
    ],
)
def test_local_memory_that_hardware_has_no_room_for(chip: str, words: int, said: str) -> None:
    source = LOCAL.replace("WORDS", str(words))
    findings = Ladder(find("vector_add"), device=gs.VirtualGPU(chip), seed=1).judge(parse_kernel(source)).findings
    assert [said in f.message and f.kind for f in findings] == (["launch"] if said else [])
