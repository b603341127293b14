// heats STEPS MODE: in each step a rod is heated by another amount, then
// twenty sweeps. MODE is anew (capture and instance in each step), update
// (capture in each step, taken over by the instance) or node (one node is
// set).

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

const int N = 4096, SWEEPS = 20;

__global__ void warm(float* x, float more) { x[N / 2] += more; }

// The mean of a cell and its neighbours; the ends stay as they are.
__global__ void sweep(const float* from, float* to)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool end = i == 0 || i == N - 1;
    to[i] = end ? from[i]
                : 0.25f * (from[i - 1] + 2.0f * from[i] + from[i + 1]);
}

// A step, recorded: one kernel that differs, and twenty that do not.
cudaGraph_t captured(float* x, float* y, float more, cudaStream_t stream)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    warm<<<1, 1, 0, stream>>>(x, more);
    for (int k = 0; k < SWEEPS; ++k) {
        sweep<<<N / 256, 256, 0, stream>>>(x, y);
        std::swap(x, y);
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

float heat(int step) { return 100.0f + step; }

void anew(int steps, float* x, float* y, cudaStream_t stream)
{
    for (int s = 0; s < steps; ++s) {
        cudaGraph_t graph = captured(x, y, heat(s), stream);
        cudaGraphExec_t exec;
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaGraphExecDestroy(exec));
        CHECK(cudaGraphDestroy(graph));
    }
}

void update(int steps, float* x, float* y, cudaStream_t stream)
{
    cudaGraphExec_t exec = nullptr;
    for (int s = 0; s < steps; ++s) {
        cudaGraph_t graph = captured(x, y, heat(s), stream);
        cudaGraphExecUpdateResultInfo info;
        if (exec == nullptr)
            CHECK(cudaGraphInstantiate(&exec, graph, 0));
        else
            CHECK(cudaGraphExecUpdate(exec, graph, &info));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaGraphDestroy(graph));
    }
    CHECK(cudaGraphExecDestroy(exec));
}

void node(int steps, float* x, float* y, cudaStream_t stream)
{
    cudaGraph_t graph = captured(x, y, heat(0), stream);
    cudaGraphNode_t first;
    size_t one = 1;
    CHECK(cudaGraphGetRootNodes(graph, &first, &one));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int s = 0; s < steps; ++s) {
        float more = heat(s);
        void* arguments[] = {&x, &more};
        cudaKernelNodeParams launch = {};
        launch.func = (void*)warm;
        launch.gridDim = launch.blockDim = dim3(1);
        launch.kernelParams = arguments;
        CHECK(cudaGraphExecKernelNodeSetParams(exec, first, &launch));
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: heats STEPS anew|update|node\n");
        return 2;
    }
    const int steps = atoi(argv[1]);
    cudaStream_t stream;
    float *x, *y;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(float)));
    CHECK(cudaMalloc(&y, N * sizeof(float)));
    CHECK(cudaMemset(x, 0, N * sizeof(float)));

    if (!strcmp(argv[2], "anew"))
        anew(steps, x, y, stream);
    else if (!strcmp(argv[2], "update"))
        update(steps, x, y, stream);
    else
        node(steps, x, y, stream);

    float cell;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&cell, x + N / 2, sizeof cell,
                     cudaMemcpyDeviceToHost));
    printf("the middle after %d steps: %.3f\n", steps, cell);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return 0;
}
