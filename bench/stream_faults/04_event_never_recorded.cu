// Fault: the second stream waits for an event that nobody has recorded, which waits for nothing.
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

__global__ void fill(int* p, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) p[i] = v;
}

int main() {
    int *device, *pinned;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, N * sizeof(int)));
    fill<<<N / 256, 256, 0, first>>>(device, 5);
    CHECK(cudaStreamWaitEvent(second, ready, 0));
    CHECK(cudaMemcpyAsync(pinned, device, N * sizeof(int), cudaMemcpyDeviceToHost, second));
    CHECK(cudaDeviceSynchronize());
    int value = pinned[N / 2];
    printf("%d\n", value);
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 5;
}
