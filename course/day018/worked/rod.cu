// rod STEPS MODE: heat spreads along a rod of 4,096 cells, twenty sweeps in
// each step. MODE is launches, graph or anew (a graph captured every step).

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

// The mean of a cell and its neighbours; the ends stay as they are.
__global__ void sweep(const float* from, float* to)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool end = i == 0 || i == N - 1;
    to[i] = end ? from[i]
                : 0.25f * (from[i - 1] + 2.0f * from[i] + from[i + 1]);
}

// Twenty launches, there and back; what has been in x is in x again.
void step(float* x, float* y, cudaStream_t stream)
{
    for (int k = 0; k < SWEEPS; ++k) {
        sweep<<<N / 256, 256, 0, stream>>>(x, y);
        CHECK(cudaGetLastError());
        std::swap(x, y);
    }
}

// What step() hands to the stream, recorded and made ready for launches.
cudaGraphExec_t captured(float* x, float* y, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    step(x, y, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

void with_graph(int steps, float* x, float* y, cudaStream_t stream)
{
    cudaGraphExec_t exec = captured(x, y, stream);
    for (int s = 0; s < steps; ++s)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
}

void anew(int steps, float* x, float* y, cudaStream_t stream)
{
    for (int s = 0; s < steps; ++s) {
        cudaGraphExec_t exec = captured(x, y, stream);
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaGraphExecDestroy(exec));
    }
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: rod STEPS launches|graph|anew\n");
        return 2;
    }
    const int steps = atoi(argv[1]);
    cudaStream_t stream;
    float *x, *y;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, N * sizeof(float)));
    CHECK(cudaMalloc(&y, N * sizeof(float)));
    CHECK(cudaMemset(x, 0, N * sizeof(float)));
    const float hot = 1000.0f;
    CHECK(cudaMemcpy(x, &hot, sizeof hot, cudaMemcpyHostToDevice));

    if (!strcmp(argv[2], "graph"))
        with_graph(steps, x, y, stream);
    else if (!strcmp(argv[2], "anew"))
        anew(steps, x, y, stream);
    else
        for (int s = 0; s < steps; ++s)
            step(x, y, stream);

    float cell;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&cell, x + 10, sizeof cell, cudaMemcpyDeviceToHost));
    printf("cell 10 after %d steps: %.3f\n", steps, cell);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return 0;
}
