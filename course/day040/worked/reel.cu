// reel FRAMES STREAMS RADIUS: so many frames of 512 by 512 pixels
// through a filter, which take turns on so many streams.

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

constexpr int N = 512, MOST = 8, SIDE = 2 * MOST + 1;

__constant__ float weights[SIDE * SIDE];

__global__ void filter(const float* frame, float* filtered, int R)
{
    const int x = blockIdx.x * 32 + threadIdx.x;
    const int y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0.0f;
    for (int r = -R; r <= R; ++r) {
        for (int c = -R; c <= R; ++c) {
            const bool inside = y + r >= 0 && y + r < N && x + c >= 0
                                && x + c < N;
            const float w = weights[(r + R) * (2 * R + 1) + c + R];
            if (inside) sum += w * frame[(y + r) * N + x + c];
        }
    }
    filtered[y * N + x] = sum;
}

int main(int argc, char** argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: reel FRAMES STREAMS RADIUS\n");
        return 2;
    }
    const int frames = atoi(argv[1]), streams = atoi(argv[2]);
    const int R = atoi(argv[3]);
    const size_t bytes = N * N * sizeof(float);
    float ones[SIDE * SIDE], *film, *filtered;
    for (float& one : ones)
        one = 1.0f;
    CHECK(cudaMallocHost(&film, frames * bytes));
    CHECK(cudaMallocHost(&filtered, frames * bytes));
    for (int i = 0; i < frames * N * N; ++i)
        film[i] = i % 5;

    cudaStream_t stream[8];
    float *before[8], *after[8];
    for (int k = 0; k < streams; ++k) {
        CHECK(cudaStreamCreate(&stream[k]));
        CHECK(cudaMalloc(&before[k], bytes));
        CHECK(cudaMalloc(&after[k], bytes));
    }
    CHECK(cudaMemcpyToSymbol(weights, ones, sizeof ones));
    const dim3 grid(N / 32, N / 8), block(32, 8);
    for (int p = 0; p < frames; ++p) {
        const int k = p % streams;
        CHECK(cudaMemcpyAsync(before[k], film + p * N * N, bytes,
                              cudaMemcpyHostToDevice, stream[k]));
        filter<<<grid, block, 0, stream[k]>>>(before[k], after[k], R);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(filtered + p * N * N, after[k], bytes,
                              cudaMemcpyDeviceToHost, stream[k]));
    }
    CHECK(cudaDeviceSynchronize());
    printf("%d frames\n", frames);

    for (int k = 0; k < streams; ++k) {
        CHECK(cudaFree(before[k]));
        CHECK(cudaFree(after[k]));
        CHECK(cudaStreamDestroy(stream[k]));
    }
    CHECK(cudaFreeHost(film));
    CHECK(cudaFreeHost(filtered));
    return 0;
}
