// cudaMalloc has become cudaMallocManaged, and all else has stayed. It works. A managed address is good on the device.
// But every array is there twice, and the copies move what would have come by itself.
//
// expect: too_many copies

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
    float* a = (float*)malloc(bytes);
    float* b = (float*)malloc(bytes);
    float* c = (float*)malloc(bytes);
    float *device_a, *device_b, *device_c;
    CHECK(cudaMallocManaged(&device_a, bytes));
    CHECK(cudaMallocManaged(&device_b, bytes));
    CHECK(cudaMallocManaged(&device_c, bytes));
    read_floats(argv[2], a, n);
    read_floats(argv[3], b, n);

    CHECK(cudaMemcpy(device_a, a, bytes, cudaMemcpyHostToDevice));  // <- here
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
