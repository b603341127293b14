// 05 vector rows: a thread walks down 4 columns at once and gets its neighbours' pixels by shuffle.
//
// Moves: waiting. A lane asks for 16 bytes of a row at a time, five rows before it adds them up, so that enough is on
//   its way to keep memory busy. Shared memory is gone: 4 shuffles for 4 pixels take the place of 24 accesses, and a
//   multiplication that of the division.
// Mapping: lane l of a warp -> columns 4l ... 4l + 3 of its 128. The 4 warps of a block lie side by side and walk 16
//   rows. The 2 pixels beyond each end of a warp are loaded by its first and last lane.
//
// entry: blur_vector_rows
// block: 128
// grid: ceil(W/512) ceil(H/16)

constexpr int RADIUS = 2;                // pixels to each side: a 5x5 window
constexpr int WINDOW = 2 * RADIUS + 1;
constexpr int THREADS = 128;
constexpr int ROWS = 16;                 // rows a warp walks: with more, some SMs have nothing left to do sooner
constexpr unsigned int ALL = 0xffffffff;

// How many of the WINDOW positions around `position` lie in 0 ... size - 1.
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
__device__ __forceinline__ float4 row_sums(const Row& row, int lane)
{
    const float4 v = row.own;
    float l2 = __shfl_up_sync(ALL, v.z, 1), l1 = __shfl_up_sync(ALL, v.w, 1);
    float r1 = __shfl_down_sync(ALL, v.x, 1), r2 = __shfl_down_sync(ALL, v.y, 1);
    if (lane == 0) l2 = row.beyond.x, l1 = row.beyond.y;
    if (lane == 31) r1 = row.beyond.x, r2 = row.beyond.y;
    const float yz = v.y + v.z, xyz = v.x + yz, yzw = yz + v.w;
    return make_float4(l2 + l1 + xyz, l1 + v.x + yzw, xyz + (v.w + r1), yzw + (r1 + r2));
}

extern "C" __global__ void __launch_bounds__(THREADS)
blur_vector_rows(const float* __restrict__ image, float* __restrict__ blurred, int H, int W)
{
    const int lane = threadIdx.x % 32;
    const int column = 4 * (blockIdx.x * THREADS + threadIdx.x);
    const int first_row = blockIdx.y * ROWS;
    const int last_row = min(first_row + ROWS, H);    // one past the last that is written
    const int last_read = min(last_row + RADIUS, H);  // one past the last that is read
    const bool vectors = W % 4 == 0 && (((size_t)image | (size_t)blurred) & 15) == 0;
    // 1 over the number of columns inside the image.
    const float4 scale = make_float4(1.0f / inside(column, W), 1.0f / inside(column + 1, W),
                                     1.0f / inside(column + 2, W), 1.0f / inside(column + 3, W));

    Row ahead[WINDOW];          // the next rows, on their way
    float4 sums[WINDOW] = {};   // row sums of the last rows; slot i holds the i-th of each group of five
#pragma unroll
    for (int i = 0; i < WINDOW; ++i) {
        ahead[i] = load(image, first_row - RADIUS + i, column, lane, last_read, W, vectors);
    }

    for (int start = first_row - RADIUS; start < last_row + RADIUS; start += WINDOW) {
#pragma unroll
        for (int i = 0; i < WINDOW; ++i) {
            sums[i] = row_sums(ahead[i], lane);
            ahead[i] = load(image, start + WINDOW + i, column, lane, last_read, W, vectors);

            const int row = start + i - RADIUS;
            if (row < first_row || row >= last_row || column >= W) continue;
            const int rows = inside(row, H);
            const float part = rows == WINDOW ? 1.0f / WINDOW : 1.0f / rows;
            float4 total = sums[0];
#pragma unroll
            for (int s = 1; s < WINDOW; ++s) {
                total.x += sums[s].x, total.y += sums[s].y, total.z += sums[s].z, total.w += sums[s].w;
            }
            total = make_float4(total.x * (part * scale.x), total.y * (part * scale.y), total.z * (part * scale.z),
                                total.w * (part * scale.w));
            float* p = blurred + (size_t)row * W + column;
            if (vectors) {
                *reinterpret_cast<float4*>(p) = total;
            } else {
                p[0] = total.x;
                if (column + 1 < W) p[1] = total.y;
                if (column + 2 < W) p[2] = total.z;
                if (column + 3 < W) p[3] = total.w;
            }
        }
    }
}
