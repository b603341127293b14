// Fault: a memset in one stream clears counters that a kernel in another stream already counts in.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call) \
    do { \
        cudaError_t status = (call); \
        if (status != cudaSuccess) { \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
            return 1; \
        } \
    } while (0)

const int N = 1 << 14;

__global__ void count(const unsigned char* bytes, int* counters) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) atomicAdd(&counters[bytes[i]], 1);
}

int main() {
    unsigned char* bytes;
    int *counters, value;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&bytes, N));
    CHECK(cudaMalloc(&counters, 256 * sizeof(int)));
    CHECK(cudaMemset(bytes, 7, N));
    CHECK(cudaMemset(counters, 1, 256 * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemsetAsync(counters, 0, 256 * sizeof(int), first));
    CHECK(cudaEventRecord(ready, first));
    count<<<N / 256, 256, 0, second>>>(bytes, counters);
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaMemcpy(&value, counters + 7, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFree(bytes));
    CHECK(cudaFree(counters));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != N;
}
