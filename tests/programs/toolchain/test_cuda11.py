"""Programs of CUDA 11 and earlier under --cuda11, unmodified: what later releases dropped is there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Run = Callable[..., subprocess.CompletedProcess[str]]

CHECK = """
#include <cstdio>
#define NAME(call) printf("%s\\n", cudaGetErrorName(call))
"""


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_functions_and_fields(program: Run) -> None:
    done = program(
        CHECK
        + """
int main() {
  cudaDeviceProp p;
  NAME(cudaGetDeviceProperties(&p, 0));
  printf("%d %d %d %d %d %d\\n", p.clockRate > 0, p.memoryClockRate > 0, p.deviceOverlap, p.computeMode,
         p.kernelExecTimeoutEnabled, p.singleToDoublePrecisionPerfRatio);
  printf("%d %d\\n", p.warpSize, p.multiProcessorCount);
  int chosen = -1;
  NAME(cudaChooseDevice(&chosen, &p));
  size_t bytes;
  NAME(cudaThreadGetLimit(&bytes, cudaLimitStackSize));
  NAME(cudaThreadSetCacheConfig(cudaFuncCachePreferL1));
  int *shared;
  cudaMallocManaged(&shared, 4096);
  NAME(cudaMemPrefetchAsync(shared, 4096, 0));
  NAME(cudaMemAdvise(shared, 4096, cudaMemAdviseSetReadMostly, cudaCpuDeviceId));
  NAME(cudaThreadSynchronize());
  NAME(cudaThreadExit());
}
""",
        "--cuda11",
    )
    assert lines(done) == ["cudaSuccess", "1 1 1 0 0 2", "32 132", *["cudaSuccess"] * 7]


TEXTURES = (
    CHECK
    + """
texture<float, 1, cudaReadModeElementType> line;
static texture<uchar4, 2, cudaReadModeNormalizedFloat> image;
texture<float, 2> plane(0, cudaFilterModeLinear, cudaAddressModeClamp);
typedef texture<int2, 1> Pairs;
Pairs pairs;
surface<void, cudaSurfaceType2D> out;
__global__ void gather(float *o) {
  int i = threadIdx.x;
  o[i] = tex1Dfetch(line, i) + tex2D(image, i + 0.5f, 0.5f).y + tex2D(plane, i + 1.0f, 0.5f) + tex1Dfetch(pairs, i).y;
  surf2Dwrite(2 * o[i], out, 4 * i, 0);
}
int main() {
  float h[32]; uchar4 c[32]; int2 q[32];
  for (int i = 0; i < 32; i++) h[i] = i, c[i] = make_uchar4(0, 255, 0, 0), q[i] = make_int2(0, 100 * i);
  float *d, *o; int2 *dq; uchar4 *dc; size_t offset, pitch;
  cudaMalloc(&d, sizeof h); cudaMalloc(&o, sizeof h); cudaMalloc(&dq, sizeof q);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(dq, q, sizeof q, cudaMemcpyHostToDevice);
  cudaMallocPitch(&dc, &pitch, sizeof c, 1);
  cudaMemcpy2D(dc, pitch, c, sizeof c, sizeof c, 1, cudaMemcpyHostToDevice);
  NAME(cudaBindTexture(0, line, d, sizeof h));
  NAME(cudaBindTexture(&offset, pairs, dq));
  cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
  image.addressMode[0] = cudaAddressModeWrap;
  NAME(cudaBindTexture2D(&offset, &image, dc, &format, 32, 1, pitch));
  cudaArray *a, *s;
  cudaMallocArray(&a, &plane.channelDesc, 32, 1);
  cudaMemcpyToArray(a, 0, 0, h, sizeof h, cudaMemcpyHostToDevice);
  NAME(cudaBindTextureToArray(plane, a));
  cudaMallocArray(&s, &plane.channelDesc, 32, 1, cudaArraySurfaceLoadStore);
  NAME(cudaBindSurfaceToArray(out, s));
  gather<<<1, 32>>>(o);
  cudaMemcpy(h, o, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g %g %g\\n", h[0], h[1], h[30]);
  cudaMemcpyFromArray(h, s, 0, 0, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g %g %g\\n", h[0], h[1], h[30]);
  NAME(cudaUnbindTexture(line));
  NAME(cudaGetTextureAlignmentOffset(&offset, line));
}
"""
)


def test_texture_and_surface_references(program: Run) -> None:
    said = ["1.5 103.5 3061.5", "3 207 6123", "cudaSuccess", "cudaErrorInvalidTextureBinding"]
    assert lines(program(TEXTURES, "--cuda11")) == ["cudaSuccess"] * 5 + said


def test_a_pointer_between_alignments_has_an_offset(program: Run) -> None:
    done = program(
        CHECK
        + """
texture<float> t;
__global__ void read(float *o, int offset) { o[threadIdx.x] = tex1Dfetch(t, threadIdx.x + offset); }
int main() {
  float h[64], *d, *o;
  for (int i = 0; i < 64; i++) h[i] = i;
  cudaMalloc(&d, sizeof h); cudaMalloc(&o, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  size_t offset;
  NAME(cudaBindTexture(&offset, t, d + 10, 80));
  NAME(cudaBindTexture(NULL, t, d + 10, 80));
  read<<<1, 20>>>(o, offset / sizeof(float));
  cudaMemcpy(h, o, 80, cudaMemcpyDeviceToHost);
  printf("%zu %g %g\\n", offset, h[0], h[19]);
}
""",
        "--cuda11",
    )
    assert lines(done) == ["cudaSuccess", "cudaErrorInvalidValue", "40 10 29"]


def test_a_late_launch_reads_what_was_bound_when_it_was_given(program: Run) -> None:
    done = program(
        CHECK
        + """
texture<float> t;
__global__ void read(float *o) { o[threadIdx.x] = tex1Dfetch(t, threadIdx.x); }
int main() {
  float h[2] = {1, 2}, *d, *o;
  cudaMalloc(&d, 1024); cudaMalloc(&o, 1024);
  cudaMemcpy(d, h, 4, cudaMemcpyHostToDevice);
  cudaMemcpy(d + 128, h + 1, 4, cudaMemcpyHostToDevice);
  cudaBindTexture(0, t, d, 4);
  read<<<1, 1>>>(o);
  cudaBindTexture(0, t, d + 128, 4);
  read<<<1, 1>>>(o + 1);
  cudaUnbindTexture(t);
  cudaMemcpy(h, o, 8, cudaMemcpyDeviceToHost);
  printf("%g %g\\n", h[0], h[1]);
}
""",
        "--cuda11",
        "--late",
    )
    assert lines(done) == ["1 2"]


def test_votes_and_shuffles_without_a_mask(program: Run) -> None:
    done = program(
        CHECK
        + """
__global__ void votes(int *o) {
  int i = threadIdx.x;
  o[0] = __any(i > 30), o[1] = __all(i > 30), o[2] = __ballot(i & 1) == 0xaaaaaaaa;
  if (i < 16) o[3] = __ballot(1) == 0xffff;
  int sum = i;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down(sum, step);
  sum = __shfl(sum, 0);
  bool right = __shfl_xor(2.0 * i, 1) == 2.0 * (i ^ 1) && __shfl_up((unsigned)i, 1) == (i ? i - 1 : 0);
  o[4] = sum, o[5] = __all(right);
}
int main() {
  int h[6], *d;
  cudaMalloc(&d, sizeof h);
  votes<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d %d %d %d %d\\n", h[0], h[1], h[2], h[3], h[4], h[5]);
}
""",
        "--cuda11",
    )
    assert lines(done) == ["1 0 1 1 496 1"]
    assert "deprecated" not in done.stderr


def test_a_symbol_by_its_name(program: Run) -> None:
    done = program(
        CHECK
        + """
__constant__ int factor[2];
__device__ char text[3];
__global__ void scale() { text[0] += factor[1]; }
int main() {
  int h[2] = {0, 1};
  char s[3] = "a";
  NAME(cudaMemcpyToSymbol("factor", h, sizeof h));
  NAME(cudaMemcpyToSymbol(text, s, 3, 0, cudaMemcpyHostToDevice));
  scale<<<1, 1>>>();
  NAME(cudaMemcpyFromSymbol(s, "text", 3));
  puts(s);
  NAME(cudaMemcpyToSymbol("missing", h, 4));
}
""",
        "--cuda11",
    )
    assert lines(done) == ["cudaSuccess", "cudaSuccess", "cudaSuccess", "b", "cudaErrorInvalidSymbol"]


def test_errors_name_the_users_lines(program: Run) -> None:
    done = program("texture<float, 2> t;\nint x;\n__global__ void k() { missing(); }\nint main() {}\n", "--cuda11")
    assert done.returncode == 1
    assert 'prog.cu(3): error: identifier "missing" is undefined' in done.stderr


def test_a_fault_names_the_users_line(program: Run) -> None:
    text = """texture<float> t;
__global__ void k(float *o) {
  o[threadIdx.x] = tex1Dfetch(t, 0);
}
int main() {
  float *d;
  cudaMalloc(&d, 4);
  cudaBindTexture(0, t, d, 4);
  k<<<1, 2>>>(d);
  return cudaThreadSynchronize();
}
"""
    done = program(text, "--cuda11")
    assert done.returncode == 700 % 256
    assert "prog.cu:3" in done.stderr


def test_without_the_option_one_sentence_names_it(program: Run) -> None:
    done = program("int main() { cudaThreadSynchronize(); }")
    assert done.returncode == 1
    assert "cudaThreadSynchronize was dropped after CUDA 11, and --cuda11 brings" in done.stderr.splitlines()[-1]


def test_host_files_a_build_and_a_profile(program: Run, tmp_path: Path) -> None:
    (tmp_path / "plain.c").write_text(
        "#include <cuda_runtime.h>\nint rate(void) { struct cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);\n"
        "  cudaThreadSynchronize(); return p.clockRate > 0; }\n"
    )
    (tmp_path / "prog.cu").write_text('extern "C" int rate(void);\nint main() { return 3 + rate(); }\n')
    command = [sys.executable, "-m", "gridstride", "run", "--cuda11", "prog.cu", "plain.c"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=600).returncode == 4

    (tmp_path / "kernel.cu").write_text(TEXTURES)
    for words in (["kernel.cu", "-o", "prog"], ["--ptx", "kernel.cu"]):
        command = [sys.executable, "-m", "gridstride", "build", "--cuda11", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    assert "tex.1d.v4.f32.s32" in (tmp_path / "kernel.ptx").read_text()

    command = [sys.executable, "-m", "gridstride", "profile", "--cuda11", "--json", "kernel.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert json.loads(done.stdout)["status"] == 0


def test_a_gpu_of_this_machine_does_not_go_with_it(program: Run) -> None:
    done = program("int main() {}", "--cuda11", "--device", "physical")
    assert done.returncode == 2
    assert "--cuda11" in done.stderr
