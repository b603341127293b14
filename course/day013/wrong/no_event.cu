// The kernel's stream is told nothing of the copy's. The copies were given first, so one takes them to be first; that
// holds within a stream. The results were right on the day it was tried. The copies happened to be faster.
//
// expect: stream_race

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

void read_floats(const char* path, float* x, int n)
{
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x, sizeof(float), n, file) != (size_t)n) {
        fprintf(stderr, "%s does not hold %d floats\n", path, n);
        exit(2);
    }
    fclose(file);
}

void write_floats(const char* path, const float* x, int n)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x, sizeof(float), n, file) != (size_t)n) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char** argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: stream N A B C\n");
        return 2;
    }
    const int n = atoi(argv[1]);
    const size_t bytes = n * sizeof(float);
    float *a, *b, *c, *device_a, *device_b, *device_c;
    CHECK(cudaMallocHost(&a, bytes));
    CHECK(cudaMallocHost(&b, bytes));
    CHECK(cudaMallocHost(&c, bytes));
    CHECK(cudaMalloc(&device_a, bytes));
    CHECK(cudaMalloc(&device_b, bytes));
    CHECK(cudaMalloc(&device_c, bytes));
    read_floats(argv[2], a, n);
    read_floats(argv[3], b, n);

    cudaStream_t in, work;
    CHECK(cudaStreamCreate(&in));
    CHECK(cudaStreamCreate(&work));

    const int pieces = 4, part = (n + pieces - 1) / pieces;
    cudaEvent_t there[pieces];
    for (int p = 0; p < pieces; p++) {
        const int start = p * part, count = std::min(part, n - start);
        if (count <= 0) break;
        const size_t size = count * sizeof(float);
        CHECK(cudaEventCreate(&there[p]));
        CHECK(cudaMemcpyAsync(device_a + start, a + start, size, cudaMemcpyHostToDevice, in));
        CHECK(cudaMemcpyAsync(device_b + start, b + start, size, cudaMemcpyHostToDevice, in));
        CHECK(cudaEventRecord(there[p], in));

        // nothing makes `work` wait
        add<<<(count + 255) / 256, 256, 0, work>>>(device_a + start, device_b + start,  // <- here
                                                   device_c + start, count);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(c + start, device_c + start, size, cudaMemcpyDeviceToHost, work));
    }
    CHECK(cudaStreamSynchronize(work));

    write_floats(argv[4], c, n);
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));
    CHECK(cudaFreeHost(a));
    CHECK(cudaFreeHost(b));
    CHECK(cudaFreeHost(c));
    return 0;
}
