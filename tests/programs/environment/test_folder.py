"""A project's own Makefile, with the folder that `gridstride env` names."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from gridstride.programs.environment.folder import exports, variables
from gridstride.programs.run import Settings
from gridstride.programs.toolchain.wheels import Toolchain

_MAKEFILE = """
CUDA_PATH ?= /usr/local/cuda
NVCC = $(CUDA_PATH)/bin/nvcc -ccbin g++
prog: add.o twice.o main.o link.o
\tg++ -o $@ $^ -L$(CUDA_PATH)/lib64 -lcudart -fopenmp -pie
link.o: add.o twice.o
\t$(NVCC) -gencode arch=compute_70,code=sm_70 -dlink $^ -o $@
%.o: %.cu
\t$(NVCC) -m64 -gencode arch=compute_70,code=sm_70 -O3 --std=c++17 -Xcompiler -Wall,-fopenmp -dc $< -o $@
%.o: %.cpp
\tg++ -O2 -fopenmp -fvisibility=hidden -I$(CUDA_PATH)/include -c $< -o $@
"""
_ADD = """
extern __device__ int twice(int);
__global__ void add(int *sum) { atomicAdd(sum, twice(threadIdx.x)); }
int sum_of(int threads) {
    int *sum, result;
    cudaMallocManaged(&sum, sizeof *sum);
    add<<<1, threads>>>(sum);
    cudaDeviceSynchronize();
    result = *sum;
    cudaFree(sum);
    return result;
}
"""
_TWICE = "__device__ int twice(int x) { return 2 * x; }\n"
_MAIN = """
#include <cuda_runtime_api.h>
#include <iostream>
#include <string>
int sum_of(int);
struct Begun { Begun() { std::cout << "begun "; } } begun;
int main(int count, char **words) {
    int devices = 0;
    cudaGetDeviceCount(&devices);
    std::cout << words[0] << " " << devices << " " << sum_of(std::stoi(words[1])) << std::endl;
    return 3;
}
"""


@pytest.fixture(scope="module")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, built."""
    if not shutil.which("make"):
        pytest.skip("there is no make here")
    folder = tmp_path_factory.mktemp("project")
    files = {"Makefile": _MAKEFILE, "add.cu": _ADD, "twice.cu": _TWICE, "main.cpp": _MAIN}
    for name, text in files.items():
        Path(folder, name).write_text(text)
    done = subprocess.run(["make"], cwd=folder, env=os.environ | variables(Settings()), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_what_a_makefile_links_runs_as_any_program(project: Path) -> None:
    done = subprocess.run(["./prog", "10"], cwd=project, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, "begun ./prog 1 90\n", "")


@pytest.mark.slow
def test_what_programs_run_on_stands_in_the_environment(project: Path) -> None:
    two = os.environ | variables(Settings(gpus=2))
    done = subprocess.run(["./prog", "4"], cwd=project, env=two, capture_output=True, text=True)
    assert done.stdout == "begun ./prog 2 12\n"


def compiled(folder: Path, text: str, *words: str, sanitize: bool = False) -> subprocess.CompletedProcess[str]:
    """By the folder's nvcc."""
    (folder / "prog.cu").write_text(text)
    environment = os.environ | variables(Settings(sanitize=sanitize))
    command = [f"{environment['CUDA_HOME']}/bin/nvcc", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_a_program_with_findings_fails_under_the_sanitizer(tools: Toolchain, tmp_path: Path) -> None:
    done = compiled(tmp_path, "int main() { void *p; cudaMalloc(&p, 4); }", "-run", "prog.cu", sanitize=True)
    assert done.returncode == 1
    assert "leak: an allocation of 4 bytes" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("int main() {}", ["none.cu"], "nvcc: error: there is no file none.cu\n"),
        ("void f(); int main() { f(); }", ["prog.cu"], "nothing defines f(); name all files of the program"),
        ("int main() { return nothing; }", ["prog.cu"], 'prog.cu(1): error: identifier "nothing" is undefined'),
        ("int main() {}", ["prog.cu", "-lcusolver"], "-lcusolver cannot be linked: they need NVIDIA's GPU"),
    ],
)
def test_what_does_not_build_is_said_as_compilers_do(
    tools: Toolchain, tmp_path: Path, text: str, words: list[str], said: str
) -> None:
    done = compiled(tmp_path, text, *words)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_shell_reads_the_assignments() -> None:
    text = exports({"A": "one two", "B": "it's"})
    done = subprocess.run(["sh", "-c", f"eval {shlex.quote(text)}; echo $A $B"], capture_output=True, text=True)
    assert done.stdout == "one two it's\n"


_OLD_MAKEFILE = """
NVCC = $(CUDA_PATH)/bin/nvcc
CC = gcc -fopenmp -O2
prog: image.o main.o
\t$(CC) $^ -o $@ -L$(CUDA_PATH)/lib64 -lcudart -lgomp -lm
image.o: image.cu pair.cuh
\t$(NVCC) -arch=sm_35 -O2 -Xcompiler "-fopenmp -Wall" -c image.cu
main.o: main.c
\t$(CC) -I$(CUDA_PATH)/include -c $<
"""
_OLD_FILES = {
    "Makefile": _OLD_MAKEFILE,
    "pair.cuh": "texture<int2, 1> pairs;\n",
    "image.cu": """#include <omp.h>
#include "pair.cuh"
texture<float, 2, cudaReadModeElementType> image;
__constant__ float factor;
__global__ void sums(float *out) {
    int x = threadIdx.x;
    out[x] = factor * tex2D(image, x + 0.5f, 0.5f) + tex1Dfetch(pairs, x).y;
}
extern "C" float largest(int n) {
    float *out, *rows, host[32], most = 0, two = 2;
    int2 *more, numbers[32];
    #pragma omp parallel for num_threads(4)
    for (int i = 0; i < n; ++i) host[i] = i, numbers[i] = make_int2(0, 100);
    size_t pitch;
    cudaMallocPitch(&rows, &pitch, sizeof host, 1);
    cudaMalloc(&out, sizeof host);
    cudaMalloc(&more, sizeof numbers);
    cudaMemcpy(rows, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpy(more, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol("factor", &two, sizeof two);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaBindTexture2D(0, image, rows, format, 32, 1, pitch);
    cudaBindTexture(0, pairs, more, sizeof numbers);
    sums<<<1, n>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    cudaUnbindTexture(image);
    for (int i = 0; i < n; ++i) most = host[i] > most ? host[i] : most;
    return most + omp_get_num_threads() - 1;
}
""",
    "main.c": """#include <cuda_runtime.h>
#include <omp.h>
#include <stdio.h>
float largest(int n);
int main(void) {
    struct cudaDeviceProp properties;
    int threads = 0;
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    #pragma omp parallel reduction(+ : threads)
    { omp_set_nest_lock(&lock); threads += 1; omp_unset_nest_lock(&lock); }
    cudaGetDeviceProperties(&properties, 0);
    cudaThreadSynchronize();
    printf("%g %d %d %d\\n", largest(32), threads, omp_get_max_threads(), properties.clockRate > 0);
    return 0;
}
""",
}


@pytest.fixture
def old_project(tools: Toolchain, tmp_path: Path) -> Path:
    """A project of CUDA 11: references to textures, one in a header; fields and functions of old; OpenMP in both."""
    if not shutil.which("make"):
        pytest.skip("there is no make here")
    for name, text in _OLD_FILES.items():
        Path(tmp_path, name).write_text(text)
    return tmp_path


@pytest.mark.slow
def test_a_makefile_of_cuda_11_builds_texture_references(old_project: Path) -> None:
    old = os.environ | variables(Settings(), cuda11=True)
    done = subprocess.run(["make"], cwd=old_project, env=old, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "omp.h" not in done.stderr  # nor warnings, with -Wall
    run = subprocess.run(["./prog"], cwd=old_project, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "162 1 1 1\n", "")


@pytest.mark.slow
def test_without_the_option_the_build_says_which_one(old_project: Path) -> None:
    done = subprocess.run(
        ["make"], cwd=old_project, env=os.environ | variables(Settings()), capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "texture<> references were dropped after CUDA 11, and --cuda11 brings such things back" in done.stderr


@pytest.mark.slow
def test_one_command_makes_a_program_of_cuda_11(old_project: Path) -> None:
    """Several sources and no object in between: nvcc preprocesses by the same compiler."""
    old = os.environ | variables(Settings(), cuda11=True)
    Path(old_project, "main.c").rename(old_project / "start.cpp")
    text = (old_project / "start.cpp").read_text().replace("float largest", 'extern "C" float largest')
    (old_project / "start.cpp").write_text(text)
    command = [f"{old['CUDA_HOME']}/bin/nvcc", "-Xcompiler", "-fopenmp", "image.cu", "start.cpp", "-o", "prog", "-run"]
    done = subprocess.run(command, cwd=old_project, env=old, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "162 1 1 1\n"), done.stderr


@pytest.mark.slow
def test_errors_of_an_old_project_name_its_own_lines(old_project: Path) -> None:
    old = os.environ | variables(Settings(), cuda11=True)
    with (old_project / "image.cu").open("a") as file:
        file.write("int f() { return nothing; }\n")
    line = len((old_project / "image.cu").read_text().splitlines())
    done = subprocess.run(["make"], cwd=old_project, env=old, capture_output=True, text=True)
    assert f'image.cu({line}): error: identifier "nothing" is undefined' in done.stderr
