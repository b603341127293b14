// Four blocks of 256 threads are enough for the rod of the example with its 1,000 cells, and the step is recorded with
// them. The guard keeps shorter rods right. Of a longer one the cells from 1,024 on are never written. And a graph keeps
// what it was recorded with, so that every step has the same gap.
//
// expect: uninitialised_read

// rod N STEPS X HEAT Y SEEN: heat spreads along a rod of N cells. X (cells)
// and HEAT (one for each step) are files to read; Y and SEEN are written.

#include <cstdio>
#include <cstdlib>
#include <utility>
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

const int SWEEPS = 18;  // even: what has been in x is in x again

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

void write_numbers(const char* path, const std::vector<int>& x)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x.data(), 4, x.size(), file) != x.size()) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

// A cell takes a quarter from each neighbour; an end is its own.
__global__ void sweep(const int* from, int* to, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int left = i > 0 ? from[i - 1] : from[i];
    const int right = i < n - 1 ? from[i + 1] : from[i];  // <- here
    to[i] = (left + 2 * from[i] + right) / 4;
}

// The cell in the middle is heated; `now` is the number of the step.
__global__ void add_heat(int* x, const int* heat, const int* now, int n)
{
    x[n / 2] += heat[*now];
}

// It is looked at, and the step is over.
__global__ void look(const int* x, int* seen, int* now, int n)
{
    seen[*now] = x[n / 2];
    *now += 1;
}

// One step, twenty launches; the same for each of them.
void step(int* x, int* y, const int* heat, int* seen, int* now, int n,
          cudaStream_t stream)
{
    add_heat<<<1, 1, 0, stream>>>(x, heat, now, n);
    CHECK(cudaGetLastError());
    for (int k = 0; k < SWEEPS; ++k) {
        sweep<<<4, 256, 0, stream>>>(x, y, n);
        CHECK(cudaGetLastError());
        std::swap(x, y);
    }
    look<<<1, 1, 0, stream>>>(x, seen, now, n);
    CHECK(cudaGetLastError());
}

int main(int argc, char** argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: rod N STEPS X HEAT Y SEEN\n");
        return 2;
    }
    const int n = atoi(argv[1]), steps = atoi(argv[2]);
    const size_t bytes = n * sizeof(int), each = steps * sizeof(int);
    std::vector<int> cells = read_numbers(argv[3], n), seen(steps);
    const std::vector<int> heat = read_numbers(argv[4], steps);

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    int *x, *y, *device_heat, *device_seen, *now;
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMalloc(&y, bytes));
    CHECK(cudaMalloc(&device_heat, each));
    CHECK(cudaMalloc(&device_seen, each));
    CHECK(cudaMalloc(&now, sizeof(int)));
    CHECK(cudaMemcpy(x, cells.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_heat, heat.data(), each,
                     cudaMemcpyHostToDevice));
    CHECK(cudaMemset(now, 0, sizeof(int)));

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    step(x, y, device_heat, device_seen, now, n, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));

    for (int s = 0; s < steps; ++s)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));

    CHECK(cudaMemcpy(cells.data(), x, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(seen.data(), device_seen, each,
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(device_heat));
    CHECK(cudaFree(device_seen));
    CHECK(cudaFree(now));
    CHECK(cudaStreamDestroy(stream));

    write_numbers(argv[5], cells);
    write_numbers(argv[6], seen);
    return 0;
}
