// Right: the thread waits for its stream before it ends.
#include <cstdio>
#include <cuda_runtime.h>
#include <thread>
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

int produce(int* middle) {
    fill<<<N / 256, 256, 0, cudaStreamPerThread>>>(middle, 3);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    return 0;
}

int main() {
    int *middle, *out, value, failed = 0;
    CHECK(cudaMalloc(&middle, N * sizeof(int)));
    CHECK(cudaMalloc(&out, N * sizeof(int)));
    std::thread worker([&] { failed = produce(middle); });
    worker.join();
    add<<<N / 256, 256, 0, cudaStreamPerThread>>>(middle, out, 4);
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaMemcpy(&value, out + 5, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFree(middle));
    CHECK(cudaFree(out));
    return failed || value != 7;
}
