// managed N STRIDE: the host fills N floats, a kernel doubles every
// STRIDE-th of them, the host reads them all.

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

__global__ void twice(float* x, int n, int stride)
{
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
    if (i < n) x[i] *= 2.0f;
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: managed N STRIDE\n");
        return 2;
    }
    const int n = atoi(argv[1]), stride = atoi(argv[2]);
    const int threads = (n + stride - 1) / stride;
    float* x;
    CHECK(cudaMallocManaged(&x, n * sizeof(float)));
    for (int i = 0; i < n; i++)
        x[i] = 1.0f;

    twice<<<(threads + 127) / 128, 128>>>(x, n, stride);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    printf("%.0f\n", sum - n);
    CHECK(cudaFree(x));
    return 0;
}
