// A thread for each element of Y, as on day 4, and no library. It is right, and W need not be transposed for anybody. But
// each element of X and W is asked for again by every warp that needs it.
//
// expect: too_many sectors

#include <cublas_v2.h>

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

#define BLAS(call)                                                   \
    do {                                                             \
        const cublasStatus_t status = (call);                        \
        if (status != CUBLAS_STATUS_SUCCESS) {                       \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cublasGetStatusName(status));                    \
            exit(1);                                                 \
        }                                                            \
    } while (0)

std::vector<float> read_floats(const char* path, size_t n)
{
    std::vector<float> x(n);
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x.data(), sizeof(float), n, file) != n) {
        fprintf(stderr, "%s does not hold %zu floats\n", path, n);
        exit(2);
    }
    fclose(file);
    return x;
}

void write_floats(const char* path, const std::vector<float>& x)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x.data(), sizeof(float), x.size(), file) != x.size()) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

// Every row of y becomes b.
__global__ void bias(const float* b, float* y, int rows, int columns)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j < columns) y[(size_t)i * columns + j] = b[j];
}

__global__ void product(const float* x, const float* w, float* y, int rows, int columns, int depth)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= columns) return;
    float sum = y[(size_t)i * columns + j];
    for (int k = 0; k < depth; k++) {
        sum += x[(size_t)i * depth + k] * w[(size_t)j * depth + k];  // <- here
    }
    y[(size_t)i * columns + j] = sum;
}

int main(int argc, char** argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: layer M N K X W B Y\n");
        return 2;
    }
    const int M = atoi(argv[1]), N = atoi(argv[2]), K = atoi(argv[3]);
    const std::vector<float> x = read_floats(argv[4], (size_t)M * K), w = read_floats(argv[5], (size_t)N * K);
    const std::vector<float> b = read_floats(argv[6], N);
    std::vector<float> y((size_t)M * N);

    float *device_x, *device_w, *device_b, *device_y;
    CHECK(cudaMalloc(&device_x, x.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_w, w.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_b, b.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_y, y.size() * sizeof(float)));

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemcpyAsync(device_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(device_w, w.data(), w.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(device_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
    bias<<<dim3((N + 127) / 128, M), 128, 0, stream>>>(device_b, device_y, M, N);
    CHECK(cudaGetLastError());

    product<<<dim3((N + 127) / 128, M), 128, 0, stream>>>(device_x, device_w, device_y, M, N, K);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpyAsync(y.data(), device_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_w));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_y));

    write_floats(argv[7], y);
    return 0;
}
