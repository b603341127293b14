// Elements chosen by indices that lie in memory. A negative index counts from the end; one that is out of range stops
// the kernel.
//
// onnx_gather: y[outer][j][inner] = x[outer][index[j]][inner]; a thread has an element of y.
// onnx_gather_elements: y[i] = x[i with the index in place of its coordinate `axis`], x [outer, size, inner] likewise y.
// onnx_gather_nd: rows of `inner` elements of x, each by `depth` indices.

#include "elements.cuh"

__device__ __forceinline__ long long checked(long long index, long long size)
{
    const long long wrapped = index < 0 ? index + size : index;
    if (wrapped < 0 || wrapped >= size) __trap();
    return wrapped;
}

extern "C" __global__ void onnx_gather(
    const ELEMENT* x, const INDEX* indices, ELEMENT* y, int n, int size, int chosen, int inner)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int column = i % inner, j = i / inner % chosen, outer = i / inner / chosen;
    y[i] = x[((long long)outer * size + checked(indices[j], size)) * inner + column];
}

extern "C" __global__ void onnx_gather_elements(
    const ELEMENT* x, const INDEX* indices, ELEMENT* y, int n, int size, int chosen, int inner)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int column = i % inner, outer = i / inner / chosen;
    y[i] = x[((long long)outer * size + checked(indices[i], size)) * inner + column];
}

extern "C" __global__ void onnx_gather_nd(
    const ELEMENT* x, const INDEX* indices, ELEMENT* y, int n, int inner, int depth, int d0, int d1, int d2, int d3,
    int per_batch, int x_batch)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int column = i % inner, row = i / inner;
    const INDEX* chosen = indices + (long long)row * depth;
    const int sizes[4] = {d0, d1, d2, d3};
    long long at = 0;
    for (int d = 0; d < depth; ++d) at = at * sizes[d] + checked(chosen[d], sizes[d]);
    y[i] = x[(long long)(row / per_batch) * x_batch + at * inner + column];
}
