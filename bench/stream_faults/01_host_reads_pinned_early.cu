// Fault: the host sums a pinned buffer without waiting for the copy into it.
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
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, N * sizeof(int)));
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < N; i++) pinned[i] = 0;
    fill<<<N / 256, 256, 0, stream>>>(device, 3);
    CHECK(cudaMemcpyAsync(pinned, device, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
    long sum = 0;
    for (int i = 0; i < N; i++) sum += pinned[i];
    printf("%ld\n", sum);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return sum != 3L * N;
}
