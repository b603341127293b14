// 16 by 16 blocks of 16 by 16 threads cover every picture that was tried, and the guard sends away who has no pixel. So the
// small ones are right. A picture of more than 256 pixels across or down is turned up to there. What lies beyond is never
// written.
//
// expect: wrong_result

// turn H W R IMAGE WEIGHTS TURNED: the picture turned by 18 degrees, and blurred along its rows by 2 R + 1 weights.
// Weights from constant memory, pixels through a texture.

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

std::vector<float> read_floats(const char* path, size_t n)
{
    std::vector<float> x(n);
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x.data(), sizeof(float), n, file) != n) {
        fprintf(stderr, "%s does not hold %zu floats\n", path, n);
        exit(2);
    }
    fclose(file);
    return x;
}

void write_floats(const char* path, const std::vector<float>& x)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x.data(), sizeof(float), x.size(), file) != x.size()) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

constexpr int MOST = 31;  // weights, for R up to 15

__constant__ float weights[MOST];

__global__ void turn(cudaTextureObject_t picture, float* turned, int H, int W, int R)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    for (int k = -R; k <= R; ++k) {
        const float dx = x + k - W / 2, dy = y - H / 2;
        const float across = W / 2 + (15 * dx - 5 * dy) / 16;
        const float down = H / 2 + (5 * dx + 15 * dy) / 16;
        sum += weights[k + R] * tex2D<float>(picture, across + 0.5f, down + 0.5f);
    }
    turned[(size_t)y * W + x] = sum;
}

int main(int argc, char** argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: turn H W R IMAGE WEIGHTS TURNED\n");
        return 2;
    }
    const int H = atoi(argv[1]), W = atoi(argv[2]), R = atoi(argv[3]), taps = 2 * R + 1;
    if (taps > MOST) {
        fprintf(stderr, "R is %d, 15 at most\n", R);
        return 2;
    }
    std::vector<float> image = read_floats(argv[4], (size_t)H * W);
    const std::vector<float> given = read_floats(argv[5], taps);

    CHECK(cudaMemcpyToSymbol(weights, given.data(), taps * sizeof(float)));

    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, W, H));
    const size_t pitch = W * sizeof(float);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), pitch, pitch, H, cudaMemcpyHostToDevice));

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
    const dim3 block(16, 16), grid(16, 16);  // <- here
    turn<<<grid, block>>>(picture, turned, H, W, R);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(image.data(), turned, H * pitch, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(turned));
    CHECK(cudaDestroyTextureObject(picture));
    CHECK(cudaFreeArray(array));
    write_floats(argv[6], image);
    return 0;
}
