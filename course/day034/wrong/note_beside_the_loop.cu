// The last node hangs on the first one, as the loop does. The nodes were made in the right order, so they seem to run in
// it. Nothing says that the loop comes before it. Nodes that no edge orders run in any order.
//
// expect: stream_race

// rods N RODS HEAT SWEEPS LEFT Y: each of RODS rods of N cells is cold but for
// its middle, and is swept until that has no more than COOL. HEAT is a file to
// read; how many sweeps each rod took, what its middle then had, and the cells
// of the last rod are written.

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

const int COOL = 1000;

std::vector<int> read_numbers(const char* path, int n)
{
    std::vector<int> x(n);
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x.data(), 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s does not hold %d numbers\n", path, n);
        exit(2);
    }
    fclose(file);
    return x;
}

// An array on the device, copied back and written.
void write_numbers(const char* path, const int* on_device, int n)
{
    std::vector<int> x(n);
    CHECK(cudaMemcpy(x.data(), on_device, n * sizeof(int),
                     cudaMemcpyDeviceToHost));
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x.data(), 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

// The rod is cold; its middle is heated, and is it to be swept at all?
__global__ void warm(int* x, int more, int n, int* count,
                     cudaGraphConditionalHandle going)
{
    x[n / 2] = more;
    *count = 0;
    cudaGraphSetConditional(going, more > COOL);
}

// A cell takes a quarter from each neighbour; an end is its own.
__global__ void sweep(const int* from, int* to, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int left = i > 0 ? from[i - 1] : from[i];
    const int right = i < n - 1 ? from[i + 1] : from[i];
    to[i] = (left + 2 * from[i] + right) / 4;
}

// One sweep more; is there to be another one?
__global__ void look(const int* x, int n, int* count,
                     cudaGraphConditionalHandle going)
{
    *count += 1;
    cudaGraphSetConditional(going, x[n / 2] > COOL);
}

// What is known of rod r in the end.
__global__ void note(const int* x, int n, const int* count, int r,
                     int* sweeps, int* left)
{
    sweeps[r] = *count;
    left[r] = x[n / 2];
}

// A kernel of one thread, as a node wants to be told of it.
cudaKernelNodeParams launch_of(void* kernel, void** arguments)
{
    cudaKernelNodeParams launch = {};
    launch.func = kernel;
    launch.gridDim = launch.blockDim = dim3(1);
    launch.kernelParams = arguments;
    return launch;
}

int main(int argc, char** argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: rods N RODS HEAT SWEEPS LEFT Y\n");
        return 2;
    }
    int n = atoi(argv[1]), rods = atoi(argv[2]);
    const size_t bytes = n * sizeof(int), each = rods * sizeof(int);
    const std::vector<int> heat = read_numbers(argv[3], rods);
    int more = heat[0], r = 0;  // what differs from rod to rod

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    int *x, *y, *count, *sweeps, *left;
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMalloc(&y, bytes));
    CHECK(cudaMalloc(&count, sizeof(int)));
    CHECK(cudaMalloc(&sweeps, each));
    CHECK(cudaMalloc(&left, each));
    CHECK(cudaMemset(x, 0, bytes));
    CHECK(cudaMemset(sweeps, 0, each));
    CHECK(cudaMemset(left, 0, each));

    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle going;
    CHECK(cudaGraphConditionalHandleCreate(&going, graph, 0, 0));

    // A cold rod, and its heat.
    cudaGraphNode_t clear, first, loop, last;
    cudaMemsetParams cold = {};
    cold.dst = x;
    cold.elementSize = sizeof(int);
    cold.width = n;
    cold.height = 1;
    CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &cold));
    void* of_warm[] = {&x, &more, &n, &count, &going};
    cudaKernelNodeParams warming = launch_of((void*)warm, of_warm);
    CHECK(cudaGraphAddKernelNode(&first, graph, &clear, 1, &warming));

    // The loop, and what is done in each turn of it.
    cudaGraphNodeParams turns = {};
    turns.type = cudaGraphNodeTypeConditional;
    turns.conditional.handle = going;
    turns.conditional.type = cudaGraphCondTypeWhile;
    turns.conditional.size = 1;
    CHECK(cudaGraphAddNode(&loop, graph, &first, nullptr, 1, &turns));
    cudaGraph_t body = turns.conditional.phGraph_out[0];
    CHECK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0,
                                        cudaStreamCaptureModeGlobal));
    sweep<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(x, y, bytes, cudaMemcpyDeviceToDevice, stream));
    look<<<1, 1, 0, stream>>>(x, n, count, going);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamEndCapture(stream, &body));

    // What came of it.
    void* of_note[] = {&x, &n, &count, &r, &sweeps, &left};
    cudaKernelNodeParams noting = launch_of((void*)note, of_note);
    CHECK(cudaGraphAddKernelNode(&last, graph, &first, 1, &noting));

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (r = 0; r < rods; ++r) {
        more = heat[r];
        CHECK(cudaGraphExecKernelNodeSetParams(exec, first, &warming));
        CHECK(cudaGraphExecKernelNodeSetParams(exec, last, &noting));
        CHECK(cudaGraphLaunch(exec, stream));  // <- here
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));

    write_numbers(argv[4], sweeps, rods);
    write_numbers(argv[5], left, rods);
    write_numbers(argv[6], x, n);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(count));
    CHECK(cudaFree(sweeps));
    CHECK(cudaFree(left));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
