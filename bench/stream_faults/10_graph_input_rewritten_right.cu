// Right: the host waits for the first launch.
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

__global__ void gather(const int* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) out[i] += in[i];
}

int main() {
    int *in, *out, *pinned, value;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&in, N * sizeof(int)));
    CHECK(cudaMalloc(&out, N * sizeof(int)));
    CHECK(cudaMemset(out, 0, N * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMallocHost(&pinned, N * sizeof(int)));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(in, pinned, N * sizeof(int), cudaMemcpyHostToDevice, stream));
    gather<<<N / 256, 256, 0, stream>>>(in, out);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    for (int step = 0; step < 3; step++) {
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < N; i++) pinned[i] = step;
        CHECK(cudaGraphLaunch(instance, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&value, out, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaGraphExecDestroy(instance));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaStreamDestroy(stream));
    return value != 3;
}
