// grid: ceil(n/250)
// block: 250
//
// A whole program: the kernel with the host code that a beginner compiles it with.

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                              \
    do {                                                                         \
        cudaError_t status = (call);                                             \
        if (status != cudaSuccess) {                                             \
            fprintf(stderr, "%s\n", cudaGetErrorString(status));                 \
            exit(EXIT_FAILURE);                                                  \
        }                                                                        \
    } while (0)

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

static void fill(float* v, int n)
{
    for (int i = 0; i < n; ++i) v[i] = rand() / (float)RAND_MAX;
}

int main(void)
{
    const int n = 50000;
    float *a, *b, *c;
    CHECK(cudaMallocManaged(&a, n * sizeof(float)));
    CHECK(cudaMallocManaged(&b, n * sizeof(float)));
    CHECK(cudaMallocManaged(&c, n * sizeof(float)));
    fill(a, n);
    fill(b, n);
    vector_add<<<(n + 249) / 250, 250>>>(a, b, c, n);
    CHECK(cudaDeviceSynchronize());
    printf("%f\n", c[n - 1]);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return 0;
}
