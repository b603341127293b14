// One thread for each pixel, nothing launched from the device. The picture is right, but for a pixel here or there. On many
// pictures it is also faster, which the lesson says itself; what the lab asks for is not in it.
//
// expect: too_few children

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

constexpr int MOST = 64;     // rounds for a pixel
constexpr int LARGEST = 64;  // pixels: the side of a square that the host launches
constexpr int SMALLEST = 8;  // pixels: squares of this side are not divided
constexpr int THREADS = 64;  // of a block, which has one square

struct Picture {
    double left, top, step;
    int columns;
};

// The rounds until z = z * z + c has left the circle of radius 2.
__device__ int count(const Picture p, int row, int column)
{
    const double cx = __dadd_rn(p.left, __dmul_rn(p.step, column));
    const double cy = __dadd_rn(p.top, __dmul_rn(p.step, row));
    double x = 0, y = 0;
    for (int k = 0; k < MOST; ++k) {
        const double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y);
        if (__dadd_rn(xx, yy) > 4) return k;
        y = __dadd_rn(__dmul_rn(2, __dmul_rn(x, y)), cy);
        x = __dadd_rn(__dsub_rn(xx, yy), cx);
    }
    return MOST;
}

__global__ void pixels(const Picture p, int* counts)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    counts[k] = count(p, k / p.columns, k % p.columns);
}

void write_ints(const char* path, const std::vector<int>& x)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr
        || fwrite(x.data(), sizeof(int), x.size(), file) != x.size()) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

int main(int argc, char** argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: mandelbrot ACROSS DOWN LEFT TOP STEP COUNTS\n");
        return 2;
    }
    const int across = atoi(argv[1]), down = atoi(argv[2]);
    const Picture picture = {atof(argv[3]), atof(argv[4]), atof(argv[5]),
                             LARGEST * across};
    std::vector<int> counts(LARGEST * across * LARGEST * down);
    const size_t bytes = counts.size() * sizeof(int);

    int* device_counts;
    CHECK(cudaMalloc(&device_counts, bytes));
    pixels<<<counts.size() / THREADS, THREADS>>>(picture, device_counts);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(counts.data(), device_counts, bytes,
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_counts));

    write_ints(argv[6], counts);
    return 0;
}
