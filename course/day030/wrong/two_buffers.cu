// Two buffers are enough, one thinks, if one is filled while the other is worked on: a double buffer. There are three
// streams, and the third takes over a buffer of which it does not know whether it is free. The results are right when
// it is tried.
//
// expect: stream_race

// echo N LAG X Y: y[i] = x[i] + x[i - LAG] / 2 for N numbers, with silence
// before the first. X is a file to read, Y is written. The device need not
// hold them all.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

void read_numbers(const char* path, int* x, int n)
{
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x, 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s does not hold %d numbers\n", path, n);
        exit(2);
    }
    fclose(file);
}

void write_numbers(const char* path, const int* x, int n)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x, 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

// Of `before + count` numbers the last `count` get their echo.
__global__ void echo(const int* x, int* y, int before, int count, int lag)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int at = before + i;
    y[i] = x[at] + (at >= lag ? x[at - lag] / 2 : 0);
}

// What a piece needs on the device, and the stream that it goes through.
const int PLACES = 3;
struct Place {
    int *x, *y;
    cudaStream_t stream;
};

// Numbers of a piece, so that all places fit into the memory that is free.
int piece_of(int n, int lag)
{
    size_t left, all;
    CHECK(cudaMemGetInfo(&left, &all));
    const int numbers = std::min(left / 10 * 9 / PLACES / sizeof(int),
                                 (size_t)2 * n + lag);
    return std::max(1, std::min(n, (numbers - lag) / 2));
}

int main(int argc, char** argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: echo N LAG X Y\n");
        return 2;
    }
    const int n = atoi(argv[1]), lag = atoi(argv[2]);
    int *x, *y;  // on the host
    CHECK(cudaMallocHost(&x, n * sizeof(int)));
    CHECK(cudaMallocHost(&y, n * sizeof(int)));
    read_numbers(argv[3], x, n);

    const int part = piece_of(n, lag);
    Place place[PLACES];
    for (Place& p : place) {
        CHECK(cudaMalloc(&p.x, (lag + part) * sizeof(int)));
        CHECK(cudaMalloc(&p.y, part * sizeof(int)));
        CHECK(cudaStreamCreate(&p.stream));
    }

    for (int first = 0, k = 0; first < n; first += part, ++k) {
        const Place p = {place[k % 2].x, place[k % 2].y,
                         place[k % PLACES].stream};
        const int count = std::min(part, n - first);
        const int before = std::min(first, lag);
        CHECK(cudaMemcpyAsync(p.x, x + first - before,  // <- here
                              (before + count) * sizeof(int),
                              cudaMemcpyHostToDevice, p.stream));
        echo<<<(count + 255) / 256, 256, 0, p.stream>>>(p.x, p.y, before,
                                                        count, lag);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(y + first, p.y, count * sizeof(int),
                              cudaMemcpyDeviceToHost, p.stream));
    }
    CHECK(cudaDeviceSynchronize());

    for (const Place& p : place) {
        CHECK(cudaFree(p.x));
        CHECK(cudaFree(p.y));
        CHECK(cudaStreamDestroy(p.stream));
    }

    write_numbers(argv[4], y, n);
    CHECK(cudaFreeHost(x));
    CHECK(cudaFreeHost(y));
    return 0;
}
