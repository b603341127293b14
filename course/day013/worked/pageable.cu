// pageable COUNT STREAMS: doubles 1,048,576 floats, in so many pieces,
// which take turns on so many streams.

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

__global__ void twice(float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: pageable COUNT STREAMS\n");
        return 2;
    }
    const int n = 1 << 20;
    const int count = atoi(argv[1]), streams = atoi(argv[2]);
    float *x, *device_x;
    x = (float*)malloc(n * sizeof(float));
    CHECK(cudaMalloc(&device_x, n * sizeof(float)));
    for (int i = 0; i < n; i++)
        x[i] = i % 1000;

    cudaStream_t stream[8];
    for (int k = 0; k < streams; k++)
        CHECK(cudaStreamCreate(&stream[k]));

    const int part = n / count;
    const size_t bytes = part * sizeof(float);
    for (int p = 0; p < count; p++) {
        cudaStream_t s = stream[p % streams];
        float *here = x + p * part, *there = device_x + p * part;
        CHECK(cudaMemcpyAsync(there, here, bytes,
                              cudaMemcpyHostToDevice, s));
        twice<<<(part + 255) / 256, 256, 0, s>>>(there, part);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(here, there, bytes,
                              cudaMemcpyDeviceToHost, s));
    }
    CHECK(cudaDeviceSynchronize());

    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += x[i] != 2.0f * (i % 1000);
    printf("%d wrong\n", wrong);
    CHECK(cudaFree(device_x));
    free(x);
    return wrong != 0;
}
