// One axis in another size: each element of the result is a sum of `taps` elements along the axis, by tables of places
// and weights [chosen, taps], and of a constant [chosen].
//
// Mapping: a thread has an element of y [outer, chosen, inner]; x is [outer, size, inner].

#include "elements.cuh"

extern "C" __global__ void onnx_resample(
    const ELEMENT* x, const int* places, const WORK* weights, const WORK* constants, ELEMENT* y, int n, int size,
    int chosen, int inner, int taps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int column = i % inner, j = i / inner % chosen, outer = i / inner / chosen;
    WORK sum = constants[j];
    for (int t = 0; t < taps; ++t) {
        const WORK weight = weights[j * taps + t];
        if (weight != 0) sum += weight * WORK(x[((long long)outer * size + places[j * taps + t]) * inner + column]);
    }
    y[i] = ELEMENT(sum);
}
