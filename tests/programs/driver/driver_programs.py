"""The head of programs that use the driver API."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[str]]


HEAD = r"""
#include <cuda.h>
#include <cstdio>
#include <cstring>
static const char *name(CUresult r) { const char *s = "?"; cuGetErrorName(r, &s); return s + strlen("CUDA_"); }
#define SAY(call) puts(name(call))
#define OK(call) do { CUresult r_ = (call); \
  if (r_) { printf("line %d: %s\n", __LINE__, name(r_)); return 1; } } while (0)
static const char *ptx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .entry times(.param .u64 to, .param .u32 count)
{
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [to]; ld.param.u32 %r1, [count]; ld.global.u32 %r2, [factor];
  mov.u32 %r3, %tid.x; setp.ge.u32 %p, %r3, %r1; @%p ret;
  cvta.to.global.u64 %d1, %d1; mul.wide.u32 %d2, %r3, 4; add.u64 %d1, %d1, %d2;
  ld.global.u32 %r4, [%d1]; mul.lo.u32 %r4, %r4, %r2; st.global.u32 [%d1], %r4;
  ret;
}
.visible .entry fault() { .reg .b32 %r; .reg .b64 %d; mov.u64 %d, 16; mov.u32 %r, 1; st.global.u32 [%d], %r; ret; }
)";
static CUdevice device; static CUcontext context; static CUmodule module_; static CUfunction times;
  static CUdeviceptr p;
static int ready() {
  OK(cuInit(0)); OK(cuDeviceGet(&device, 0)); OK(cuCtxCreate(&context, NULL, 0, device));
  OK(cuModuleLoadData(&module_, ptx)); OK(cuModuleGetFunction(&times, module_, "times"));
  OK(cuMemAlloc(&p, 64)); OK(cuMemsetD32(p, 5, 16));
  return 0;
}
[[maybe_unused]] static CUresult launch(CUfunction f, CUstream stream = NULL, int block = 32) {
  unsigned count = 16; void *parameters[] = {&p, &count};
  return cuLaunchKernel(f, 1, 1, 1, block, 1, 1, 0, stream, parameters, NULL);
}
[[maybe_unused]] static unsigned first() { unsigned x = 0; cuMemcpyDtoH(&x, p, 4); return x; }
"""


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()
