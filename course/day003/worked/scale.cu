// scale N FACTOR: multiplies 0, 1, …, N - 1 by FACTOR on the device and prints the last product.

#include <cstdio>
#include <cstdlib>

// Every call of the runtime goes through this: it says where it failed, and ends the program.
#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

__global__ void scale(float* x, float factor, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}

int main(int argc, char** argv)
{
    if (argc != 3) return 2;
    const int n = atoi(argv[1]);
    const float factor = atof(argv[2]);
    const size_t bytes = n * sizeof(float);

    float* x = (float*)malloc(bytes);
    for (int i = 0; i < n; ++i) {
        x[i] = i;
    }

    float* device_x;
    CHECK(cudaMalloc(&device_x, bytes));
    CHECK(cudaMemcpy(device_x, x, bytes, cudaMemcpyHostToDevice));

    const int threads = 256, blocks = (n + threads - 1) / threads;
    scale<<<blocks, threads>>>(device_x, factor, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(x, device_x, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_x));

    printf("%g\n", x[n - 1]);
    free(x);
    return 0;
}
