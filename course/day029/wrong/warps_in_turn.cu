// The counter of a digit hands out places, and barriers let the warps come in turn, so that their order holds. The lanes of a
// warp come to the counter in one instruction. Which of them gets which number is promised nowhere: mostly the lowest lane
// comes first, and the sort is right for as long as that is so.
//
// expect: wrong_result

// dearest N X Y TOTAL: N prices below 4,096 are sorted, and the dearest
// tenth of them is added up. X is a file to read; Y and TOTAL are written.

#include <cub/device/device_reduce.cuh>
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
const int BITS = 12;      // of a price
const int DIGIT = 4;      // of a digit
const int DIGITS = 1 << DIGIT;

std::vector<int> read_numbers(const char* path, int n)
{
    std::vector<int> x(n);
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x.data(), 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s does not hold %d numbers\n", path, n);
        exit(2);
    }
    fclose(file);
    return x;
}

void write_numbers(const char* path, const std::vector<int>& x)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x.data(), 4, x.size(), file) != x.size()) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

__device__ int digit_of(int key, int shift)
{
    return key >> shift & (DIGITS - 1);
}

// counts[d * blocks + b]: how many keys of block b have digit d.
__global__ void count(const int* from, int* counts, int n, int shift)
{
    __shared__ int own[DIGITS];
    if (threadIdx.x < DIGITS) own[threadIdx.x] = 0;
    __syncthreads();
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) atomicAdd(&own[digit_of(from[i], shift)], 1);
    __syncthreads();
    if (threadIdx.x < DIGITS)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

// first[d * blocks + b] is where the first key of block b with digit d goes;
// the others of that digit go behind it, in the order in which they stand.
__global__ void scatter(const int* from, int* to, const int* first, int n,
                        int shift)
{
    __shared__ int next[DIGITS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    const int key = i < n ? from[i] : 0;
    if (t < DIGITS) next[t] = 0;
    const int digit = digit_of(key, shift);
    int before = 0;
    for (int warp = 0; warp < THREADS / 32; ++warp) {
        __syncthreads();
        if (t / 32 == warp && i < n) before = atomicAdd(&next[digit], 1);
    }
    if (i >= n) return;
    to[first[digit * gridDim.x + blockIdx.x] + before] = key;
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

void sum(const int* x, int* total, int n)
{
    void* room = nullptr;
    size_t bytes = 0;
    CHECK(cub::DeviceReduce::Sum(room, bytes, x, total, n));
    CHECK(cudaMalloc(&room, bytes));
    CHECK(cub::DeviceReduce::Sum(room, bytes, x, total, n));
    CHECK(cudaFree(room));
}

int main(int argc, char** argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: dearest N X Y TOTAL\n");
        return 2;
    }
    const int n = atoi(argv[1]);
    const int blocks = (n + THREADS - 1) / THREADS;
    const size_t all = n * sizeof(int);
    std::vector<int> prices = read_numbers(argv[2], n), dearest(1);

    int *x, *y, *counts, *total;
    CHECK(cudaMalloc(&x, all));
    CHECK(cudaMalloc(&y, all));
    CHECK(cudaMalloc(&counts, DIGITS * blocks * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMemset(total, 0, sizeof(int)));
    CHECK(cudaMemcpy(x, prices.data(), all, cudaMemcpyHostToDevice));

    for (int shift = 0; shift < BITS; shift += DIGIT) {
        count<<<blocks, THREADS>>>(x, counts, n, shift);
        CHECK(cudaGetLastError());
        scan(counts, DIGITS * blocks);
        scatter<<<blocks, THREADS>>>(x, y, counts, n, shift);
        CHECK(cudaGetLastError());
        std::swap(x, y);
    }
    sum(x + n - n / 10, total, n / 10);

    CHECK(cudaMemcpy(prices.data(), x, all, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(dearest.data(), total, sizeof(int),
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(counts));
    CHECK(cudaFree(total));

    write_numbers(argv[3], prices);
    write_numbers(argv[4], dearest);
    return 0;
}
