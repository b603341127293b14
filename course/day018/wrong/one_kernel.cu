// The twenty kernels of a step are made one, of a single block that has a barrier where a launch ended. Now a step is one
// call of the host, as it was asked for, and no graph is needed. The rod has one multiprocessor of 132 from then on. That
// was the price, and what the lab asks is to keep the twenty kernels and hand them over as one.
//
// expect: too_few nodes

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
    const int right = i < n - 1 ? from[i + 1] : from[i];
    to[i] = (left + 2 * from[i] + right) / 4;
}

// A whole step in one kernel of one block, so that no graph is needed.
__global__ void whole(int* x, int* y, const int* heat, int* seen, int s, int n)
{
    if (threadIdx.x == 0) x[n / 2] += heat[s];
    __syncthreads();
    for (int k = 0; k < SWEEPS; ++k) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            const int left = i > 0 ? x[i - 1] : x[i];
            const int right = i < n - 1 ? x[i + 1] : x[i];
            y[i] = (left + 2 * x[i] + right) / 4;
        }
        __syncthreads();
        int* t = x; x = y; y = t;
    }
    if (threadIdx.x == 0) seen[s] = x[n / 2];
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

    for (int s = 0; s < steps; ++s) {
        whole<<<1, 1024, 0, stream>>>(x, y, device_heat, device_seen, s, n);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaStreamSynchronize(stream));

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
