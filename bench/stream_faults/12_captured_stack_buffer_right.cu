// Right: the array lives as long as the graph.
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

int capture(cudaStream_t stream, int* device, cudaGraph_t* graph) {
    static int local[64];
    for (int i = 0; i < 64; i++) local[i] = i;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(device, local, sizeof(local), cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamEndCapture(stream, graph));
    return 0;
}

int other_work() {
    volatile int scratch[256];
    for (int i = 0; i < 256; i++) scratch[i] = -1;
    return scratch[100];
}

int main() {
    int *device, back[64];
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&device, sizeof(back)));
    if (capture(stream, device, &graph)) return 1;
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    printf("%d\n", other_work());
    CHECK(cudaGraphLaunch(instance, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(back, device, sizeof(back), cudaMemcpyDeviceToHost));
    printf("%d\n", back[63]);
    CHECK(cudaGraphExecDestroy(instance));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return back[63] != 63;
}
