// Fault: a constant is changed by a copy in one stream while a kernel in another stream may read it.
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

__constant__ int factor[4];

__global__ void scale(int* p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) p[i] = i * factor[i % 4];
}

int main() {
    int *device, *pinned, value, start[4] = {1, 2, 3, 4};
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, sizeof(start)));
    for (int i = 0; i < 4; i++) pinned[i] = 10 * start[i];
    CHECK(cudaMemcpyToSymbol(factor, start, sizeof(start)));
    CHECK(cudaDeviceSynchronize());
    scale<<<N / 256, 256, 0, first>>>(device);
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaMemcpyToSymbolAsync(factor, pinned, sizeof(start), 0, cudaMemcpyHostToDevice, second));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, device + 3, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 12;
}
