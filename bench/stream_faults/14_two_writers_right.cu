// Right: the second kernel begins where the first has ended.
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

__global__ void paint(int* p, int count, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) p[i] = v;
}

int main() {
    int *device, value;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    paint<<<N / 512, 256, 0, first>>>(device, N / 2, 1);
    paint<<<N / 512 + 1, 256, 0, second>>>(device + N / 2, N / 2, 2);
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaMemcpy(&value, device + N / 2 - 1, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 1;
}
