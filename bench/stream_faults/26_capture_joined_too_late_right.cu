// Right: the join comes before the kernel.
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
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    cudaEvent_t fork;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&middle, N * sizeof(int)));
    CHECK(cudaMalloc(&out, N * sizeof(int)));
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    fill<<<N / 256, 256, 0, second>>>(middle, 3);
    CHECK(cudaEventRecord(ready, second));
    CHECK(cudaStreamWaitEvent(first, ready, 0));
    add<<<N / 256, 256, 0, first>>>(middle, out, 4);
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    CHECK(cudaGraphLaunch(instance, first));
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaMemcpy(&value, out, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaGraphExecDestroy(instance));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(middle));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 7;
}
