"""Programs with OpenMP: who asks for it, what is linked, and host threads that each call the runtime."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gridstride.programs.program_errors import ProgramError
from gridstride.programs.sources import Options
from gridstride.programs.toolchain import openmp as module
from gridstride.programs.toolchain.openmp import WHEEL, OpenMP, is_wanted, link_words, openmp


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], None]]:
    def choose(there: bool) -> None:
        library = OpenMP(Path("/wheel/include"), Path("/wheel/lib/libomp.so")) if there else None
        monkeypatch.setattr(module, "openmp", lambda: library)

    return choose


def test_a_file_that_includes_its_header_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "with.cu").write_text("#include <cstdio>\n # include <omp.h>\n")
    (tmp_path / "without.cu").write_text("// #include <omp.h>\nint main() {}\n")
    assert is_wanted([tmp_path / "without.cu", tmp_path / "with.cu"], Options())
    assert not is_wanted([tmp_path / "without.cu"], Options())


def test_an_option_asks_for_it_and_for_the_wheel(installed: Callable[[bool], None]) -> None:
    options = Options(flags=("-Xcompiler", "-O3,-fopenmp"))
    installed(True)
    assert is_wanted([], options)
    installed(False)
    with pytest.raises(ProgramError, match=f"pip install {WHEEL}"):
        is_wanted([], options)


def test_objects_that_call_it_are_linked_with_it(installed: Callable[[bool], None]) -> None:
    parallel, other = b"\0__kmpc_fork_call\0", b"\0main\0comp_\0"
    installed(True)
    assert link_words([other, parallel]) == ("-L/wheel/lib", "-lomp", "-Wl,-rpath,/wheel/lib")
    assert link_words([other]) == ()
    installed(False)
    assert link_words([parallel]) == ()


THREADS = r"""
#include <cstdio>
#include <omp.h>
__global__ void add(int *x, int by) { x[blockIdx.x * blockDim.x + threadIdx.x] += by; }
int main() {
  enum { N = 1 << 12 };
  int wrong = 0, threads = 0, host[4][N];
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  {
    int mine = omp_get_thread_num(), *x;
    cudaStream_t stream;
    cudaSetDevice(mine % 2);
    cudaStreamCreate(&stream);
    cudaMalloc(&x, sizeof host[0]);
    for (int i = 0; i < N; i++) host[mine][i] = i;
    cudaMemcpyAsync(x, host[mine], sizeof host[0], cudaMemcpyHostToDevice, stream);
    for (int turn = 0; turn < 10; turn++) add<<<N / 256, 256, 0, stream>>>(x, mine);
    cudaMemcpyAsync(host[mine], x, sizeof host[0], cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (int i = 0; i < N; i++) wrong += host[mine][i] != i + 10 * mine;
    wrong += cudaGetLastError() != cudaSuccess;
#pragma omp critical
    threads++;
  }
  printf("%d of %d threads, %d wrong\n", threads, omp_get_max_threads() > 0 ? 4 : 0, wrong);
}
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(openmp() is None, reason=f"{WHEEL} is not installed")
def test_threads_of_the_host_call_the_runtime_at_once(program: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = program(THREADS, "--gpus", "2", "--sanitize")
    assert done.stdout == "4 of 4 threads, 0 wrong\n", done.stderr
