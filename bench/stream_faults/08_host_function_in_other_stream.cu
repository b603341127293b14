// Fault: a host function in the second stream reads what a copy in the first stream brings, unordered.
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

struct Work { const int* values; long sum; };

void add_up(void* argument) {
    Work* work = static_cast<Work*>(argument);
    for (int i = 0; i < N; i++) work->sum += work->values[i];
}

int main() {
    int *device, *pinned;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, N * sizeof(int)));
    for (int i = 0; i < N; i++) pinned[i] = 0;
    Work work = {pinned, 0};
    fill<<<N / 256, 256, 0, first>>>(device, 2);
    CHECK(cudaMemcpyAsync(pinned, device, N * sizeof(int), cudaMemcpyDeviceToHost, first));
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaLaunchHostFunc(second, add_up, &work));
    CHECK(cudaDeviceSynchronize());
    printf("%ld\n", work.sum);
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return work.sum != 2L * N;
}
