// product WAY N: C = A B, N x N and in rows, by a kernel of our own (own), by the library with A and B swapped
// (library), or by the library as the formula reads, with copies that are transposed before and after (copies).

#include <cublas_v2.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(call)                                                  \
    if (const int code = (call)) {                                   \
        fprintf(stderr, "%s: error %d\n", #call, code);              \
        exit(1);                                                     \
    }

constexpr int TILE = 32;

// A thread for each element.
__global__ void product(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) {
        sum += a[i * n + k] * b[k * n + j];
    }
    c[i * n + j] = sum;
}

// Through a tile of shared memory, so that each sector is read once and written once. Blocks are 32 x 8.
__global__ void transpose(const float* in, float* out, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int r = 0; r < TILE; r += blockDim.y) {
        if (x < n && y + r < n) tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * n + x];
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    for (int r = 0; r < TILE; r += blockDim.y) {
        if (x < n && y + r < n) out[(y + r) * n + x] = tile[threadIdx.x][threadIdx.y + r];
    }
}

void turn(const float* in, float* out, int n)
{
    const int tiles = (n + TILE - 1) / TILE;
    transpose<<<dim3(tiles, tiles), dim3(TILE, 8)>>>(in, out, n);
    CHECK(cudaGetLastError());
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: product own|library|copies N\n");
        return 2;
    }
    const std::string way = argv[1];
    const int n = atoi(argv[2]);
    const size_t bytes = sizeof(float) * n * n;
    std::vector<float> A(n * n), B(n * n), C(n * n);
    for (int i = 0; i < n * n; i++) A[i] = i % 7 - 3, B[i] = i % 5 - 2;  // sums that float32 holds exactly

    float *a, *b, *c, *turned_a, *turned_b, *turned_c;
    for (float** each : {&a, &b, &c, &turned_a, &turned_b, &turned_c}) CHECK(cudaMalloc(each, bytes));
    CHECK(cudaMemcpy(a, A.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, B.data(), bytes, cudaMemcpyHostToDevice));
    cublasHandle_t handle;
    CHECK(cublasCreate(&handle));
    const cublasOperation_t N = CUBLAS_OP_N;
    const float alpha = 1.0f, beta = 0.0f;

    if (way == "own") {
        product<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(a, b, c, n);
        CHECK(cudaGetLastError());
    } else if (way == "library") {
        CHECK(cublasSgemm(handle, N, N, n, n, n, &alpha,
                          b, n, a, n, &beta, c, n));
    } else {
        turn(a, turned_a, n);
        turn(b, turned_b, n);
        CHECK(cublasSgemm(handle, N, N, n, n, n, &alpha,
                          turned_a, n, turned_b, n, &beta, turned_c, n));
        turn(turned_c, c, n);
    }
    CHECK(cudaMemcpy(C.data(), c, bytes, cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int k = 0; k < n; k++) sum += A[i * n + k] * B[k * n + j];
            wrong += sum != C[i * n + j];
        }
    }
    printf("%d wrong of %d\n", wrong, n * n);
    CHECK(cublasDestroy(handle));
    for (float* each : {a, b, c, turned_a, turned_b, turned_c}) CHECK(cudaFree(each));
    return wrong != 0;
}
