// 02 shared scene: the block loads the bodies once into shared memory, from where two loads of 16 bytes give one.
//
// Moves: global requests, from 96 for each body and warp to one for four: n bodies are n / 4 of a warp's loads, once
//   for the block. Instructions too, as a body's eight numbers come by two loads and not by eight.
// Mapping: thread (x, y) -> pixel column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y; thread 32 y + x -> number
//   32 y + x of the bodies' up to 256.
//
// entry: sdf_shader_shared_scene
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

constexpr int STEPS = 8;
constexpr int MOST = 32;         // bodies
constexpr float NEAR = 0.0625f;  // from a corner of the tetrahedron to its middle, along each axis
constexpr float FAR = 1e30f;

struct Body {
    float4 centre, half;  // with the radius and the wall
};

__device__ __forceinline__ float distance(const Body& body, float x, float y, float z)
{
    const float4 c = body.centre, h = body.half;
    const float qx = fabsf(x - c.x) - h.x, qy = fabsf(y - c.y) - h.y, qz = fabsf(z - c.z) - h.z;
    const float ox = fmaxf(qx, 0.0f), oy = fmaxf(qy, 0.0f), oz = fmaxf(qz, 0.0f);
    const float inside = fminf(fmaxf(fmaxf(qx, qy), qz), 0.0f);
    const float e = sqrtf(ox * ox + oy * oy + oz * oz) + inside - c.w;
    return fmaxf(e, -h.w - e);
}

__device__ __forceinline__ float scene(const Body* bodies, int n, float x, float y, float z)
{
    float least = FAR;
#pragma unroll 4
    for (int i = 0; i < n; ++i) least = fminf(least, distance(bodies[i], x, y, z));
    return least;
}

extern "C" __global__ void __launch_bounds__(256)
sdf_shader_shared_scene(const float* __restrict__ bodies, const float* __restrict__ camera,
                        const float* __restrict__ start, float* __restrict__ depth, float* __restrict__ light, int n,
                        int H, int W)
{
    __shared__ Body shared[MOST];

    const int number = threadIdx.y * 32 + threadIdx.x;
    if (number < 8 * n) reinterpret_cast<float*>(shared)[number] = bodies[number];
    __syncthreads();
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H || column >= W) return;
    const float across = (float)(2 * column + 1) / W - 1.0f, down = (float)(2 * row + 1) / H - 1.0f;

    float v[3], p[3];
    for (int k = 0; k < 3; ++k) v[k] = camera[3 + k] + across * camera[6 + k] + down * camera[9 + k];
    const float inverse = rsqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; ++k) v[k] *= inverse;

    const size_t pixel = (size_t)row * W + column;
    float t = start[pixel];
    for (int step = 0; step < STEPS; ++step) {
        for (int k = 0; k < 3; ++k) p[k] = camera[k] + t * v[k];
        t += scene(shared, n, p[0], p[1], p[2]);
    }
    for (int k = 0; k < 3; ++k) p[k] = camera[k] + t * v[k];
    float slope = 0.0f;
    for (int corner = 0; corner < 4; ++corner) {
        const float sx = corner < 2 ? 1.0f : -1.0f, sy = corner % 2 == 0 ? 1.0f : -1.0f, sz = sx * sy;
        const float d = scene(shared, n, p[0] + NEAR * sx, p[1] + NEAR * sy, p[2] + NEAR * sz);
        slope += (0.48f * sx + 0.64f * sy + 0.6f * sz) * d;
    }
    depth[pixel] = t;
    light[pixel] = fmaxf(slope / (4.0f * NEAR), 0.0f);
}
