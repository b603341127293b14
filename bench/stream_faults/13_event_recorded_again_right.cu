// Right: the third stream has an event of its own.
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
    int *middle, *other, *out, value;
    cudaStream_t third;
    cudaEvent_t spare;
    CHECK(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&spare, cudaEventDisableTiming));
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&middle, N * sizeof(int)));
    CHECK(cudaMalloc(&other, N * sizeof(int)));
    CHECK(cudaMalloc(&out, N * sizeof(int)));
    fill<<<N / 256, 256, 0, first>>>(middle, 3);
    CHECK(cudaEventRecord(ready, first));
    fill<<<N / 256, 256, 0, third>>>(other, 1);
    CHECK(cudaEventRecord(spare, third));
    CHECK(cudaStreamWaitEvent(second, ready, 0));
    add<<<N / 256, 256, 0, second>>>(middle, out, 4);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, out, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFree(middle));
    CHECK(cudaFree(other));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(spare));
    CHECK(cudaStreamDestroy(third));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 7;
}
