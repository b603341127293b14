"""What the device runtime is asked: attributes, limits, what the device knows of itself."""

from __future__ import annotations

import numpy as np
from device_runtime import MEASURED, RDC
from host_arrays import zeros

import gridstride as gs


def test_attributes_are_those_of_hardware(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        """__global__ void k(int *o) {
        int i = threadIdx.x; o[2 * i] = cudaDeviceGetAttribute(o + 2 * i + 1, (cudaDeviceAttr)i, 0);
    }""",
        RDC,
    )["k"]
    out = zeros(220)
    kernel[1, 110](out)
    bus = "37"  # 6,016 bits on this H200, 6,144 on the data sheet
    known = {str(i): int(out[2 * i + 1]) for i in range(110) if out[2 * i] == 0 and str(i) != bus}
    assert len(known) > 35
    assert known.items() <= MEASURED["attributes"].items()


def test_what_the_device_knows_of_itself(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        """__global__ __launch_bounds__(96) void other(int *p) {
        __shared__ int s[100]; s[threadIdx.x] = *p; *p = s[1]; }
    __global__ void k(int *o) {
        o[0] = cudaDeviceGetAttribute(o + 1, cudaDevAttrMultiProcessorCount, 0);
        o[2] = cudaDeviceGetAttribute(o + 3, cudaDevAttrWarpSize, 1);
        o[4] = cudaDeviceGetAttribute(o + 5, (cudaDeviceAttr)99999, 0);
        o[6] = cudaGetDevice(o + 7); o[8] = cudaGetDeviceCount(o + 9);
        cudaFuncAttributes a;
        o[10] = cudaFuncGetAttributes(&a, (const void *)other);
        o[11] = a.maxThreadsPerBlock; o[12] = a.sharedSizeBytes; o[13] = a.binaryVersion;
        o[14] = cudaFuncGetAttributes(&a, (const void *)o);
    }""",
        RDC,
    )["k"]
    out = np.full(15, -1, np.int32)
    kernel[1, 1](out)
    assert out.tolist() == [0, 132, 101, -1, 1, -1, 0, 0, 0, 1, 0, 96, 400, 90, 1]
