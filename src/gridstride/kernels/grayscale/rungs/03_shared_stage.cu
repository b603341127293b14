// 03 shared stage: a warp copies 512 pixels to shared memory in 16-byte reads, then each lane picks 16 of them.
//
// Moves: sectors asked for per 512 pixels, from 144 (each of 48 three times) to 48, and global accesses per pixel, from
//   1 to 1/4. Shared memory takes over the awkward step of 48 bytes between lanes, where it is free: 48 bytes are 3
//   times 16, and 3 shares no factor with the 8 places of 16 bytes that the banks have.
// Mapping: the 8 warps of a block work alone, 512 pixels each. Lane l copies pieces l, l + 32 and l + 64 of 16 bytes,
//   three reads on their way together; then it turns pixels 16l ... 16l + 15 and writes their greys as one 16-byte
//   piece. A warp that reaches past the last pixel goes pixel by pixel.
//
// entry: gray_shared_stage
// block: 256
// grid: ceil(H*W/4096)

constexpr int THREADS = 256;
constexpr int PER_LANE = 16;                  // pixels
constexpr int PIXELS = 32 * PER_LANE;         // per warp
constexpr int PIECES = PIXELS * 3 / 16;       // 16-byte pieces of colour per warp

// Rec. 601 luma, 0.299 R + 0.587 G + 0.114 B, in 1/256 and rounded.
__device__ __forceinline__ unsigned int luma(unsigned int red, unsigned int green, unsigned int blue)
{
    return (77 * red + 150 * green + 29 * blue + 128) >> 8;
}

__device__ __forceinline__ unsigned int byte_of(unsigned int word, int index)
{
    return (word >> (8 * index)) & 255;
}

// The greys of 4 pixels that come as three words: RGBR GBRG BRGB.
__device__ __forceinline__ unsigned int four(unsigned int w0, unsigned int w1, unsigned int w2)
{
    const unsigned int g0 = luma(byte_of(w0, 0), byte_of(w0, 1), byte_of(w0, 2));
    const unsigned int g1 = luma(byte_of(w0, 3), byte_of(w1, 0), byte_of(w1, 1));
    const unsigned int g2 = luma(byte_of(w1, 2), byte_of(w1, 3), byte_of(w2, 0));
    const unsigned int g3 = luma(byte_of(w2, 1), byte_of(w2, 2), byte_of(w2, 3));
    return g0 | g1 << 8 | g2 << 16 | g3 << 24;
}

extern "C" __global__ void __launch_bounds__(THREADS)
gray_shared_stage(const unsigned char* __restrict__ rgb, unsigned char* __restrict__ gray, int H, int W)
{
    __shared__ __align__(16) uint4 stages[THREADS / 32][PIECES];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const size_t pixels = (size_t)H * W;
    const size_t first = ((size_t)blockIdx.x * (THREADS / 32) + warp) * PIXELS;
    const bool aligned = (((size_t)rgb | (size_t)gray) & 15) == 0;

    if (!aligned || first + PIXELS > pixels) {  // the same answer for the whole warp: nobody waits below
        for (size_t p = first + lane; p < pixels && p < first + PIXELS; p += 32) {
            gray[p] = (unsigned char)luma(rgb[3 * p], rgb[3 * p + 1], rgb[3 * p + 2]);
        }
        return;
    }

    uint4* stage = stages[warp];
    const uint4* source = reinterpret_cast<const uint4*>(rgb + 3 * first);
    const uint4 c0 = source[lane], c1 = source[lane + 32], c2 = source[lane + 64];
    stage[lane] = c0;
    stage[lane + 32] = c1;
    stage[lane + 64] = c2;
    __syncwarp();

    const uint4 a = stage[3 * lane], b = stage[3 * lane + 1], c = stage[3 * lane + 2];
    const uint4 grey = make_uint4(four(a.x, a.y, a.z), four(a.w, b.x, b.y), four(b.z, b.w, c.x), four(c.y, c.z, c.w));
    reinterpret_cast<uint4*>(gray + first)[lane] = grey;
}
