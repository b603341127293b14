// One thread goes through the keys and puts each at the end of its digit's pile, which cannot go wrong in order. It is the
// loop of a processor, on a device with 132 multiprocessors. Each key is written by a request of its own, too.
//
// expect: too_many written

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
    if (threadIdx.x > 0 || blockIdx.x > 0) return;
    for (int d = 0; d < DIGITS; ++d) counts[d] = 0;
    for (int i = 0; i < n; ++i) ++counts[digit_of(from[i], shift)];
}

// first[d * blocks + b] is where the first key of block b with digit d goes;
// the others of that digit go behind it, in the order in which they stand.
__global__ void scatter(const int* from, int* to, const int* first, int n,
                        int shift)
{
    if (threadIdx.x > 0 || blockIdx.x > 0) return;
    int next[DIGITS];
    for (int d = 0; d < DIGITS; ++d) next[d] = first[d];
    for (int i = 0; i < n; ++i) {  // <- here
        const int key = from[i];
        to[next[digit_of(key, shift)]++] = key;
    }
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
    const int blocks = 1;
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
        count<<<1, 1>>>(x, counts, n, shift);
        CHECK(cudaGetLastError());
        scan(counts, DIGITS * blocks);
        scatter<<<1, 1>>>(x, y, counts, n, shift);
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
