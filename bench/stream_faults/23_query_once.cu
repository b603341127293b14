// Fault: the host asks a stream once whether it is done, does not look at the answer, and reads the result.
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
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, N * sizeof(int)));
    fill<<<N / 256, 256, 0, stream>>>(device, 9);
    CHECK(cudaMemcpyAsync(pinned, device, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
    (void)cudaStreamQuery(stream);
    int value = pinned[N - 1];
    printf("%d\n", value);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return value != 9;
}
