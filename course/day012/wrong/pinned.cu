// The memory is pinned, and the kernel is given its address. That works without a copy too, so it looks like the same
// thing. But no page moves: each access of the kernel goes over the link, again and again.
//
// expect: too_few managed_allocations

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
        fprintf(stderr, "usage: managed N A B C\n");
        return 2;
    }
    const int n = atoi(argv[1]);
    const size_t bytes = n * sizeof(float);
    float *a, *b, *c;
    CHECK(cudaMallocHost(&a, bytes));  // <- here
    CHECK(cudaMallocHost(&b, bytes));
    CHECK(cudaMallocHost(&c, bytes));
    read_floats(argv[2], a, n);
    read_floats(argv[3], b, n);

    add<<<(n + 255) / 256, 256>>>(a, b, c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    write_floats(argv[4], c, n);
    CHECK(cudaFreeHost(a));
    CHECK(cudaFreeHost(b));
    CHECK(cudaFreeHost(c));
    return 0;
}
