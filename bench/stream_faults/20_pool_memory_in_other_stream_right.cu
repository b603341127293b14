// Right: the other stream waits for the allocation.
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
    int *device, value;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    cudaEvent_t done;
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    CHECK(cudaMallocAsync(&device, N * sizeof(int), first));
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaStreamWaitEvent(second, ready, 0));
    fill<<<N / 256, 256, 0, second>>>(device, 8);
    CHECK(cudaMemcpyAsync(&value, device + 3, sizeof(int), cudaMemcpyDeviceToHost, second));
    CHECK(cudaEventRecord(done, second));
    CHECK(cudaStreamWaitEvent(first, done, 0));
    CHECK(cudaFreeAsync(device, first));
    CHECK(cudaDeviceSynchronize());
    printf("%d\n", value);
    CHECK(cudaEventDestroy(done));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 8;
}
