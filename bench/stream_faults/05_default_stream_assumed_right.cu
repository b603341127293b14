// Right: an event orders the two streams.
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
    cudaStream_t worker;
    CHECK(cudaStreamCreateWithFlags(&worker, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&middle, N * sizeof(int)));
    CHECK(cudaMalloc(&out, N * sizeof(int)));
    fill<<<N / 256, 256>>>(middle, 3);
    CHECK(cudaEventRecord(ready, 0));
    CHECK(cudaStreamWaitEvent(worker, ready, 0));
    add<<<N / 256, 256, 0, worker>>>(middle, out, 4);
    CHECK(cudaStreamSynchronize(worker));
    CHECK(cudaMemcpy(&value, out + 17, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFree(middle));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(worker));
    return value != 7;
}
