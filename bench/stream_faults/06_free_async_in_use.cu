// Fault: the first stream frees memory that a kernel in the second stream may still read.
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
__global__ void add(const int* in, int* out, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) out[i] = in[i] + v;
}

int main() {
    int *middle, *out, value;
    cudaEvent_t used;
    CHECK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&out, N * sizeof(int)));
    CHECK(cudaMallocAsync(&middle, N * sizeof(int), first));
    fill<<<N / 256, 256, 0, first>>>(middle, 3);
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaStreamWaitEvent(second, ready, 0));
    add<<<N / 256, 256, 0, second>>>(middle, out, 4);
    CHECK(cudaEventRecord(used, second));
    CHECK(cudaFreeAsync(middle, first));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, out + 9, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(used));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 7;
}
