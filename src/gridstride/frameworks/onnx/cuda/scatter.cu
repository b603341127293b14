// Elements put to places that indices name. A negative index counts from the end; one that is out of range stops the
// kernel. With REDUCES they are joined with what is there by JOIN, as one atomic step.
//
// Mapping: a thread has an element of the updates. onnx_scatter_elements: it goes to its own coordinates, the index in
//   place of the one of `axis`; e are the updates' sizes, s the data's strides, both of six axes.
// onnx_scatter_nd: rows of `inner` elements, each to a place that `depth` indices name; d are the data's sizes.

#include "elements.cuh"

#ifndef REDUCES
#define REDUCES 0
#define JOIN(a, b) (b)
#endif

__device__ __forceinline__ long long checked(long long index, long long size)
{
    const long long wrapped = index < 0 ? index + size : index;
    if (wrapped < 0 || wrapped >= size) __trap();
    return wrapped;
}

__device__ __forceinline__ void put(ELEMENT* place, ELEMENT value)
{
#if REDUCES
    WORD* const word = reinterpret_cast<WORD*>(place);
    WORD seen = *word, before;
    do {
        before = seen;
        const ELEMENT old = *reinterpret_cast<const ELEMENT*>(&before);
        const ELEMENT joined = JOIN(old, value);
        seen = atomicCAS(word, before, *reinterpret_cast<const WORD*>(&joined));
    } while (seen != before);
#else
    *place = value;
#endif
}

extern "C" __global__ void onnx_scatter_elements(
    ELEMENT* y, const INDEX* indices, const ELEMENT* updates, int n, int axis, int size, int e1, int e2, int e3, int e4,
    int e5, int s0, int s1, int s2, int s3, int s4, int s5)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int sizes[6] = {1, e1, e2, e3, e4, e5}, strides[6] = {s0, s1, s2, s3, s4, s5};
    long long at = 0, rest = i;
    for (int a = 5; a >= 0; --a) {
        const long long own = a == 0 ? rest : rest % sizes[a];
        if (a > 0) rest /= sizes[a];
        at += strides[a] * (a == axis ? checked(indices[i], size) : own);
    }
    put(y + at, updates[i]);
}

extern "C" __global__ void onnx_scatter_nd(
    ELEMENT* y, const INDEX* indices, const ELEMENT* updates, int n, int inner, int depth, int d0, int d1, int d2, int d3,
    int d4, int d5)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int sizes[6] = {d0, d1, d2, d3, d4, d5};
    const INDEX* chosen = indices + (long long)(i / inner) * depth;
    long long at = 0;
    for (int d = 0; d < depth; ++d) at = at * sizes[d] + checked(chosen[d], sizes[d]);
    put(y + at * inner + i % inner, updates[i]);
}
