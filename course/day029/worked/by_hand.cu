// by_hand N BITS DIGIT: N keys below 2^BITS, sorted by digits of 1, 2, 3, 4
// or 6 bits, the lowest first.

#include <cub/device/device_scan.cuh>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

const int THREADS = 256;  // one key each

// counts[d * blocks + b]: how many keys of block b have digit d.
template <int DIGIT>
__global__ void count(const int* from, int* counts, int n, int shift)
{
    const int DIGITS = 1 << DIGIT;
    __shared__ int own[DIGITS];
    if (threadIdx.x < DIGITS) own[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) atomicAdd(&own[from[i] >> shift & (DIGITS - 1)], 1);
    __syncthreads();
    if (threadIdx.x < DIGITS)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

// Behind the keys of the same digit that stand before it in the block.
template <int DIGIT>
__global__ void scatter(const int* from, int* to, const int* first, int n,
                        int shift)
{
    __shared__ int digits[THREADS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    const int key = i < n ? from[i] : 0;
    digits[t] = i < n ? key >> shift & ((1 << DIGIT) - 1) : -1;
    __syncthreads();
    if (i >= n) return;
    int before = 0;
    for (int other = 0; other < t; ++other)
        before += digits[other] == digits[t];
    to[first[digits[t] * gridDim.x + blockIdx.x] + before] = key;
}

// counts[i] becomes the sum of all counts before it.
void scan(int* counts, int n)
{
    void* room = nullptr;
    size_t bytes = 0;
    CHECK(cub::DeviceScan::ExclusiveSum(room, bytes, counts, counts, n));
    CHECK(cudaMalloc(&room, bytes));
    CHECK(cub::DeviceScan::ExclusiveSum(room, bytes, counts, counts, n));
    CHECK(cudaFree(room));
}

template <int DIGIT>
void sort(int*& x, int*& y, int n, int bits)
{
    const int blocks = (n + THREADS - 1) / THREADS;
    int* counts;
    CHECK(cudaMalloc(&counts, (blocks << DIGIT) * sizeof(int)));
    for (int shift = 0; shift < bits; shift += DIGIT) {
        count<DIGIT><<<blocks, THREADS>>>(x, counts, n, shift);
        CHECK(cudaGetLastError());
        scan(counts, blocks << DIGIT);
        scatter<DIGIT><<<blocks, THREADS>>>(x, y, counts, n, shift);
        CHECK(cudaGetLastError());
        std::swap(x, y);
    }
    CHECK(cudaFree(counts));
}

int main(int argc, char** argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: by_hand N BITS DIGIT\n");
        return 2;
    }
    const int n = atoi(argv[1]), bits = atoi(argv[2]);
    std::vector<int> keys(n);
    unsigned state = 1;
    for (int& key : keys) {
        state = state * 1664525 + 1013904223;
        key = state >> (32 - bits);
    }
    int *x, *y;
    CHECK(cudaMalloc(&x, n * sizeof(int)));
    CHECK(cudaMalloc(&y, n * sizeof(int)));
    CHECK(cudaMemcpy(x, keys.data(), n * sizeof(int),
                     cudaMemcpyHostToDevice));
    switch (atoi(argv[3])) {
    case 1: sort<1>(x, y, n, bits); break;
    case 2: sort<2>(x, y, n, bits); break;
    case 3: sort<3>(x, y, n, bits); break;
    case 4: sort<4>(x, y, n, bits); break;
    default: sort<6>(x, y, n, bits);
    }
    CHECK(cudaMemcpy(keys.data(), x, n * sizeof(int),
                     cudaMemcpyDeviceToHost));
    int falls = 0;
    for (int i = 1; i < n; ++i)
        falls += keys[i] < keys[i - 1];
    printf("%d keys, %d of them smaller than the one before\n", n, falls);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return 0;
}
