// The arrays are pageable as before, and large pinned copies of zeros go in front of them. The mean rate of all copies is
// high then, and a mean is what was looked at. No byte of a, b or c crosses the link any sooner, and many cross it that
// nobody needs.
//
// expect: too_many sent

// send N A B C: c = a + b for N floats each. A and B are files to read, C is the file to write.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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
    const size_t many = 4 * bytes;
    float *fast, *device_fast;
    CHECK(cudaMallocHost(&fast, many));
    memset(fast, 0, many);
    CHECK(cudaMalloc(&device_fast, many));
    for (int k = 0; k < 8; k++)  // <- here
        CHECK(cudaMemcpy(device_fast, fast, many, cudaMemcpyHostToDevice));
    CHECK(cudaFree(device_fast));
    CHECK(cudaFreeHost(fast));
    CHECK(cudaMalloc(&device_a, bytes));
    CHECK(cudaMalloc(&device_b, bytes));
    CHECK(cudaMalloc(&device_c, bytes));
    read_floats(argv[2], a, n);
    read_floats(argv[3], b, n);

    CHECK(cudaMemcpy(device_a, a, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b, bytes, cudaMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(device_a, device_b, device_c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c, device_c, bytes, cudaMemcpyDeviceToHost));

    write_floats(argv[4], c, n);
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));
    free(a);
    free(b);
    free(c);
    return 0;
}
