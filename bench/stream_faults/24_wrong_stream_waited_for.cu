// Fault: the host waits for the first stream and reads what the second one copies.
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
    int *a, *b, *pinned;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&a, N * sizeof(int)));
    CHECK(cudaMalloc(&b, N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, 2 * N * sizeof(int)));
    fill<<<N / 256, 256, 0, first>>>(a, 1);
    fill<<<N / 256, 256, 0, second>>>(b, 2);
    CHECK(cudaMemcpyAsync(pinned, a, N * sizeof(int), cudaMemcpyDeviceToHost, first));
    CHECK(cudaMemcpyAsync(pinned + N, b, N * sizeof(int), cudaMemcpyDeviceToHost, second));
    CHECK(cudaStreamSynchronize(first));
    int value = pinned[N];
    printf("%d\n", value);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 2;
}
