// 05 vector rows: a lane walks down 4 columns, reads each row once, 16 bytes at a time, and adds it to 2 R + 1 results.
//
// Moves: waiting, and shared memory to none. The filter lies in registers, neighbours' pixels come by shuffle, 2 R of
//   them for 4 pixels, and 2 R + 1 rows are asked for ahead, so that enough is on its way to keep memory busy. Global
//   requests fall to a quarter.
// Mapping: lane l of a warp -> columns 4l ... 4l + 3 of its 128. The 4 warps of a block lie side by side and walk 64
//   rows of a plane. The 4 pixels beyond each end of a warp are loaded by its first and last lane. Filters of 3 and 5;
//   larger ones would fill the registers, and take the window as in 01, 4 pixels a thread.
//
// entry: convolution_vector_rows
// block: 128
// grid: ceil(W/512) ceil(H/64) P

constexpr int THREADS = 128;
constexpr int ROWS = 64;  // rows a warp walks: it reads 2 R more, which its neighbours read as well
constexpr unsigned int ALL = 0xffffffff;

struct Plane {
    const float* pixels;
    int H, W;
    bool vectors;  // rows are 16-byte aligned
};

// Four pixels from `column` on; what lies outside the plane is 0.
__device__ __forceinline__ float4 load4(const Plane& plane, int row, int column)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row < 0 || row >= plane.H || column < 0 || column >= plane.W) return v;
    const float* p = plane.pixels + (size_t)row * plane.W + column;
    if (plane.vectors) return *reinterpret_cast<const float4*>(p);
    v.x = p[0];
    if (column + 1 < plane.W) v.y = p[1];
    if (column + 2 < plane.W) v.z = p[2];
    if (column + 3 < plane.W) v.w = p[3];
    return v;
}

__device__ __forceinline__ void store4(float* p, float4 v, int left, bool vectors)
{
    if (vectors) {
        *reinterpret_cast<float4*>(p) = v;
        return;
    }
    p[0] = v.x;
    if (left > 1) p[1] = v.y;
    if (left > 2) p[2] = v.z;
    if (left > 3) p[3] = v.w;
}

// One row as a lane sees it: its own 4 pixels, and 4 beyond the end of the warp in its first and last lane.
struct Row {
    float4 own, beyond;
};

__device__ __forceinline__ Row load(const Plane& plane, int row, int column, int lane)
{
    Row r;
    r.own = load4(plane, row, column);
    r.beyond = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (lane == 0) r.beyond = load4(plane, row, column - 4);
    if (lane == 31) r.beyond = load4(plane, row, column + 4);
    return r;
}

// The 4 + 2 R pixels that a lane's four windows cover in a row.
template <int R>
__device__ __forceinline__ void spread(float (&v)[4 + 2 * R], const Row& row, int lane)
{
    const float own[4] = {row.own.x, row.own.y, row.own.z, row.own.w};
    const float beyond[4] = {row.beyond.x, row.beyond.y, row.beyond.z, row.beyond.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) v[R + i] = own[i];
#pragma unroll
    for (int i = 0; i < R; ++i) {
        const float left = __shfl_up_sync(ALL, own[4 - R + i], 1), right = __shfl_down_sync(ALL, own[i], 1);
        v[i] = lane == 0 ? beyond[4 - R + i] : left;
        v[R + 4 + i] = lane == 31 ? beyond[i] : right;
    }
}

template <int R>
__device__ __forceinline__ void walk(const Plane& plane, const float* __restrict__ weights, float* out, int column)
{
    constexpr int TAPS = 2 * R + 1;
    const int lane = threadIdx.x % 32;
    const int first_row = blockIdx.y * ROWS, last_row = min(first_row + ROWS, plane.H);  // one past the last
    float filter[TAPS][TAPS];
#pragma unroll
    for (int i = 0; i < TAPS * TAPS; ++i) filter[i / TAPS][i % TAPS] = weights[i];

    Row ahead[TAPS];          // the next rows, on their way
    float sum[TAPS][4] = {};  // results that are not complete; row i of a group of TAPS begins slot (i + R) % TAPS
#pragma unroll
    for (int i = 0; i < TAPS; ++i) ahead[i] = load(plane, first_row - R + i, column, lane);

    for (int start = first_row - R; start < last_row + R; start += TAPS) {
#pragma unroll
        for (int i = 0; i < TAPS; ++i) {
            float v[4 + 2 * R];
            spread<R>(v, ahead[i], lane);
            if (start + TAPS + i < last_row + R) ahead[i] = load(plane, start + TAPS + i, column, lane);
#pragma unroll
            for (int r = 0; r < TAPS; ++r) {  // row start + i is row r of the window R - r below it
                float(&s)[4] = sum[(i + R - r + TAPS) % TAPS];
#pragma unroll
                for (int c = 0; c < TAPS; ++c) {
#pragma unroll
                    for (int j = 0; j < 4; ++j) s[j] += filter[r][c] * v[j + c];
                }
            }
            float(&done)[4] = sum[(i + R + 1) % TAPS];
            const int row = start + i - R;
            if (row >= first_row && row < last_row && column < plane.W) {
                const float4 result = make_float4(done[0], done[1], done[2], done[3]);
                store4(out + (size_t)row * plane.W + column, result, plane.W - column, plane.vectors);
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) done[j] = 0.0f;
        }
    }
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
        if (column < plane.W) {
            store4(out + (size_t)row * plane.W + column, make_float4(sum[0], sum[1], sum[2], sum[3]),
                   plane.W - column, plane.vectors);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
convolution_vector_rows(const float* __restrict__ image, const float* __restrict__ weights,
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
