// The round is in the default stream, memory and kernels alike, and its parameter for the stream is left unused. In
// most programs that goes well, since the default stream waits for the others, and they for it. The caller's stream is
// one that does not. Its copy of y[0] waits for nothing that the round does.
//
// expect: stream_race

// mixing N ROUNDS X ADD Y FIRST: N integers, mixed ROUNDS times. X and ADD
// are files to read, Y and FIRST are written.

#include <cstdint>
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

std::vector<unsigned> read_numbers(const char* path, int n)
{
    std::vector<unsigned> x(n);
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x.data(), 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s does not hold %d numbers\n", path, n);
        exit(2);
    }
    fclose(file);
    return x;
}

void write_numbers(const char* path, const std::vector<unsigned>& x)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x.data(), 4, x.size(), file) != x.size()) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

__global__ void spread(const unsigned* y, unsigned* s, unsigned add, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) s[i] = 5 * y[i] + add;
}

__global__ void join(const unsigned* s, unsigned* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = s[i] ^ s[(i + 1) % n];
}

// One round on y, in the stream. Who calls it knows nothing of scratch
// memory: the round gets what it needs, and has given it back at its end.
void round(unsigned* y, unsigned add, int n, cudaStream_t stream)
{
    const int threads = 256, blocks = (n + threads - 1) / threads;
    unsigned* s;
    CHECK(cudaMallocAsync(&s, n * sizeof(unsigned), 0));
    spread<<<blocks, threads>>>(y, s, add, n);
    CHECK(cudaGetLastError());
    join<<<blocks, threads>>>(s, y, n);
    CHECK(cudaGetLastError());
    CHECK(cudaFreeAsync(s, 0));
}

// The pool keeps what has been freed for the next round.
void keep_what_is_freed()
{
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t most = UINT64_MAX;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold,
                                  &most));
}

int main(int argc, char** argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: mixing N ROUNDS X ADD Y FIRST\n");
        return 2;
    }
    const int n = atoi(argv[1]), rounds = atoi(argv[2]);
    const size_t bytes = n * sizeof(unsigned);
    std::vector<unsigned> x = read_numbers(argv[3], n);
    const std::vector<unsigned> add = read_numbers(argv[4], rounds);
    std::vector<unsigned> first(rounds);

    keep_what_is_freed();
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned* y;
    CHECK(cudaMalloc(&y, bytes));
    CHECK(cudaMemcpyAsync(y, x.data(), bytes, cudaMemcpyHostToDevice,
                          stream));
    for (int r = 0; r < rounds; ++r) {
        round(y, add[r], n, stream);
        CHECK(cudaMemcpyAsync(&first[r], y, sizeof(unsigned),  // <- here
                              cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));  // who calls looks at it now
    }
    CHECK(cudaMemcpy(x.data(), y, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(y));
    CHECK(cudaStreamDestroy(stream));

    write_numbers(argv[5], x);
    write_numbers(argv[6], first);
    return 0;
}
