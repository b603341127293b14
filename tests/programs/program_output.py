"""What whole programs begin with, and the lines that they print."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[str]]


CHECK = """
#include <cstdio>
#include <cstring>
#define NAME(call) printf("%s\\n", cudaGetErrorName(call))
"""


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return done.stdout.splitlines()


RACE = """
__global__ void race(int *x) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  x[threadIdx.x] = s[63 - threadIdx.x];
}
int main() { int *x; cudaMalloc(&x, 256); race<<<1, 64>>>(x); cudaDeviceSynchronize(); cudaFree(x); return 0; }
"""


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
