// Fault: the host fills the pinned buffer anew while the copy from it is in flight.
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

__global__ void add(const int* in, int* out, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) out[i] = in[i] + v;
}

int main() {
    int *in, *out, *pinned, value;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&in, 2 * N * sizeof(int)));
    CHECK(cudaMalloc(&out, 2 * N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, N * sizeof(int)));
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < N; i++) pinned[i] = half + 1;
        CHECK(cudaMemcpyAsync(in + half * N, pinned, N * sizeof(int), cudaMemcpyHostToDevice, stream));
        add<<<N / 256, 256, 0, stream>>>(in + half * N, out + half * N, 10);
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&value, out, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaStreamDestroy(stream));
    return value != 11;
}
