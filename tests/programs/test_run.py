"""Whole programs, from source to their last line: need the compilers of the extra `programs`, and no GPU."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

Run = Callable[..., subprocess.CompletedProcess[str]]

CHECK = """
#include <cstdio>
#include <cstring>
#define NAME(call) printf("%s\\n", cudaGetErrorName(call))
"""


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return done.stdout.splitlines()


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


def test_memory_of_all_kinds(program: Run) -> None:
    done = program(
        CHECK
        + """
__constant__ int factor;
__device__ int seen[2];
__managed__ int managed = 5;
__global__ void scale(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
  if (i == 0) { seen[1] = 9; managed++; }
}
int main() {
  const int n = 1000;
  int *device, *pinned, *shared, three = 3, out[2], *own = new int[n];
  cudaMalloc(&device, n * 4); cudaMallocHost(&pinned, n * 4); cudaMallocManaged(&shared, n * 4);
  for (int i = 0; i < n; i++) pinned[i] = shared[i] = own[i] = i;
  cudaMemcpyToSymbol(factor, &three, 4);
  cudaMemcpy(device, pinned, n * 4, cudaMemcpyDefault);
  scale<<<8, 128>>>(device, n); scale<<<8, 128>>>(shared, n); scale<<<8, 128>>>(pinned, n);
  cudaHostRegister(own, n * 4, cudaHostRegisterMapped);
  int *mapped; NAME(cudaHostGetDevicePointer((void **)&mapped, own, 0));
  scale<<<8, 128>>>(mapped, n); cudaDeviceSynchronize();
  int *back = new int[n]; cudaMemcpy(back, device, n * 4, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; i++) wrong += back[i] != 3 * i || shared[i] != 3 * i || pinned[i] != 3 * i || own[i] != 3 * i;
  cudaMemcpyFromSymbol(out, seen, 8);
  printf("%d wrong, seen %d, managed %d\\n", wrong, out[1], managed);
  NAME(cudaHostUnregister(own)); NAME(cudaHostUnregister(own));
  own[0] = 1; delete[] own;
  NAME(cudaFree(device)); NAME(cudaFree(device)); NAME(cudaFreeHost(pinned)); NAME(cudaFree(shared));
}
"""
    )
    assert lines(done) == [
        *("cudaSuccess", "0 wrong, seen 9, managed 9", "cudaSuccess", "cudaErrorHostMemoryNotRegistered"),
        *("cudaSuccess", "cudaErrorInvalidValue", "cudaSuccess", "cudaSuccess"),
    ]


def test_textures_and_surfaces(program: Run) -> None:
    done = program(
        CHECK
        + """
__global__ void read(cudaTextureObject_t t, cudaTextureObject_t line, cudaSurfaceObject_t s, float *out) {
  out[0] = tex2D<float>(t, 1.5f, 1.5f); out[1] = tex2D<float>(t, 2.0f, 1.5f); out[2] = tex1Dfetch<float>(line, 3);
  surf2Dwrite(42.0f, s, 2 * sizeof(float), 1);
}
int main() {
  float host[2][4] = {{0, 1, 2, 3}, {10, 11, 12, 13}}, back[2][4], *out, *linear;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array; cudaMallocArray(&array, &format, 4, 2, cudaArraySurfaceLoadStore);
  cudaMemcpy2DToArray(array, 0, 0, host, 16, 16, 2, cudaMemcpyHostToDevice);
  cudaResourceDesc r = {}; r.resType = cudaResourceTypeArray; r.res.array.array = array;
  cudaTextureDesc d = {}; d.filterMode = cudaFilterModeLinear;
  d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t t, line; cudaSurfaceObject_t s;
  NAME(cudaCreateTextureObject(&t, &r, &d, nullptr)); NAME(cudaCreateSurfaceObject(&s, &r));
  cudaMalloc(&linear, 32); cudaMemcpy(linear, host, 32, cudaMemcpyHostToDevice);
  cudaResourceDesc l = {}; l.resType = cudaResourceTypeLinear; l.res.linear.devPtr = linear;
  l.res.linear.desc = format; l.res.linear.sizeInBytes = 32;
  d.filterMode = cudaFilterModePoint; NAME(cudaCreateTextureObject(&line, &l, &d, nullptr));
  cudaMallocManaged(&out, 12); read<<<1, 1>>>(t, line, s, out); NAME(cudaDeviceSynchronize());
  cudaMemcpy2DFromArray(back, 16, array, 0, 0, 16, 2, cudaMemcpyDeviceToHost);
  printf("%g %g %g %g %g\\n", out[0], out[1], out[2], back[1][2], back[1][3]);
  NAME(cudaDestroyTextureObject(t)); NAME(cudaDestroyTextureObject(t));
  NAME(cudaFreeArray(array)); NAME(cudaFreeArray(array));
}
"""
    )
    assert lines(done) == [
        *(["cudaSuccess"] * 4),
        "11 11.5 3 42 13",
        *("cudaSuccess", "cudaErrorInvalidValue", "cudaSuccess", "cudaErrorInvalidValue"),
    ]


def test_mistakes_get_the_runtimes_error_codes(program: Run) -> None:
    done = program(
        CHECK
        + """
__global__ void none() {}
int main() {
  int *d, host[4]; cudaMalloc(&d, 16);
  NAME(cudaSetDevice(7));
  NAME(cudaMemcpy(d, host, 32, cudaMemcpyHostToDevice));
  NAME(cudaMemcpy(host, host, 16, cudaMemcpyHostToDevice));
  NAME(cudaMalloc((void **)&d, 1ull << 60));
  none<<<1, 2048>>>(); NAME(cudaGetLastError()); NAME(cudaGetLastError());
  none<<<0, 1>>>(); NAME(cudaGetLastError());
  none<<<1, 1, 100000>>>(); NAME(cudaGetLastError());
  cudaFuncSetAttribute(none, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
  none<<<1, 1, 100000>>>(); NAME(cudaGetLastError());
  cudaStream_t s; cudaStreamCreate(&s); NAME(cudaStreamDestroy(s)); NAME(cudaStreamDestroy(s));
  cudaEvent_t e, f; cudaEventCreate(&e); cudaEventCreate(&f); float ms;
  NAME(cudaEventElapsedTime(&ms, e, f)); cudaEventDestroy(e); NAME(cudaEventRecord(e));
  NAME(cudaFree(host));
}
"""
    )
    assert [each.removeprefix("cudaError") for each in lines(done)] == [
        *("InvalidDevice", "InvalidValue", "InvalidValue", "MemoryAllocation", "InvalidConfiguration", "cudaSuccess"),
        *("InvalidConfiguration", "InvalidValue", "cudaSuccess", "cudaSuccess", "InvalidResourceHandle"),
        *("InvalidResourceHandle", "InvalidResourceHandle", "InvalidValue"),
    ]


def test_a_fault_is_sticky_and_names_the_line(program: Run) -> None:
    done = program(
        CHECK
        + """
__global__ void out(int *x) {
  x[4096] = 1;
}
int main() {
  int *d; cudaMalloc(&d, 4);
  out<<<1, 1>>>(d); NAME(cudaGetLastError());
  NAME(cudaDeviceSynchronize()); NAME(cudaGetLastError()); NAME(cudaMalloc((void **)&d, 4)); return 3;
}
"""
    )
    assert lines(done) == ["cudaSuccess", *["cudaErrorIllegalAddress"] * 3]
    assert "prog.cu:7: out of bounds in kernel out" in done.stderr
    assert done.returncode == 3


def test_an_assertion_is_710(program: Run) -> None:
    done = program(CHECK + "#include <cassert>\n__global__ void k() { assert(threadIdx.x > 9); }\n"
                   "int main() { k<<<1, 1>>>(); return cudaDeviceSynchronize() == 710 ? 0 : 1; }")  # fmt: skip
    assert done.returncode == 0


def test_signed_numbers_wrap_around_on_the_host(program: Run) -> None:
    done = program(
        """
#include <cstdio>
int main(int argc, char **) { int i = 2147483647 - 1 + argc; printf("%d\\n", i + 1 > i); }
"""
    )
    assert done.stdout == "0\n"


RACE = """
__global__ void race(int *x) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  x[threadIdx.x] = s[63 - threadIdx.x];
}
int main() { int *x; cudaMalloc(&x, 256); race<<<1, 64>>>(x); cudaDeviceSynchronize(); cudaFree(x); return 0; }
"""


def test_the_sanitizer_finds_a_race_and_exits_1(program: Run) -> None:
    done = program(RACE, "--sanitize")
    assert done.returncode == 1
    assert "prog.cu:5: race in kernel race" in done.stderr
    assert program(RACE).returncode == 0


def test_json_is_all_there_is_on_stdout(program: Run) -> None:
    done = program(RACE, "--sanitize", "--json")
    found = json.loads(done.stdout)
    assert {each["kind"] for each in found["findings"]} == {"race"}
    assert found["status"] == 0
    assert {"instructions", "modelled_us"} & set(found["activity"]) == set()  # not measured without --predict
    predicted = json.loads(program(RACE, "--predict", "--json").stdout)["activity"]
    assert predicted["instructions"] > 0
    assert predicted["modelled_us"] > 0


def test_a_clean_program_has_no_findings(program: Run) -> None:
    clean = RACE.replace("s[63 - threadIdx.x]", "s[threadIdx.x]")
    assert program(clean, "--sanitize").returncode == 0


def test_memory_that_is_not_freed_is_a_leak(program: Run) -> None:
    done = program("int main() { int *x; cudaMalloc(&x, 256); }", "--sanitize")
    assert done.returncode == 1
    assert "leak: an allocation of 256 bytes" in done.stderr


def test_compile_errors_keep_nvccs_words_and_place(program: Run) -> None:
    done = program("__global__ void k(int *x) {\n  x[0] = nowhere; }\nint main() {}")
    assert done.returncode == 1
    assert 'prog.cu(2): error: identifier "nowhere" is undefined' in done.stderr


def test_a_program_without_main_does_not_link(program: Run) -> None:
    done = program("__global__ void k() {}")
    assert done.returncode == 1
    assert "no file has a function main()" in done.stderr


def test_an_undefined_function_is_named(program: Run) -> None:
    done = program("int nowhere(int);\nint main() { return nowhere(1); }")
    assert done.returncode == 1
    assert "nothing defines nowhere(int)" in done.stderr


def test_a_refused_function_says_so_once_with_the_reason(program: Run) -> None:
    done = program(
        CHECK + "int main() { cudaArray_t a; for (int i = 0; i < 2; i++) NAME(cudaArrayGetPlane(&a, 0, 0)); }"
    )
    assert lines(done) == ["cudaErrorNotSupported"] * 2
    assert done.stderr.count("cudaArrayGetPlane is not supported: arrays have all their memory, in one plane") == 1


def test_a_program_that_never_ends_is_ended(program: Run) -> None:
    text = '#include <cstdio>\nint main() { puts("begun"); fflush(stdout); for (volatile int i = 0;; i = i + 1) {} }'
    done = program(text, "--time-limit", "5")
    assert done.returncode == 124
    assert done.stdout == "begun\n"
    assert "--time-limit" in done.stderr


def test_a_signal_is_128_and_its_number(program: Run) -> None:
    done = program("#include <cstdlib>\nint main() { abort(); }")
    assert done.returncode == 134
    assert "SIGABRT" in done.stderr


def test_a_reader_that_has_seen_enough_needs_no_words(program: Run, tmp_path: Path) -> None:
    program('#include <cstdio>\nint main(int argc, char **) { while (argc > 1) puts("line"); }')
    command = f"{sys.executable} -m gridstride run prog.cu -- go | head -1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == ("line\n", "")


def test_a_kernel_that_waits_for_ever_is_a_launch_timeout(program: Run) -> None:
    done = program(
        CHECK + "__global__ void wait(volatile int *x) { while (*x == 0) {} }\n"
        "int main() { int *x; cudaMalloc(&x, 4); cudaMemset(x, 0, 4);\n"
        "  wait<<<1, 1>>>(x); NAME(cudaDeviceSynchronize()); }"
    )
    assert done.stdout == "cudaErrorLaunchTimeout\n"


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


UNCHECKED = """
#include <cstdio>
__global__ void store(int* p) { *p = 7; }
int main() {
    int *p, x = 1;
    if (cudaMalloc(&p, 4) != cudaSuccess) { puts("no memory"); return 9; }
    store<<<1, 1>>>(p);
    printf("%s; ", cudaGetErrorString(cudaGetLastError()));
    printf("%s %d\\n", cudaGetErrorString(cudaMemcpy(&x, p, 4, cudaMemcpyDeviceToHost)), x);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("allocation=1", "no memory"),
        ("launch=1", "too many resources requested for launch; no error 0"),
        ("kernel=1", "no error; an illegal memory access was encountered 1"),
        ("copy=1", "no error; unknown error 1"),
        ("copy=2", "no error; no error 7"),
        ("cudaMalloc=1", "no memory"),
        ("cudaMemcpy=1", "no error; unknown error 1"),
        ("cudaMemcpy=2", "no error; no error 7"),
    ],
)
def test_a_call_is_made_to_fail(program: Run, call: str, said: str) -> None:
    assert program(UNCHECKED, "--fail", call).stdout.strip() == said


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


def test_a_call_that_was_never_made_is_said(program: Run) -> None:
    assert (
        "note: --fail cublasSgem=1: the program made no such call"
        in program(UNCHECKED, "--fail", "cublasSgem=1").stderr
    )
    assert "no such call" not in program(UNCHECKED, "--fail", "cudaMemcpy=1").stderr


def test_a_call_that_is_none_cannot_fail(program: Run) -> None:
    done = program(UNCHECKED, "--fail", "malloc=1")
    assert done.returncode == 2
    assert "--fail 'malloc=1': CALL=NUMBER belongs there" in done.stderr


def test_what_a_program_did_is_counted(program: Run) -> None:
    done = json.loads(program(UNCHECKED, "--json").stdout)["activity"]
    assert (done["launches"], done["to_device_bytes"], done["to_host_bytes"]) == (1, 0, 4)
    assert done["unwaited_launches"] == 0  # the copy has waited
    alone = program("__global__ void k() {} int main() { k<<<1, 1>>>(); }", "--json")
    assert json.loads(alone.stdout)["activity"]["unwaited_launches"] == 1


def test_a_memory_pool_gives_back_beyond_its_threshold_when_the_host_waits(program: Run) -> None:
    done = program(
        CHECK
        + """
unsigned long long get(cudaMemPool_t p, cudaMemPoolAttr a) {
  unsigned long long v = 7; cudaMemPoolGetAttribute(p, a, &v); return v >> 20;
}
void show(cudaMemPool_t p) {
  printf("%llu %llu %llu\\n", get(p, cudaMemPoolAttrReservedMemCurrent), get(p, cudaMemPoolAttrUsedMemCurrent),
         get(p, cudaMemPoolAttrUsedMemHigh));
}
int main() {
  cudaMemPool_t pool; cudaDeviceGetDefaultMemPool(&pool, 0);
  void *x, *y; cudaMallocAsync(&x, 3 << 20, 0); cudaMallocAsync(&y, 1 << 20, 0);
  cudaFreeAsync(x, 0); show(pool);
  cudaFreeAsync(y, 0); cudaDeviceSynchronize(); show(pool);
  unsigned long long most = 64 << 20, zero = 0; int off = 0;
  NAME(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most));
  NAME(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
  NAME(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &most));
  NAME(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off));
  cudaMallocAsync(&x, 1 << 20, 0); cudaFreeAsync(x, 0); cudaDeviceSynchronize(); show(pool);
  cudaMemPoolTrimTo(pool, 0); show(pool);
  cudaMemPoolProps props = {}; cudaMemPool_t own; NAME(cudaMemPoolCreate(&own, &props));
  cudaMallocFromPoolAsync(&x, 1 << 20, own, 0); show(own); show(pool);
  cudaFree(x); NAME(cudaMemPoolDestroy(own));
}
"""
    )
    assert lines(done) == [
        "4 1 4", "0 0 4", "cudaSuccess", "cudaSuccess", "cudaErrorInvalidValue", "cudaErrorNotSupported",
        "2 0 1", "0 0 1", "cudaSuccess", "2 1 1", "0 0 1", "cudaSuccess",
    ]  # fmt: skip
    assert "any stream" in done.stderr


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


def test_registered_arrays_may_lie_on_one_page(program: Run) -> None:
    """As those of malloc do: what each has on the page is the device's and the host's until it is unregistered."""
    text = """
#include <cstdio>
#include <cstdlib>
__global__ void add(const int *a, const int *b, int *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() {
  int wrong = 0;
  for (int round = 0; round < 20; round++) {
    const int n = 300 + 77 * round;
    int *p[3], *d[3];
    for (auto &each : p) { each = (int *)malloc(n * 4); wrong += cudaHostRegister(each, n * 4, 0) != cudaSuccess; }
    for (int i = 0; i < n; i++) p[0][i] = i, p[1][i] = 1000 * i, p[2][i] = -1;
    for (int k = 0; k < 3; k++) cudaHostGetDevicePointer((void **)&d[k], p[k], 0);
    add<<<(n + 255) / 256, 256>>>(d[0], d[1], d[2], n);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++) wrong += p[2][i] != 1001 * i;
    cudaHostUnregister(p[1]);
    p[0][0] = 5;
    add<<<1, 256>>>(d[0], d[0], d[2], 1);
    cudaDeviceSynchronize();
    wrong += p[2][0] != 10;
    for (int i = 1; i < n; i++) wrong += p[1][i] != 1000 * i;
    cudaHostUnregister(p[0]); cudaHostUnregister(p[2]);
    for (auto &each : p) free(each);
  }
  printf("%d\\n", wrong);
}
"""
    assert program(text).stdout == "0\n"
