// Cumulative sums along an axis.
//
// Mapping: a thread has a column of [outer, n, inner] and goes along it, from its end where `reverse` says so.
//   `exclusive`: an element's own value is not in its sum. ELEMENT is the type in memory, SUM that of the sums.

#include "elements.cuh"

extern "C" __global__ void onnx_cumulative_sum(
    const ELEMENT* x, ELEMENT* y, int columns, int n, int inner, int exclusive, int reverse)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= columns) return;
    const long long start = (long long)(i / inner) * n * inner + i % inner;
    SUM sum = 0;
    for (int j = 0; j < n; ++j) {
        const long long at = start + (long long)(reverse ? n - 1 - j : j) * inner;
        const SUM each = x[at];
        y[at] = (ELEMENT)(exclusive ? sum : sum + each);
        sum += each;
    }
}
