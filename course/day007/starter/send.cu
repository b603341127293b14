// send N A B C: c = a + b for N floats each. A and B are files to read, C is the file to write.

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
        fprintf(stderr, "usage: send N A B C\n");
        return 2;
    }
    const int n = atoi(argv[1]);
    const size_t bytes = n * sizeof(float);
    float *a, *b, *c, *device_a, *device_b, *device_c;
    a = (float*)malloc(bytes);
    b = (float*)malloc(bytes);
    c = (float*)malloc(bytes);
    CHECK(cudaMalloc(&device_a, bytes));
    CHECK(cudaMalloc(&device_b, bytes));
    CHECK(cudaMalloc(&device_c, bytes));
    read_floats(argv[2], a, n);
    read_floats(argv[3], b, n);

    // 1. What kind of memory are a, b and c above, and what does a copy engine need? Mind how it is given back.

    // 2. a and b to the device. How many copies does it take?

    // 3. The launch. Was it taken?

    // 4. The result back to the host.

    write_floats(argv[4], c, n);
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));
    free(a);
    free(b);
    free(c);
    return 0;
}
