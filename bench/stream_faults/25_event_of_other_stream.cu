// Fault: the wait is put into the stream of the producer instead of the stream that copies.
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
    cudaStream_t compute, copy;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, N * sizeof(int)));
    fill<<<N / 256, 256, 0, compute>>>(device, 4);
    CHECK(cudaEventRecord(ready, compute));
    CHECK(cudaStreamWaitEvent(compute, ready, 0));
    CHECK(cudaMemcpyAsync(pinned, device, N * sizeof(int), cudaMemcpyDeviceToHost, copy));
    CHECK(cudaStreamSynchronize(copy));
    CHECK(cudaStreamSynchronize(compute));
    int value = pinned[0];
    printf("%d\n", value);
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(copy));
    return value != 4;
}
