// Right: the host waits for the device before it reads.
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

__global__ void square(int* p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) p[i] = p[i] * p[i];
}

int main() {
    int* values;
    CHECK(cudaMallocManaged(&values, N * sizeof(int)));
    for (int i = 0; i < N; i++) values[i] = i % 10;
    square<<<N / 256, 256>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    long sum = 0;
    for (int i = 0; i < 10; i++) sum += values[i];
    printf("%ld\n", sum);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
    return sum != 285;
}
