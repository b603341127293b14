// A kernel can read pinned memory by itself, so nothing is asked for on the device and nothing is copied. It looks like
// the shortest program that there could be. Each number is fetched twice over the link, with a warp waiting for it.
//
// expect: too_few crossed

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

    echo<<<(n + 255) / 256, 256>>>(x, y, 0, n, lag);  // <- here
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    write_numbers(argv[4], y, n);
    CHECK(cudaFreeHost(x));
    CHECK(cudaFreeHost(y));
    return 0;
}
