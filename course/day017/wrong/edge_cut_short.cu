// Four edges of a square share four corners, so one counts 4 * (side - 1) pixels and lets the loop end there. The loop goes
// edge by edge, and each edge has all of its pixels. What is left out are the last four of the right edge.
//
// expect: wrong_result

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

// Whether all pixels on the rim of a square have one count, for all
// threads of the block; `rim` is that count.
__device__ bool same_rim(const Picture p, int row, int column, int side,
                         int* rim)
{
    *rim = count(p, row, column);
    bool same = true;
    for (int k = threadIdx.x; k < 4 * (side - 1); k += blockDim.x) {
        const int edge = k / side, at = k % side, last = side - 1;
        const int r = edge == 0 ? 0 : edge == 1 ? last : at;
        const int c = edge == 2 ? 0 : edge == 3 ? last : at;
        same = same && count(p, row + r, column + c) == *rim;
    }
    return __syncthreads_and(same);
}

// Block (bx, by) has the square of that side whose corner is at
// (row + by * side, column + bx * side).
__global__ void squares(const Picture p, int* counts, int row, int column,
                        int side)
{
    row += blockIdx.y * side, column += blockIdx.x * side;
    int rim;
    const bool same = same_rim(p, row, column, side, &rim);
    if (same || side <= SMALLEST) {
        for (int k = threadIdx.x; k < side * side; k += blockDim.x) {
            const int r = row + k / side, c = column + k % side;
            counts[r * p.columns + c] = same ? rim : count(p, r, c);
        }
    } else if (threadIdx.x == 0) {
        squares<<<dim3(2, 2), THREADS>>>(p, counts, row, column, side / 2);
    }
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
    squares<<<dim3(across, down), THREADS>>>(picture, device_counts, 0, 0,
                                             LARGEST);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(counts.data(), device_counts, bytes,
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_counts));

    write_ints(argv[6], counts);
    return 0;
}
