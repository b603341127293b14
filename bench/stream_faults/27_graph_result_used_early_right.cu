// Right: the copying stream waits for the graph.
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

int main() {
    int *device, *pinned;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, N * sizeof(int)));
    CHECK(cudaMemset(device, 0, N * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    fill<<<N / 256, 256, 0, first>>>(device, 6);
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    CHECK(cudaGraphLaunch(instance, first));
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaStreamWaitEvent(second, ready, 0));
    CHECK(cudaMemcpyAsync(pinned, device, N * sizeof(int), cudaMemcpyDeviceToHost, second));
    CHECK(cudaStreamSynchronize(second));
    CHECK(cudaStreamSynchronize(first));
    int value = pinned[N / 3];
    printf("%d\n", value);
    CHECK(cudaGraphExecDestroy(instance));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(device));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 6;
}
