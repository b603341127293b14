// Right: the kernel node depends on the memset node.
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

__global__ void increase(int* p, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) p[i] += v;
}

int main() {
    int *device, value, amount = 6;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    cudaGraphNode_t zero, kernel;
    CHECK(cudaMalloc(&device, N * sizeof(int)));
    CHECK(cudaMemset(device, 0, N * sizeof(int)));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill = {};
    fill.dst = device, fill.elementSize = 4, fill.width = N, fill.height = 1;
    CHECK(cudaGraphAddMemsetNode(&zero, graph, nullptr, 0, &fill));
    void* arguments[] = {&device, &amount};
    cudaKernelNodeParams launch = {};
    launch.func = (void*)increase, launch.gridDim = dim3(N / 256), launch.blockDim = dim3(256);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &zero, 1, &launch));
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    CHECK(cudaGraphLaunch(instance, 0));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, device, sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d\n", value);
    CHECK(cudaGraphExecDestroy(instance));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(device));
    return value != 6;
}
