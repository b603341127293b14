// CUB's device-wide algorithms behind C functions, for ctypes. Called with temp = nullptr each only sets `bytes`.

#include <cstdint>
#include <cub/cub.cuh>

extern "C" {

int cub_sum(void* temp, size_t* bytes, const float* x, float* total, int64_t n, cudaStream_t stream) {
    return cub::DeviceReduce::Sum(temp, *bytes, x, total, n, stream);
}

int cub_scan(void* temp, size_t* bytes, const float* x, float* y, int64_t n, cudaStream_t stream) {
    return cub::DeviceScan::InclusiveSum(temp, *bytes, x, y, n, stream);
}

int cub_histogram(void* temp, size_t* bytes, const float* x, int* counts, int64_t n, cudaStream_t stream) {
    return cub::DeviceHistogram::HistogramEven(temp, *bytes, x, counts, 257, -4.0f, 4.0f, n, stream);
}

int cub_sort(void* temp, size_t* bytes, const uint32_t* keys, uint32_t* sorted, int64_t n, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortKeys(temp, *bytes, keys, sorted, n, 0, 32, stream);
}

}
