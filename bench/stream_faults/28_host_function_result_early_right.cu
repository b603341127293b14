// Right: the host waits for the stream.
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
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, N * sizeof(int)));
    Work work = {pinned, 0};
    fill<<<N / 256, 256, 0, stream>>>(device, 2);
    CHECK(cudaMemcpyAsync(pinned, device, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, add_up, &work));
    CHECK(cudaStreamSynchronize(stream));
    long sum = work.sum;
    printf("%ld\n", sum);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return sum != 2L * N;
}
