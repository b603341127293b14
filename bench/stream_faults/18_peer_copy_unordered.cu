// Fault: a kernel reads what an asynchronous peer copy in another stream brings, and nothing orders them.
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
    int *source, *target, *out, value, count;
    CHECK(cudaGetDeviceCount(&count));
    int last = count - 1;
    CHECK(cudaSetDevice(last));
    CHECK(cudaMalloc(&source, N * sizeof(int)));
    fill<<<N / 256, 256>>>(source, 3);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&target, N * sizeof(int)));
    CHECK(cudaMalloc(&out, N * sizeof(int)));
    CHECK(cudaMemcpyPeerAsync(target, 0, source, last, N * sizeof(int), first));
    CHECK(cudaEventRecord(ready, first));
    add<<<N / 256, 256, 0, second>>>(target, out, 4);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, out + 40, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFree(source));
    CHECK(cudaFree(target));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 7;
}
