// As scale.cu, and nobody looks at what the calls give back.

#include <cstdio>
#include <cstdlib>

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
    cudaMalloc(&device_x, bytes);
    cudaMemcpy(device_x, x, bytes, cudaMemcpyHostToDevice);

    const int threads = 256, blocks = (n + threads - 1) / threads;
    scale<<<blocks, threads>>>(device_x, factor, n);

    cudaMemcpy(x, device_x, bytes, cudaMemcpyDeviceToHost);
    cudaFree(device_x);

    printf("%g\n", x[n - 1]);
    free(x);
    return 0;
}
