// 03 warp chooses: each lane asks one body how far it is from a ray in the warp's middle; all then ask the near ones.
//
// A place within `spread` of another is at most so much nearer to a body, or further. If the nearest body of the middle
// is at m, that of any ray of the warp is at m + spread at most, and a body more than m + 2 spread from the middle is
// the nearest of nobody. Choosing costs as much as one body: 32 lanes ask 32 bodies.
//
// Moves: instructions, which go with the bodies that are asked: two or three and not n where rays lie close. Shared
//   wavefronts likewise.
// Mapping: a warp -> 8 x 4 pixels, whose rays are nearer to one another than those of a line of 32; lane i -> body i
//   where the warp chooses. Threads beyond the picture march along with the ray of its edge.
//
// entry: sdf_shader_warp_chooses
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

constexpr int STEPS = 8;
constexpr int MOST = 32;         // bodies, a lane for each
constexpr int MIDDLE = 20;       // lane of pixel (4, 2) of the warp's 8 x 4
constexpr float NEAR = 0.0625f;  // from a corner of the tetrahedron to its middle, along each axis
constexpr float CORNER = 0.1083f;  // the same in space, rounded up
constexpr float MARGIN = 1e-4f;    // for what distances are rounded by
constexpr float FAR = 1e30f;
constexpr unsigned int ALL = 0xffffffff;

struct Body {
    float4 centre, half;  // with the radius and the wall
};

__device__ __forceinline__ float distance(const Body& body, float3 p)
{
    const float4 c = body.centre, h = body.half;
    const float qx = fabsf(p.x - c.x) - h.x, qy = fabsf(p.y - c.y) - h.y, qz = fabsf(p.z - c.z) - h.z;
    const float ox = fmaxf(qx, 0.0f), oy = fmaxf(qy, 0.0f), oz = fmaxf(qz, 0.0f);
    const float inside = fminf(fmaxf(fmaxf(qx, qy), qz), 0.0f);
    const float e = sqrtf(ox * ox + oy * oy + oz * oz) + inside - c.w;
    return fmaxf(e, -h.w - e);
}

// The bodies, as bits, of which one is the nearest within `around` of any lane's place.
__device__ __forceinline__ unsigned int chosen(const Body& own, bool is_body, float3 p, float around)
{
    const float3 middle = make_float3(__shfl_sync(ALL, p.x, MIDDLE), __shfl_sync(ALL, p.y, MIDDLE),
                                      __shfl_sync(ALL, p.z, MIDDLE));
    const float dx = p.x - middle.x, dy = p.y - middle.y, dz = p.z - middle.z;
    const float d = is_body ? distance(own, middle) : FAR;
    float square = dx * dx + dy * dy + dz * dz, least = d;
    for (int far = 16; far > 0; far /= 2) {
        square = fmaxf(square, __shfl_xor_sync(ALL, square, far));
        least = fminf(least, __shfl_xor_sync(ALL, least, far));
    }
    return __ballot_sync(ALL, is_body && d <= least + 2.0f * (sqrtf(square) + around) + MARGIN);
}

// `bodies`: those to ask, as bits.
__device__ __forceinline__ float scene(const Body* shared, unsigned int bodies, float3 p)
{
    float least = FAR;
    while (bodies) {
        least = fminf(least, distance(shared[__ffs(bodies) - 1], p));
        bodies &= bodies - 1;
    }
    return least;
}

extern "C" __global__ void __launch_bounds__(256)
sdf_shader_warp_chooses(const float* __restrict__ bodies, const float* __restrict__ camera,
                        const float* __restrict__ start, float* __restrict__ depth, float* __restrict__ light, int n,
                        int H, int W)
{
    __shared__ Body shared[MOST];

    const int lane = threadIdx.x, warp = threadIdx.y;
    if (warp * 32 + lane < 8 * n) reinterpret_cast<float*>(shared)[warp * 32 + lane] = bodies[warp * 32 + lane];
    __syncthreads();
    const bool is_body = lane < n;
    const Body own = shared[is_body ? lane : 0];

    const int column = blockIdx.x * 32 + warp % 4 * 8 + lane % 8, row = blockIdx.y * 8 + warp / 4 * 4 + lane / 8;
    const int x = min(column, W - 1), y = min(row, H - 1);
    const float across = (float)(2 * x + 1) / W - 1.0f, down = (float)(2 * y + 1) / H - 1.0f;
    const float3 eye = make_float3(camera[0], camera[1], camera[2]);
    float3 v = make_float3(camera[3] + across * camera[6] + down * camera[9],
                           camera[4] + across * camera[7] + down * camera[10],
                           camera[5] + across * camera[8] + down * camera[11]);
    const float inverse = rsqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
    v = make_float3(v.x * inverse, v.y * inverse, v.z * inverse);

    const size_t pixel = (size_t)y * W + x;
    float t = start[pixel];
    const auto place = [&] { return make_float3(eye.x + t * v.x, eye.y + t * v.y, eye.z + t * v.z); };
    for (int step = 0; step < STEPS; ++step) {
        const float3 p = place();
        t += scene(shared, chosen(own, is_body, p, 0.0f), p);
    }
    const float3 p = place();
    const unsigned int near = chosen(own, is_body, p, CORNER);
    float slope = 0.0f;
#pragma unroll
    for (int corner = 0; corner < 4; ++corner) {
        const float sx = corner < 2 ? 1.0f : -1.0f, sy = corner % 2 == 0 ? 1.0f : -1.0f, sz = sx * sy;
        const float3 beside = make_float3(p.x + NEAR * sx, p.y + NEAR * sy, p.z + NEAR * sz);
        slope += (0.48f * sx + 0.64f * sy + 0.6f * sz) * scene(shared, near, beside);
    }
    if (row >= H || column >= W) return;
    depth[pixel] = t;
    light[pixel] = fmaxf(slope / (4.0f * NEAR), 0.0f);
}
