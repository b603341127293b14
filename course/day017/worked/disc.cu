// disc N: an N x N picture of a quarter of a disc, by subdividing. For each
// pixel of every second row it prints the side of the square that has
// filled it, a dot where the pixel was looked at by itself.

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

constexpr int SMALLEST = 4;

__device__ int asked;  // pixels that were looked at

__device__ bool in_disc(int row, int column, int n)
{
    atomicAdd(&asked, 1);
    const int y = 2 * row + 1, x = 2 * column + 1;
    return 25 * (x * x + y * y) < 64 * n * n;  // a radius of 0.8 n
}

// Whether the rim of a square lies on one side of the disc's edge.
__device__ bool same_rim(int row, int column, int side, int n)
{
    const bool first = in_disc(row, column, n);
    bool same = true;
    for (int k = 0; k < side; ++k) {
        same = same && in_disc(row, column + k, n) == first
            && in_disc(row + side - 1, column + k, n) == first
            && in_disc(row + k, column, n) == first
            && in_disc(row + k, column + side - 1, n) == first;
    }
    return same;
}

// One thread for each square; block (x, y) has the one that many sides on.
__global__ void squares(int* sides, int row, int column, int side, int n)
{
    row += blockIdx.y * side, column += blockIdx.x * side;
    const bool same = same_rim(row, column, side, n);
    if (!same && side > SMALLEST) {
        squares<<<dim3(2, 2), 1>>>(sides, row, column, side / 2, n);
        return;
    }
    for (int k = 0; k < side * side; ++k) {
        const int r = row + k / side, c = column + k % side;
        if (!same) in_disc(r, c, n);
        sides[r * n + c] = same ? side : 0;
    }
}

int main(int argc, char** argv)
{
    if (argc != 2) return 2;
    const int n = atoi(argv[1]);
    std::vector<int> sides(n * n);
    int* device_sides;
    CHECK(cudaMalloc(&device_sides, n * n * sizeof(int)));
    squares<<<1, 1>>>(device_sides, 0, 0, n, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(sides.data(), device_sides, n * n * sizeof(int),
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_sides));
    for (int row = 0; row < n; row += 2) {
        for (int column = 0; column < n; ++column) {
            const int side = sides[row * n + column];
            side > 0 ? printf("%2d", side) : printf(" .");
        }
        printf("\n");
    }
    int looks;
    CHECK(cudaMemcpyFromSymbol(&looks, asked, sizeof(int)));
    printf("%d pixels, looked at %d times\n", n * n, looks);
    return 0;
}
