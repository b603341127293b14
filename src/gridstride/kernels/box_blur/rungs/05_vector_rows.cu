// 05 vector rows: a thread walks down 4 columns at once and gets its neighbours' pixels by shuffle.
//
// Moves: waiting. A lane asks for 16 bytes of a row at a time, four rows ahead of the one it adds up, so that enough is
//   on its way to keep memory busy. Shared memory is gone: 4 shuffles for 4 pixels take the place of 24 accesses, and
//   a multiplication that of the division.
// Mapping: lane l of a warp -> columns 4l ... 4l + 3 of its 128. The 4 warps of a block lie side by side and walk 32 rows.
//   The 2 pixels beyond each end of a warp are loaded by its first and last lane.
//
// entry: blur_vector_rows
// block: 128
// grid: ceil(W/512) ceil(H/32)

constexpr int RADIUS = 2;              // pixels to each side: a 5x5 window
constexpr int THREADS = 128;
constexpr int ROWS = 32;               // rows a warp walks
constexpr int AHEAD = 4;               // rows that are loaded together
constexpr unsigned int ALL = 0xffffffff;

// How many of the 2 * RADIUS + 1 positions around `position` lie in 0 ... size - 1.
__device__ __forceinline__ int inside(int position, int size)
{
    return min(position + RADIUS, size - 1) - max(position - RADIUS, 0) + 1;
}

// One row as a lane sees it: its own 4 pixels, and 2 beyond the end of the warp in its first and last lane.
struct Row {
    float4 own;
    float2 beyond;
};

// What lies outside the image is 0. `vectors`: rows are 16-byte aligned.
__device__ __forceinline__ Row load(const float* image, int row, int column, int lane, int H, int W, bool vectors)
{
    Row r = {make_float4(0.0f, 0.0f, 0.0f, 0.0f), make_float2(0.0f, 0.0f)};
    if (row < 0 || row >= H) return r;
    const float* p = image + (size_t)row * W;
    if (vectors) {
        if (column < W) r.own = *reinterpret_cast<const float4*>(p + column);
    } else {
        if (column < W) r.own.x = p[column];
        if (column + 1 < W) r.own.y = p[column + 1];
        if (column + 2 < W) r.own.z = p[column + 2];
        if (column + 3 < W) r.own.w = p[column + 3];
    }
    if (lane == 0 || lane == 31) {
        const int c = lane == 0 ? column - 2 : column + 4;
        if (c >= 0 && c < W) r.beyond.x = p[c];
        if (c >= 0 && c + 1 < W) r.beyond.y = p[c + 1];
    }
    return r;
}

// Sums of 5 along the row, around each of the lane's 4 pixels.
__device__ __forceinline__ float4 row_sums(const Row& r, int lane)
{
    const float4 v = r.own;
    float l2 = __shfl_up_sync(ALL, v.z, 1), l1 = __shfl_up_sync(ALL, v.w, 1);
    float r1 = __shfl_down_sync(ALL, v.x, 1), r2 = __shfl_down_sync(ALL, v.y, 1);
    if (lane == 0) l2 = r.beyond.x, l1 = r.beyond.y;
    if (lane == 31) r1 = r.beyond.x, r2 = r.beyond.y;
    const float yz = v.y + v.z, xyz = v.x + yz, yzw = yz + v.w;
    return make_float4(l2 + l1 + xyz, l1 + v.x + yzw, xyz + (v.w + r1), yzw + (r1 + r2));
}

extern "C" __global__ void __launch_bounds__(THREADS)
blur_vector_rows(const float* __restrict__ image, float* __restrict__ blurred, int H, int W)
{
    const int lane = threadIdx.x % 32;
    const int column = 4 * (blockIdx.x * THREADS + threadIdx.x);
    const int first_row = blockIdx.y * ROWS;
    const int last_row = min(first_row + ROWS, H);  // one past the end
    const bool vectors = W % 4 == 0 && (((size_t)image | (size_t)blurred) & 15) == 0;
    // 1 over the number of columns inside the image.
    const float scale[4] = {1.0f / inside(column, W), 1.0f / inside(column + 1, W), 1.0f / inside(column + 2, W),
                            1.0f / inside(column + 3, W)};

    float4 window[2 * RADIUS + 1] = {};  // row sums of the rows above, oldest first
    Row ahead[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) ahead[i] = load(image, first_row - RADIUS + i, column, lane, H, W, vectors);

    for (int start = first_row - RADIUS; start < last_row + RADIUS; start += AHEAD) {
        Row now[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) now[i] = ahead[i];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) ahead[i] = load(image, start + AHEAD + i, column, lane, last_row + RADIUS < H ? last_row + RADIUS : H, W, vectors);
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
#pragma unroll
            for (int r = 0; r < 2 * RADIUS; ++r) window[r] = window[r + 1];
            window[2 * RADIUS] = row_sums(now[i], lane);

            const int row = start + i - RADIUS;
            if (row < first_row || row >= last_row || column >= W) continue;
            const int rows = inside(row, H);
            const float part = rows == 2 * RADIUS + 1 ? 0.2f : 1.0f / rows;
            float4 sum = window[0];
#pragma unroll
            for (int r = 1; r <= 2 * RADIUS; ++r) {
                sum.x += window[r].x, sum.y += window[r].y, sum.z += window[r].z, sum.w += window[r].w;
            }
            sum = make_float4(sum.x * (part * scale[0]), sum.y * (part * scale[1]), sum.z * (part * scale[2]),
                              sum.w * (part * scale[3]));
            float* p = blurred + (size_t)row * W + column;
            if (vectors) {
                *reinterpret_cast<float4*>(p) = sum;
            } else {
                p[0] = sum.x;
                if (column + 1 < W) p[1] = sum.y;
                if (column + 2 < W) p[2] = sum.z;
                if (column + 3 < W) p[3] = sum.w;
            }
        }
    }
}
