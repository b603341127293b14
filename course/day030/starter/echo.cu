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
    // 0. Which number is this thread's, and is there one that long before?
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

    // 1. How many numbers may a piece have? Ask the device what is free, and
    //    mind what each of three places needs.

    // 2. Three places: memory for what comes in and what goes out, a stream.

    // 3. For each piece: which numbers must be there, its LAG before it too?
    //    Copy them in, add the echo, copy the result out.

    // 4. What must be over before y is written? What is given back?

    write_numbers(argv[4], y, n);
    CHECK(cudaFreeHost(x));
    CHECK(cudaFreeHost(y));
    return 0;
}
