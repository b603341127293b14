// Right: the copy waits for the kernel.
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

__global__ void sample(cudaTextureObject_t texture, float* out) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    out[y * W + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}

int main() {
    float *pinned, *out, value;
    cudaArray_t array;
    cudaTextureObject_t texture;
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    cudaEvent_t ready;
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, W, W));
    CHECK(cudaMallocHost(&pinned, N * sizeof(float)));
    CHECK(cudaMalloc(&out, N * sizeof(float)));
    for (int i = 0; i < N; i++) pinned[i] = 1;
    CHECK(cudaMemcpy2DToArray(array, 0, 0, pinned, W * 4, W * 4, W, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
    cudaTextureDesc how = {};
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    for (int i = 0; i < N; i++) pinned[i] = 2;
    sample<<<dim3(8, 8), dim3(16, 16), 0, first>>>(texture, out);
    CHECK(cudaEventRecord(ready, first));
    CHECK(cudaStreamWaitEvent(second, ready, 0));
    CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, pinned, W * 4, W * 4, W, cudaMemcpyHostToDevice, second));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, out + 70, sizeof(float), cudaMemcpyDeviceToHost));
    printf("%g\n", value);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(out));
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    return value != 1;
}
