// Pixels by pointer. The picture lies in global memory, the four pixels are fetched and weighted by hand, with four questions
// whether they are inside. It is right, and it is the kernel that a texture was to replace.
//
// expect: too_few fetches

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

__device__ float pixel(const float* image, int row, int column, int H, int W)
{
    return row >= 0 && row < H && column >= 0 && column < W ? image[(size_t)row * W + column] : 0.0f;
}

__global__ void turn(const float* image, float* turned, int H, int W, int R)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    float sum = 0.0f;
    for (int k = -R; k <= R; ++k) {
        const float dx = x + k - W / 2, dy = y - H / 2;
        const float across = W / 2 + (15 * dx - 5 * dy) / 16;
        const float down = H / 2 + (5 * dx + 15 * dy) / 16;
        const int left = floorf(across), top = floorf(down);
        const float right = across - left, low = down - top;
        const float upper = (1 - right) * pixel(image, top, left, H, W) + right * pixel(image, top, left + 1, H, W);
        const float lower = (1 - right) * pixel(image, top + 1, left, H, W) + right * pixel(image, top + 1, left + 1, H, W);
        sum += weights[k + R] * ((1 - low) * upper + low * lower);
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

    const size_t pitch = W * sizeof(float);
    float* picture;
    CHECK(cudaMalloc(&picture, H * pitch));
    CHECK(cudaMemcpy(picture, image.data(), H * pitch, cudaMemcpyHostToDevice));

    float* turned;
    CHECK(cudaMalloc(&turned, H * pitch));
    const dim3 block(16, 16), grid((W + 15) / 16, (H + 15) / 16);
    turn<<<grid, block>>>(picture, turned, H, W, R);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(image.data(), turned, H * pitch, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(turned));
    CHECK(cudaFree(picture));
    write_floats(argv[6], image);
    return 0;
}
