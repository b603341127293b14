// settle HEAT MODE: a rod is heated in the middle, and swept until the middle
// has no more than 100. MODE is looks (the host looks after each sweep) or
// loop (the graph does).

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

const int N = 4096;
const float COOL = 100.0f;

// The mean of a cell and its neighbours; the ends stay as they are.
__global__ void sweep(const float* from, float* to)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool end = i == 0 || i == N - 1;
    to[i] = end ? from[i]
                : 0.25f * (from[i - 1] + 2.0f * from[i] + from[i + 1]);
}

// One thread looks whether to go on.
__global__ void look(const float* x, cudaGraphConditionalHandle going)
{
    cudaGraphSetConditional(going, x[N / 2] > COOL);
}

int with_looks(float* x, float* y, cudaStream_t stream)
{
    for (int sweeps = 0;; ++sweeps) {
        float middle;
        CHECK(cudaMemcpyAsync(&middle, x + N / 2, sizeof middle,
                              cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        if (middle <= COOL) return sweeps;
        sweep<<<N / 256, 256, 0, stream>>>(x, y);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(x, y, N * sizeof(float),
                              cudaMemcpyDeviceToDevice, stream));
    }
}

void with_loop(float* x, float* y, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphConditionalHandle going;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&going, graph, 1,
                                           cudaGraphCondAssignDefault));

    cudaGraphNodeParams loop = {};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = going;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop));

    cudaGraph_t body = loop.conditional.phGraph_out[0];
    CHECK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0,
                                        cudaStreamCaptureModeGlobal));
    sweep<<<N / 256, 256, 0, stream>>>(x, y);
    CHECK(cudaMemcpyAsync(x, y, N * sizeof(float),
                          cudaMemcpyDeviceToDevice, stream));
    look<<<1, 1, 0, stream>>>(x, going);
    CHECK(cudaStreamEndCapture(stream, &body));

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: settle HEAT looks|loop\n");
        return 2;
    }
    const float heat = atof(argv[1]);
    cudaStream_t stream;
    float *x, *y, middle;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(float)));
    CHECK(cudaMalloc(&y, N * sizeof(float)));
    CHECK(cudaMemset(x, 0, N * sizeof(float)));
    CHECK(cudaMemcpy(x + N / 2, &heat, sizeof heat,
                     cudaMemcpyHostToDevice));

    if (!strcmp(argv[2], "loop"))
        with_loop(x, y, stream);
    else
        with_looks(x, y, stream);

    CHECK(cudaMemcpy(&middle, x + N / 2, sizeof middle,
                     cudaMemcpyDeviceToHost));
    printf("the middle has %.2f\n", middle);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return 0;
}
