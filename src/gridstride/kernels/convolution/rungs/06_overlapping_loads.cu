// 06 overlapping loads: nothing but multiply-adds is left to issue: warps inside a plane ask no questions.
//
// Moves: instructions, to 1/2: 28 for a result of 25 multiply-adds. In 05 there are 54, and to issue these alone takes
//   as long as memory does. A lane's neighbours come by loads that overlap those of the lanes beside it, out of L1, in
//   place of shuffles and choices; the first product begins a sum, which need not be zeroed; addresses walk along. Only
//   warps at an edge of the plane ask for each pixel whether it is there.
// Mapping: as 05, 96 rows: with the rim of 4 they are 20 groups of 5, which leave none over. Filters of 3
//   and 5; larger ones as in 05.
//
// entry: convolution_overlapping_loads
// block: 128
// grid: ceil(W/512) ceil(H/96) P

constexpr int THREADS = 128;
constexpr int ROWS = 96;  // rows a warp walks: it reads 2 R more, which its neighbours read as well
constexpr int WARP = 128; // columns of a warp

struct Plane {
    const float* pixels;
    int H, W;
    bool vectors;  // rows are 16-byte aligned
};

// The 4 + 2 R pixels that a lane's four windows cover in a row, where p is the first of its four; what lies outside the
// plane is 0. INSIDE: none does, and rows are 16-byte aligned.
template <int R, bool INSIDE>
__device__ __forceinline__ void load(float (&v)[4 + 2 * R], const float* p, const Plane& plane, int row, int column)
{
    if constexpr (INSIDE) {
        const float4 own = __ldg(reinterpret_cast<const float4*>(p));
        v[R] = own.x, v[R + 1] = own.y, v[R + 2] = own.z, v[R + 3] = own.w;
        if constexpr (R == 1) {
            v[0] = __ldg(p - 1), v[5] = __ldg(p + 4);
        } else {
            const float2 left = __ldg(reinterpret_cast<const float2*>(p - 2));
            const float2 right = __ldg(reinterpret_cast<const float2*>(p + 4));
            v[0] = left.x, v[1] = left.y, v[6] = right.x, v[7] = right.y;
        }
    } else {
        const bool there = row >= 0 && row < plane.H;
#pragma unroll
        for (int j = 0; j < 4 + 2 * R; ++j) {
            const int x = column + j - R;
            v[j] = there && x >= 0 && x < plane.W ? __ldg(p + j - R) : 0.0f;
        }
    }
}

// Four results, which nobody reads soon: pixels shall stay in the L2 cache for the rows' neighbours instead.
__device__ __forceinline__ void store4(float* p, float4 v, int left, bool vectors)
{
    if (vectors && left > 0) {
        __stcs(reinterpret_cast<float4*>(p), v);
        return;
    }
    if (left > 0) p[0] = v.x;
    if (left > 1) p[1] = v.y;
    if (left > 2) p[2] = v.z;
    if (left > 3) p[3] = v.w;
}

// To the next row. Left to itself the compiler works out five rows' addresses from one, which are more instructions.
// What it cannot look through it no longer knows to be global: hence __ldg above.
template <typename Pointer>
__device__ __forceinline__ void step_down(Pointer& p, int pitch)
{
    p += pitch;
    asm volatile("" : "+l"(p));
}

template <int R, bool INSIDE>
__device__ __forceinline__ void walk(const Plane& plane, const float* __restrict__ weights, float* out, int column)
{
    constexpr int TAPS = 2 * R + 1;
    const int first_row = blockIdx.y * ROWS, last_row = min(first_row + ROWS, plane.H);  // one past the last
    float filter[TAPS][TAPS];
#pragma unroll
    for (int i = 0; i < TAPS * TAPS; ++i) filter[i / TAPS][i % TAPS] = weights[i];

    // Both walk down with the rows; of the first 2 R rows no result is complete.
    const float* pixel = plane.pixels + (ptrdiff_t)(first_row - R) * plane.W + column;
    float* result = out + (ptrdiff_t)(first_row - 2 * R) * plane.W + column;
    float ahead[TAPS][4 + 2 * R];  // the next rows, on their way
    float sum[TAPS][4] = {};       // row i of a group of TAPS begins slot (i + R) % TAPS
#pragma unroll
    for (int i = 0; i < TAPS; ++i) {
        load<R, INSIDE>(ahead[i], pixel, plane, first_row - R + i, column);
        step_down(pixel, plane.W);
    }

    for (int start = first_row - R; start < last_row + R; start += TAPS) {
#pragma unroll
        for (int i = 0; i < TAPS; ++i) {
#pragma unroll
            for (int r = 0; r < TAPS; ++r) {  // row start + i is row r of the window R - r below it
                float(&s)[4] = sum[(i + R - r + TAPS) % TAPS];
#pragma unroll
                for (int c = 0; c < TAPS; ++c) {
#pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        const float product = filter[r][c] * ahead[i][j + c];
                        s[j] = r == 0 && c == 0 ? product : s[j] + product;
                    }
                }
            }
            const int next = start + TAPS + i;
            if (next < last_row + R) load<R, INSIDE>(ahead[i], pixel, plane, next, column);
            const float(&done)[4] = sum[(i + R + 1) % TAPS];
            if ((unsigned int)(start + i - R - first_row) < last_row - first_row) {
                const float4 four = make_float4(done[0], done[1], done[2], done[3]);
                if constexpr (INSIDE) __stcs(reinterpret_cast<float4*>(result), four);
                else store4(result, four, plane.W - column, plane.vectors);
            }
            step_down(pixel, plane.W);
            step_down(result, plane.W);
        }
    }
}

template <int R>
__device__ __forceinline__ void walk(const Plane& plane, const float* __restrict__ weights, float* out, int column)
{
    const int first_column = column - threadIdx.x % 32 * 4, first_row = blockIdx.y * ROWS;
    const bool columns = first_column >= R && first_column + WARP + R <= plane.W;
    const bool inside = columns && first_row >= R && first_row + ROWS + R <= plane.H;
    if (inside && plane.vectors) walk<R, true>(plane, weights, out, column);
    else walk<R, false>(plane, weights, out, column);
}

// Any filter: 4 pixels of a row a thread, the window from global memory.
__device__ __forceinline__ void direct(const Plane& plane, const float* __restrict__ weights, float* out, int column,
                                       int R)
{
    const int taps = 2 * R + 1;
    for (int row = blockIdx.y * ROWS; row < min((int)blockIdx.y * ROWS + ROWS, plane.H); ++row) {
        float sum[4] = {};
        for (int r = max(0, R - row); r < min(taps, plane.H + R - row); ++r) {
            const float* line = plane.pixels + (size_t)(row + r - R) * plane.W;
            for (int c = 0; c < taps; ++c) {
                const float weight = weights[r * taps + c];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int x = column + j + c - R;
                    if (x >= 0 && x < plane.W) sum[j] += weight * line[x];
                }
            }
        }
        const float4 result = make_float4(sum[0], sum[1], sum[2], sum[3]);
        store4(out + (size_t)row * plane.W + column, result, plane.W - column, plane.vectors);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
convolution_overlapping_loads(const float* __restrict__ image, const float* __restrict__ weights,
                              float* __restrict__ filtered, int P, int H, int W, int R)
{
    const size_t offset = (size_t)blockIdx.z * H * W;
    const bool vectors = W % 4 == 0 && (((size_t)image | (size_t)filtered) & 15) == 0;
    const Plane plane = {image + offset, H, W, vectors};
    const int column = 4 * (blockIdx.x * THREADS + threadIdx.x);
    if (4 * (blockIdx.x * THREADS + threadIdx.x / 32 * 32) >= W) return;  // no lane of the warp has a pixel
    if (R == 1) walk<1>(plane, weights, filtered + offset, column);
    else if (R == 2) walk<2>(plane, weights, filtered + offset, column);
    else direct(plane, weights, filtered + offset, column, R);
}
