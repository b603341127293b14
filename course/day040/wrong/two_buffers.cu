// Three streams share two pairs of buffers, to save memory. Frames 0 and 2 have the same buffer. Their
// streams differ. Nothing says that frame 2 may come in only when frame 0 has gone out.
//
// expect: stream_race

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

void read_floats(const char* path, float* x, size_t n)
{
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x, sizeof(float), n, file) != n) {
        fprintf(stderr, "%s does not hold %zu floats\n", path, n);
        exit(2);
    }
    fclose(file);
}

void write_floats(const char* path, const float* x, size_t n)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x, sizeof(float), n, file) != n) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

constexpr int MOST = 5;              // the largest R
constexpr int SIDE = 2 * MOST + 1;   // weights along a side, for that R
constexpr int WIDE = 32, TALL = 16;  // pixels of a block

__constant__ float weights[SIDE * SIDE];

__global__ void filter(const float* frame, float* filtered, int H, int W, int R)
{
    __shared__ float tile[TALL + 2 * MOST][WIDE + 2 * MOST];
    const int top = blockIdx.y * TALL - R, left = blockIdx.x * WIDE - R;
    for (int r = threadIdx.y; r < TALL + 2 * R; r += TALL) {
        for (int c = threadIdx.x; c < WIDE + 2 * R; c += WIDE) {
            const int y = top + r, x = left + c;
            const bool inside = y >= 0 && y < H && x >= 0 && x < W;
            tile[r][c] = inside ? frame[(size_t)y * W + x] : 0.0f;
        }
    }
    __syncthreads();

    const int row = blockIdx.y * TALL + threadIdx.y, column = blockIdx.x * WIDE + threadIdx.x;
    if (row >= H || column >= W) return;
    const int taps = 2 * R + 1;
    float sum = 0.0f;
    for (int r = 0; r < taps; ++r) {
        for (int c = 0; c < taps; ++c) sum += weights[r * taps + c] * tile[threadIdx.y + r][threadIdx.x + c];
    }
    filtered[(size_t)row * W + column] = sum;
}

int main(int argc, char** argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: film P H W R IMAGE WEIGHTS FILTERED\n");
        return 2;
    }
    const int P = atoi(argv[1]), H = atoi(argv[2]), W = atoi(argv[3]), R = atoi(argv[4]);
    if (R > MOST) {
        fprintf(stderr, "R is %d, at most %d can be filtered\n", R, MOST);
        return 2;
    }
    const size_t pixels = (size_t)H * W, bytes = pixels * sizeof(float);
    const int taps = 2 * R + 1;
    float given[SIDE * SIDE], *film, *filtered;
    CHECK(cudaMallocHost(&film, P * bytes));
    CHECK(cudaMallocHost(&filtered, P * bytes));
    read_floats(argv[5], film, P * pixels);
    read_floats(argv[6], given, taps * taps);

    constexpr int LANES = 3;  // streams, each with memory for a frame before and after
    cudaStream_t stream[LANES];
    float *before[LANES], *after[LANES];
    for (int k = 0; k < LANES; ++k) {
        CHECK(cudaStreamCreate(&stream[k]));
        CHECK(cudaMalloc(&before[k], bytes));
        CHECK(cudaMalloc(&after[k], bytes));
    }

    CHECK(cudaMemcpyToSymbol(weights, given, taps * taps * sizeof(float)));

    const dim3 block(WIDE, TALL), grid((W + WIDE - 1) / WIDE, (H + TALL - 1) / TALL);
    for (int p = 0; p < P; ++p) {
        const int k = p % LANES, b = p % 2;
        CHECK(cudaMemcpyAsync(before[b], film + p * pixels, bytes, cudaMemcpyHostToDevice, stream[k]));  // <- here
        filter<<<grid, block, 0, stream[k]>>>(before[b], after[b], H, W, R);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(filtered + p * pixels, after[b], bytes, cudaMemcpyDeviceToHost, stream[k]));
    }
    CHECK(cudaDeviceSynchronize());

    write_floats(argv[7], filtered, P * pixels);
    for (int k = 0; k < LANES; ++k) {
        CHECK(cudaFree(before[k]));
        CHECK(cudaFree(after[k]));
        CHECK(cudaStreamDestroy(stream[k]));
    }
    CHECK(cudaFreeHost(film));
    CHECK(cudaFreeHost(filtered));
    return 0;
}
