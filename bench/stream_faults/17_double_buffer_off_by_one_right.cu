// Right: the host waits from the third piece on.
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
    int *pinned, *in, *out, value, half = N / 2;
    cudaStream_t streams[2];
    cudaEvent_t copied[2];
    CHECK(cudaMallocHost(&pinned, 2 * N * sizeof(int)));
    CHECK(cudaMalloc(&in, 2 * N * sizeof(int)));
    CHECK(cudaMalloc(&out, 8 * N * sizeof(int)));
    for (int b = 0; b < 2; b++) {
        CHECK(cudaStreamCreate(&streams[b]));
        CHECK(cudaEventCreateWithFlags(&copied[b], cudaEventDisableTiming));
    }
    for (int piece = 0; piece < 8; piece++) {
        int b = piece % 2;
        if (piece > 1) CHECK(cudaEventSynchronize(copied[b]));
        for (int i = 0; i < N; i++) pinned[b * N + i] = piece;
        CHECK(cudaMemcpyAsync(in + b * N, pinned + b * N, N * sizeof(int), cudaMemcpyHostToDevice, streams[b]));
        CHECK(cudaEventRecord(copied[b], streams[b]));
        add<<<N / 256, 256, 0, streams[b]>>>(in + b * N, out + piece * N, 100);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, out + half, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    for (int b = 0; b < 2; b++) {
        CHECK(cudaStreamDestroy(streams[b]));
        CHECK(cudaEventDestroy(copied[b]));
    }
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return value != 100;
}
