// Fault: the host reads mapped pinned memory before the kernel that writes it has been waited for.
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

__global__ void total(const int* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) atomicAdd(out, in[i] + 1);
}

int main() {
    int *in, *mapped, *result;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&in, N * sizeof(int)));
    CHECK(cudaMemset(in, 0, N * sizeof(int)));
    CHECK(cudaHostAlloc(&mapped, sizeof(int), cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&result, mapped, 0));
    CHECK(cudaDeviceSynchronize());
    *mapped = 25;
    total<<<N / 256, 256, 0, stream>>>(in, result);
    CHECK(cudaGetLastError());
    int value = *mapped;
    printf("%d\n", value);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(mapped));
    CHECK(cudaFree(in));
    CHECK(cudaStreamDestroy(stream));
    return value != N + 25;
}
