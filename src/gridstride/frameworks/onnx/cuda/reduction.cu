// Reductions of any axes: sum, mean, product, least, largest, where the largest is, and log of a sum of exponentials.
//
// Mapping: a block of 128 threads has an element of the result; its threads take the elements that are reduced in turn.
//   Kept axes are at most four, and so are reduced ones (KEPT_n, REDUCED_n: sizes from 1 on; strides in elements).
//
// INPUT and OUTPUT are the types in memory, WORK that of the sums. START, MAP(x), JOIN(a, b), FINISH(a): what is reduced.
// PLACES: 1 for where the largest is (JOIN keeps the better of two), LAST: of equals the last one.

#include "elements.cuh"

constexpr int THREADS = 128;

#ifndef PLACES
#define PLACES 0
#endif
#ifndef LAST
#define LAST 0
#endif

extern "C" __global__ void __launch_bounds__(THREADS) onnx_reduction(
    const INPUT* x, OUTPUT* y, int count, int k1, int k2, int k3, int sk0, int sk1, int sk2, int sk3, int r1, int r2,
    int r3, int sr0, int sr1, int sr2, int sr3)
{
    __shared__ WORK values[THREADS];
#if PLACES
    __shared__ int places[THREADS];
#endif
    int left = blockIdx.x;
    int start = left % k3 * sk3;
    left /= k3;
    start += left % k2 * sk2;
    left /= k2;
    start += left % k1 * sk1 + left / k1 * sk0;

    WORK mine = START;
#if PLACES
    int place = -1;
#endif
    for (int i = threadIdx.x; i < count; i += THREADS) {
        int rest = i;
        int at = start + rest % r3 * sr3;
        rest /= r3;
        at += rest % r2 * sr2;
        rest /= r2;
        at += rest % r1 * sr1 + rest / r1 * sr0;
        const WORK each = MAP((WORK)x[at]);
#if PLACES
        if (place < 0 || BETTER(each, mine) || (LAST && each == mine)) {
            mine = each;
            place = i;
        }
#else
        mine = JOIN(mine, each);
#endif
    }
    values[threadIdx.x] = mine;
#if PLACES
    places[threadIdx.x] = place;
#endif
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const int other = threadIdx.x + half;
#if PLACES
            const int a = places[threadIdx.x], b = places[other];
            const bool equal = values[other] == values[threadIdx.x];
            if (b >= 0 && (a < 0 || BETTER(values[other], values[threadIdx.x]) || (equal && (LAST ? b > a : b < a)))) {
                values[threadIdx.x] = values[other];
                places[threadIdx.x] = b;
            }
#else
            values[threadIdx.x] = JOIN(values[threadIdx.x], values[other]);
#endif
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
#if PLACES
        y[blockIdx.x] = (OUTPUT)places[0];
#else
        y[blockIdx.x] = (OUTPUT)(FINISH(values[0]));
#endif
    }
}
