// What comes in goes to the same place of the neighbour's `in` in each step. The results are right in a test, as what
// came before has been added by then. GPU g waits for its left neighbour, but that does not wait until GPU g has added.
//
// expect: stream_race

// allreduce N X SUMS: every GPU has N numbers, and at the end each of them
// has the sum of all. X holds N numbers for each GPU, one after the other;
// SUMS is written, what each GPU has, one after the other.

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

const int THREADS = 256, BLOCKS = 256;

std::vector<int> read_numbers(const char* path, size_t n)
{
    std::vector<int> x(n);
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x.data(), sizeof(int), n, file) != n) {
        fprintf(stderr, "%s does not hold %zu numbers\n", path, n);
        exit(2);
    }
    fclose(file);
    return x;
}

void write_numbers(const char* path, const std::vector<int>& x)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr ||
        fwrite(x.data(), sizeof(int), x.size(), file) != x.size()) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

__global__ void add(int* x, const int* y, int n)
{
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        x[i] += y[i];
}

// A GPU's numbers, room for what comes in, and the stream of both.
struct Gpu {
    int *x, *in;
    cudaStream_t stream;
    cudaEvent_t sent;
};

// Where piece p of n numbers begins; piece `gpus` begins behind the last.
int begin(int p, int n, int gpus) { return (long long)p * n / gpus; }

int main(int argc, char** argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: allreduce N X SUMS\n");
        return 2;
    }
    const int n = atoi(argv[1]);
    const size_t bytes = n * sizeof(int);
    int gpus;
    CHECK(cudaGetDeviceCount(&gpus));
    const std::vector<int> x = read_numbers(argv[2], (size_t)gpus * n);
    std::vector<int> sums((size_t)gpus * n);

    std::vector<Gpu> gpu(gpus);
    for (int g = 0; g < gpus; ++g) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaMalloc(&gpu[g].x, bytes));
        CHECK(cudaMalloc(&gpu[g].in, bytes));
        CHECK(cudaStreamCreate(&gpu[g].stream));
        CHECK(cudaEventCreate(&gpu[g].sent));
        CHECK(cudaMemcpy(gpu[g].x, x.data() + (size_t)g * n, bytes,
                         cudaMemcpyHostToDevice));
        const int right = (g + 1) % gpus;
        if (right != g) CHECK(cudaDeviceEnablePeerAccess(right, 0));
    }

    for (int step = 0; step < 2 * (gpus - 1); ++step) {
        const bool adds = step < gpus - 1;
        for (int g = 0; g < gpus; ++g) {
            const int right = (g + 1) % gpus;
            const int piece = (g - step + 2 * gpus) % gpus;
            const int at = begin(piece, n, gpus);
            const int count = begin(piece + 1, n, gpus) - at;
            int* to = adds ? gpu[right].in : gpu[right].x + at;
            CHECK(cudaMemcpyPeerAsync(to, right, gpu[g].x + at, g,  // <- here
                                      count * sizeof(int),
                                      gpu[g].stream));
            CHECK(cudaEventRecord(gpu[g].sent, gpu[g].stream));
        }
        for (int g = 0; g < gpus; ++g) {
            const int left = (g + gpus - 1) % gpus;
            CHECK(cudaStreamWaitEvent(gpu[g].stream, gpu[left].sent, 0));
            if (!adds) continue;
            const int piece = (left - step + 2 * gpus) % gpus;
            const int at = begin(piece, n, gpus);
            const int count = begin(piece + 1, n, gpus) - at;
            CHECK(cudaSetDevice(g));
            add<<<BLOCKS, THREADS, 0, gpu[g].stream>>>(
                gpu[g].x + at, gpu[g].in, count);
            CHECK(cudaGetLastError());
        }
    }
    for (int g = 0; g < gpus; ++g)
        CHECK(cudaStreamSynchronize(gpu[g].stream));

    for (int g = 0; g < gpus; ++g) {
        CHECK(cudaMemcpy(sums.data() + (size_t)g * n, gpu[g].x, bytes,
                         cudaMemcpyDeviceToHost));
        CHECK(cudaFree(gpu[g].x));
        CHECK(cudaFree(gpu[g].in));
        CHECK(cudaStreamDestroy(gpu[g].stream));
        CHECK(cudaEventDestroy(gpu[g].sent));
    }
    write_numbers(argv[3], sums);
    return 0;
}
