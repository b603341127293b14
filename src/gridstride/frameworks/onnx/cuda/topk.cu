// The k first of each row in order, with their places: the largest, or with SMALLEST the smallest. Of equal ones the
// lower place comes first; NaN is above all numbers.
//
// Mapping: a thread has an element of x [rows, n], counts those that come before it in its row, and so knows its place.

#include "elements.cuh"

#ifndef SMALLEST
#define SMALLEST 0
#endif

__device__ __forceinline__ bool above(WORK a, WORK b) { return a != a ? b == b : a > b; }

extern "C" __global__ void onnx_topk(
    const ELEMENT* x, ELEMENT* values, long long* places, int elements, int n, int k)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements) return;
    const int column = i % n, row = i / n;
    const ELEMENT* line = x + (long long)row * n;
    const WORK own = (WORK)line[column];
    int before = 0;
    for (int j = 0; j < n && before < k; ++j) {
        const WORK other = (WORK)line[j];
        const bool first = SMALLEST ? above(own, other) : above(other, own);
        const bool behind = SMALLEST ? above(other, own) : above(own, other);
        before += first || (!behind && j < column);
    }
    if (before >= k) return;
    values[(long long)row * k + before] = line[column];
    places[(long long)row * k + before] = column;
}
