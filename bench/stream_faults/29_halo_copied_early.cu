// Fault: the copy of the last row in a second stream does not wait for the kernel that computes the row.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(call) \
    do { \
        cudaError_t status = (call); \
        if (status != cudaSuccess) { \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
            return 1; \
        } \
    } while (0)

const int N = 1 << 14;

const int W = 128;

__global__ void step(const float* in, float* out) {
    int x = threadIdx.x, y = blockIdx.x;
    float up = y > 0 ? in[(y - 1) * W + x] : 0, down = y < W - 1 ? in[(y + 1) * W + x] : 0;
    out[y * W + x] = in[y * W + x] + up + down;
}

int main() {
    float *in, *out, *row;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaMalloc(&in, N * sizeof(float)));
    CHECK(cudaMalloc(&out, N * sizeof(float)));
    CHECK(cudaMallocHost(&row, W * sizeof(float)));
    CHECK(cudaMemset(in, 0, N * sizeof(float)));
    CHECK(cudaMemset(out, 0xff, N * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    step<<<W, W, 0, first>>>(in, out);
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaMemcpy2DAsync(row, W * 4, out + (W - 1) * W, W * 4, W * 4, 1, cudaMemcpyDeviceToHost, second));
    CHECK(cudaDeviceSynchronize());
    float value = row[W - 1];
    printf("%g\n", value);
    CHECK(cudaFreeHost(row));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 0;
}
