"""Whole programs, from source to their last line: need the compilers of the extra `programs`, and no GPU."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .program_output import CHECK, RACE, UNCHECKED, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library


def test_output_status_and_arguments_are_the_programs(program: Run) -> None:
    done = program(
        """
#include <cstdio>
__global__ void hello() { printf("kernel %d\\n", threadIdx.x); }
int main(int argc, char **argv) {
  printf("before %s\\n", argv[1]);
  hello<<<1, 2>>>();
  cudaDeviceSynchronize();
  printf("after\\n");
  fprintf(stderr, "on stderr\\n");
  return 40 + argc;
}
""",
        arguments=("--json",),
    )
    assert lines(done) == ["before --json", "kernel 0", "kernel 1", "after"]
    assert done.returncode == 42
    assert "on stderr" in done.stderr


def test_stdin_is_the_programs(program: Run) -> None:
    done = program("#include <cstdio>\nint main() { char s[9]; puts(fgets(s, 9, stdin)); }", stdin="words")
    assert done.stdout == "words\n"


def test_the_second_run_compiles_nothing(program: Run) -> None:
    text = "int main() { return 5; }"
    first, began = program(text), time.monotonic()
    second = program(text)
    assert "compiling prog.cu" in first.stderr
    assert second.stderr == ""
    assert second.returncode == 5
    assert time.monotonic() - began < 20


def test_a_changed_header_is_compiled_anew(program: Run, tmp_path: Path) -> None:
    (tmp_path / "value.h").write_text("#define VALUE 3\n")
    text = '#include "value.h"\nint main() { return VALUE; }'
    assert program(text).returncode == 3
    (tmp_path / "value.h").write_text("#define VALUE 4\n")
    assert program(text).returncode == 4


def test_a_finding_names_the_file_from_wherever_it_is_run(tools: object, tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    file = folder / "prög.cu"
    file.write_text(f"// {tmp_path}: a text that no earlier run has compiled\n{RACE}")
    for cwd in (tmp_path, folder):
        command = [sys.executable, "-m", "gridstride", "run", "--sanitize", str(file.relative_to(cwd))]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
        assert f"{file}:" in done.stderr
        assert "s[63 - threadIdx.x]" in done.stderr


def test_signed_numbers_wrap_around_on_the_host(program: Run) -> None:
    done = program(
        """
#include <cstdio>
int main(int argc, char **) { int i = 2147483647 - 1 + argc; printf("%d\\n", i + 1 > i); }
"""
    )
    assert done.stdout == "0\n"


def test_json_is_all_there_is_on_stdout(program: Run) -> None:
    done = program(RACE, "--sanitize", "--json")
    found = json.loads(done.stdout)
    assert {each["kind"] for each in found["findings"]} == {"race"}
    assert found["status"] == 0
    assert {"instructions", "modelled_us"} & set(found["activity"]) == set()  # not measured without --predict
    predicted = json.loads(program(RACE, "--predict", "--json").stdout)["activity"]
    assert predicted["instructions"] > 0
    assert predicted["modelled_us"] > 0


def test_a_reader_that_has_seen_enough_needs_no_words(program: Run, tmp_path: Path) -> None:
    program('#include <cstdio>\nint main(int argc, char **) { while (argc > 1) puts("line"); }')
    command = f"{sys.executable} -m gridstride run prog.cu -- go | head -1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == ("line\n", "")


def test_a_reset_device_begins_anew(program: Run) -> None:
    done = program(
        CHECK
        + """
__device__ int counter = 3;
__global__ void count(int *x) { *x = ++counter; }
int main() {
  for (int i = 0; i < 2; i++) {
    int *x, y; cudaMalloc(&x, 4); count<<<1, 1>>>(x); count<<<1, 1>>>(x);
    cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost); printf("%d\\n", y); NAME(cudaDeviceReset()); NAME(cudaFree(x));
  }
}
"""
    )
    assert lines(done) == ["5", "cudaSuccess", "cudaErrorInvalidValue"] * 2


def test_global_objects_may_use_the_device(program: Run) -> None:
    done = program(
        CHECK
        + """
struct Buffer {
  int *p; Buffer() { cudaMalloc(&p, 4); } ~Buffer() { printf("freed: %s\\n", cudaGetErrorName(cudaFree(p))); }
} buffer;
int main() {
  int x; cudaMemset(buffer.p, 1, 4); cudaMemcpy(&x, buffer.p, 4, cudaMemcpyDeviceToHost); printf("%x\\n", x);
}
""",
        "--sanitize",
    )
    assert lines(done) == ["1010101", "freed: cudaSuccess"]
    assert done.returncode == 0


def test_two_threads_launch_first_at_once(program: Run) -> None:
    done = program(
        """
#include <cstdio>
#include <thread>
__managed__ int total;
__global__ void add() { atomicAdd(&total, 1); }
int main() {
  auto launches = [] { for (int i = 0; i < 50; i++) add<<<1, 32>>>(); };
  std::thread a(launches), b(launches); a.join(); b.join(); cudaDeviceSynchronize(); printf("%d\\n", total);
}
"""
    )
    assert done.stdout == "3200\n"


def test_several_files_and_relocatable_code(program: Run, tmp_path: Path) -> None:
    (tmp_path / "twice.cu").write_text(
        "__device__ int calls;\n__device__ int twice(int x) { calls++; return 2 * x; }\n"
    )
    (tmp_path / "host.cpp").write_text("#include <cuda_runtime.h>\nint read(int *d) { int x; "
                                       "cudaMemcpy(&x, d, 4, cudaMemcpyDeviceToHost); return x; }\n")  # fmt: skip
    done = program(
        """
#include <cstdio>
extern __device__ int twice(int); extern __device__ int calls; int read(int *);
__global__ void inner(int *x) { x[0] = twice(x[0]); }
__global__ void outer(int *x) { inner<<<1, 1>>>(x); }
int main() {
  int *d, three = 3, count; cudaMalloc(&d, 4); cudaMemcpy(d, &three, 4, cudaMemcpyHostToDevice);
  outer<<<1, 1>>>(d); cudaDeviceSynchronize();
  cudaMemcpyFromSymbol(&count, calls, 4); printf("%d %d\\n", read(d), count);
}
""",
        "twice.cu",
        "host.cpp",
    )
    assert done.stdout == "6 1\n"
    assert "once more with -rdc=true" in done.stderr


@pytest.mark.parametrize("header", [False, True])
def test_a_variable_of_another_file(program: Run, tmp_path: Path, header: bool) -> None:
    """Without relocatable code nvcc makes another variable of that name; with a header the host's does not compile."""
    declared = "extern __device__ int shared_by_files;\n"
    (tmp_path / "b.cu").write_text(declared * header + "__device__ int shared_by_files = 42;\n")
    done = program(
        declared
        + """__global__ void read(int *out) { *out = shared_by_files; }
int main() {
  int *out; cudaMallocManaged(&out, 4); read<<<1, 1>>>(out); cudaDeviceSynchronize(); return *out;
}
""",
        "b.cu",
    )
    assert done.returncode == 42, done.stderr
    assert "once more with -rdc=true" in done.stderr


def test_predicted_time_is_the_chips_and_not_this_machines(program: Run) -> None:
    text = """
#include <cstdio>
__global__ void copy(const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i];
}
int main() {
  const int n = 1 << 20; float *x, *y, ms; cudaMalloc(&x, n * 4); cudaMalloc(&y, n * 4); cudaMemset(x, 0, n * 4);
  cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b);
  cudaEventRecord(a); copy<<<n / 256, 256>>>(x, y); cudaEventRecord(b); cudaEventSynchronize(b);
  cudaEventElapsedTime(&ms, a, b);
  printf("%f\\n", ms);
}
"""
    assert 0.001 < float(program(text, "--predict").stdout) < 0.02


def test_occupancy_and_properties_are_the_chips(program: Run) -> None:
    text = """
#include <cstdio>
__global__ void k(float *x) { __shared__ float s[24 * 256]; s[threadIdx.x] = x[0]; x[threadIdx.x] = s[0]; }
int main() {
  int blocks; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 256, 0);
  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); cudaFuncAttributes a; cudaFuncGetAttributes(&a, k);
  printf("%s: %d.%d, %d blocks, %zu bytes\\n", p.name, p.major, p.minor, blocks, a.sharedSizeBytes);
}
"""
    assert program(text).stdout == "NVIDIA H200: 9.0, 8 blocks, 24576 bytes\n"
    assert program(text, "--chip", "a100").stdout.startswith("NVIDIA A100")


def test_arguments_of_every_kind_reach_a_function_whose_calls_are_told(program: Run) -> None:
    text = """
#include <cstdio>
int main() {
    const int W = 5, H = 3;
    int x[H][W], y[H][W] = {}, z[2][W] = {};
    for (int i = 0; i < H * W; i++) (&x[0][0])[i] = i;
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);  // by value
    if (cudaMallocArray(&array, &format, W, H)) return 1;
    cudaStream_t stream;
    if (cudaStreamCreate(&stream)) return 2;
    // nine arguments, the last ones on the stack
    if (cudaMemcpy2DToArrayAsync(array, 0, 0, x, sizeof x[0], sizeof x[0], H, cudaMemcpyHostToDevice, stream)) return 3;
    if (cudaMemcpy2DFromArray(y, sizeof y[0], array, 0, 0, sizeof y[0], H, cudaMemcpyDeviceToHost)) return 4;
    cudaExtent extent = make_cudaExtent(W * sizeof(int), 2, 1);
    cudaPitchedPtr pitched;
    if (cudaMalloc3D(&pitched, extent)) return 5;  // 24 bytes by value
    if (cudaMemset3D(pitched, 1, extent)) return 6;
    if (cudaMemcpy2D(z, sizeof z[0], pitched.ptr, pitched.pitch, sizeof z[0], 2, cudaMemcpyDeviceToHost)) return 7;
    printf("%d %d %x\\n", y[2][4], y[0][1], z[1][4]);
    printf("%s\\n", cudaGetErrorString(cudaStreamDestroy(stream)));
    return 0;
}
"""
    done = program(text, "--json", "--fail", "cudaStreamDestroy=1")
    assert "14 1 1010101\nunknown error\n" in done.stderr
    told = json.loads(done.stdout)["activity"]
    for name in ("cudaMemcpy2DToArrayAsync", "cudaMalloc3D", "cudaMemset3D"):
        assert told[f"calls_of_{name}"] == 1
    assert "calls_of_cudaMemset2D" not in told  # what the runtime calls by itself is not told


def test_what_a_program_did_is_counted(program: Run) -> None:
    done = json.loads(program(UNCHECKED, "--json").stdout)["activity"]
    assert (done["launches"], done["to_device_bytes"], done["to_host_bytes"]) == (1, 0, 4)
    assert done["unwaited_launches"] == 0  # the copy has waited
    alone = program("__global__ void k() {} int main() { k<<<1, 1>>>(); }", "--json")
    assert json.loads(alone.stdout)["activity"]["unwaited_launches"] == 1


def test_ptx_is_shown_and_nothing_run(program: Run) -> None:
    done = program(UNCHECKED, "--ptx")
    assert done.returncode == 0
    assert ".entry _Z5storePi(" in done.stdout
    assert "st.global" in done.stdout
    assert ".loc" not in done.stdout
    assert "no error" not in done.stdout


def test_a_thread_may_exit_while_others_are_in_calls(program: Run) -> None:
    text = """
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
__global__ void add(int *x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += 1; }
int main() {
  const int n = 1 << 16;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([=] {
      int *host, *x; cudaStream_t stream;
      cudaMallocHost(&host, n * 4); cudaMalloc(&x, n * 4); cudaStreamCreate(&stream);
      for (int k = 0; k < 200; k++) {
        if (t == 1) { puts("gone"); exit(7); }
        cudaMemcpyAsync(x, host, n * 4, cudaMemcpyHostToDevice, stream);
        add<<<1, 256, 0, stream>>>(x, n);
        cudaMemcpyAsync(host, x, n * 4, cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
      }
    });
  for (auto &each : threads) each.join();
}
"""
    ends = {(done.returncode, done.stdout) for done in (program(text) for _ in range(6))}
    assert ends == {(7, "gone\n")}
