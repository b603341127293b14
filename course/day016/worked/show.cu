// A picture with one bright bar, turned by 18 degrees and drawn with letters.

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

constexpr int H = 12, W = 40;

__global__ void turn(cudaTextureObject_t picture, float* turned)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    const float dx = x - W / 2, dy = y - H / 2;
    const float across = W / 2 + (15 * dx - 5 * dy) / 16;
    const float down = H / 2 + (5 * dx + 15 * dy) / 16;
    turned[y * W + x] = tex2D<float>(picture, across + 0.5f, down + 0.5f);
}

int main()
{
    std::vector<float> image(H * W);
    for (int x = 8; x < 32; ++x) image[6 * W + x] = 1.0f;

    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, W, H));
    const size_t pitch = W * sizeof(float);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), pitch, pitch, H,
                              cudaMemcpyHostToDevice));

    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;

    cudaTextureDesc how = {};
    how.addressMode[0] = cudaAddressModeBorder;
    how.addressMode[1] = cudaAddressModeBorder;
    how.filterMode = cudaFilterModeLinear;
    how.readMode = cudaReadModeElementType;

    cudaTextureObject_t picture;
    CHECK(cudaCreateTextureObject(&picture, &what, &how, nullptr));

    float* turned;
    CHECK(cudaMalloc(&turned, H * pitch));
    turn<<<dim3(2, 2), dim3(32, 8)>>>(picture, turned);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(image.data(), turned, H * pitch,
                     cudaMemcpyDeviceToHost));

    for (int y = 0; y < H; ++y) {
        for (int x = 0; x < W; ++x) {
            putchar(" .:+#"[(int)(4 * image[y * W + x] + 0.5f)]);
        }
        putchar('\n');
    }
    CHECK(cudaFree(turned));
    CHECK(cudaDestroyTextureObject(picture));
    CHECK(cudaFreeArray(array));
    return 0;
}
