// What a turn of a WHILE node takes besides its kernels: 1,000 turns of 1, 2 and 5 kernels that do nothing, beside as
// many kernels one behind the other in a plain graph.
//
//     nvcc -rdc=true -arch=sm_90 bench/conditional_nodes.cu -o conditional_nodes && ./conditional_nodes
//
// On two H100s (driver 580.159, 2026-11-24) a turn took 4.04, 4.66 and 7.04 us, and 4.46, 5.20 and 7.53 us; a kernel of
// the plain graph 0.79 us on both. Besides its kernels a turn took 3.1 to 3.7 us. condition_us of virtual/chips/*.toml
// is the lower end.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                       \
    do {                                                                                                  \
        const cudaError_t code = (call);                                                                  \
        if (code != cudaSuccess) {                                                                        \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__, cudaGetErrorString(code));              \
            exit(1);                                                                                      \
        }                                                                                                 \
    } while (0)

const int TURNS = 1000, REPEATS = 6;

__global__ void nothing() {}

__global__ void count_down(int* left, cudaGraphConditionalHandle going)
{
    *left -= 1;
    cudaGraphSetConditional(going, *left > 0);
}

cudaGraphNode_t add(cudaGraph_t graph, cudaGraphNode_t after, void* kernel, void** arguments)
{
    cudaGraphNode_t node;
    cudaKernelNodeParams launch = {};
    launch.func = kernel;
    launch.gridDim = launch.blockDim = dim3(1);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &launch));
    return node;
}

// Microseconds of the shortest launch.
float fastest(cudaGraph_t graph, int* left)
{
    cudaGraphExec_t exec;
    cudaStream_t stream;
    cudaEvent_t start, end;
    float best = 1e9f;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    for (int k = 0; k < REPEATS; ++k) {
        float ms;
        CHECK(cudaMemcpy(left, &TURNS, sizeof TURNS, cudaMemcpyHostToDevice));
        CHECK(cudaEventRecord(start, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaEventElapsedTime(&ms, start, end));
        best = std::min(best, 1000 * ms);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
    return best;
}

float loop(int kernels, int* left)
{
    cudaGraph_t graph;
    cudaGraphNode_t node, last = nullptr;
    cudaGraphConditionalHandle going;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&going, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams turns = {};
    turns.type = cudaGraphNodeTypeConditional;
    turns.conditional.handle = going;
    turns.conditional.type = cudaGraphCondTypeWhile;
    turns.conditional.size = 1;
    CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &turns));
    cudaGraph_t body = turns.conditional.phGraph_out[0];
    for (int k = 1; k < kernels; ++k)
        last = add(body, last, (void*)nothing, nullptr);
    void* arguments[] = {&left, &going};
    add(body, last, (void*)count_down, arguments);
    const float us = fastest(graph, left);
    CHECK(cudaGraphDestroy(graph));
    return us;
}

float chain(int kernels, int* left)
{
    cudaGraph_t graph;
    cudaGraphNode_t last = nullptr;
    CHECK(cudaGraphCreate(&graph, 0));
    for (int k = 0; k < TURNS * kernels; ++k)
        last = add(graph, last, (void*)nothing, nullptr);
    const float us = fastest(graph, left);
    CHECK(cudaGraphDestroy(graph));
    return us;
}

int main()
{
    int* left;
    CHECK(cudaMalloc(&left, sizeof(int)));
    for (int kernels : {1, 2, 5}) {
        const float a_turn = loop(kernels, left) / TURNS, a_kernel = chain(kernels, left) / (TURNS * kernels);
        printf("%d kernels: a turn %.2f us, a kernel of the plain graph %.2f us, besides %.2f us\n", kernels, a_turn,
               a_kernel, a_turn - kernels * a_kernel);
    }
    CHECK(cudaFree(left));
    return 0;
}
