// right N COUNT: times COUNT launches over N floats.

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

__global__ void more(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1.0f;
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: right N COUNT\n");
        return 2;
    }
    const int n = atoi(argv[1]), count = atoi(argv[2]);
    const size_t bytes = n * sizeof(float);
    const int blocks = (n + 255) / 256;
    float *x, *device_x, *device_y;
    CHECK(cudaMallocHost(&x, bytes));
    CHECK(cudaMalloc(&device_x, bytes));
    CHECK(cudaMalloc(&device_y, bytes));
    for (int i = 0; i < n; i++)
        x[i] = i;
    CHECK(cudaMemcpy(device_x, x, bytes, cudaMemcpyHostToDevice));

    cudaStream_t work;
    CHECK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));

    more<<<blocks, 256, 0, work>>>(device_x, device_y, n);
    CHECK(cudaGetLastError());

    CHECK(cudaEventRecord(start, work));
    for (int k = 0; k < count; k++) {
        more<<<blocks, 256, 0, work>>>(device_x, device_y, n);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaEventRecord(stop, work));

    CHECK(cudaEventSynchronize(stop));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    printf("%.2f us for each launch\n", 1000 * ms / count);

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_y));
    CHECK(cudaFreeHost(x));
    return 0;
}
