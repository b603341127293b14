// Fault: the event is recorded before the kernel that the other stream has to wait for.
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
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&middle, N * sizeof(int)));
    CHECK(cudaMalloc(&out, N * sizeof(int)));
    CHECK(cudaEventRecord(ready, first));
    fill<<<N / 256, 256, 0, first>>>(middle, 3);
    CHECK(cudaStreamWaitEvent(second, ready, 0));
    add<<<N / 256, 256, 0, second>>>(middle, out, 4);
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaMemcpy(&value, out + N - 1, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFree(middle));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 7;
}
