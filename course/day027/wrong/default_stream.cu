// The handle was never told of the stream, so its product goes to the default stream. The program's stream does not wait
// for that one, nor that one for it. The product may begin before the bias is there, and be copied before it is done.
//
// expect: stream_race

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

    cublasHandle_t handle;
    BLAS(cublasCreate(&handle));

    const float alpha = 1.0f, beta = 1.0f;
    BLAS(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, N, M, K, &alpha, device_w, K, device_x, K,  // <- here
                     &beta, device_y, N));

    CHECK(cudaMemcpyAsync(y.data(), device_y, y.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));

    BLAS(cublasDestroy(handle));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_w));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_y));

    write_floats(argv[7], y);
    return 0;
}
