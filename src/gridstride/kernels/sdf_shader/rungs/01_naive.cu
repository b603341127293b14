// 01 naive: a thread marches a ray alone, and asks every body for its distance, number by number, at every place.
//
// Moves: nothing yet. Twelve places, eight of the march and four for the light, of n bodies with eight loads each.
// Mapping: thread (x, y) -> pixel column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y.
//
// entry: sdf_shader_naive
// block: 32 8
// grid: ceil(W/32) ceil(H/8)

constexpr int STEPS = 8;
constexpr float NEAR = 0.0625f;  // from a corner of the tetrahedron to its middle, along each axis
constexpr float FAR = 1e30f;

__device__ float distance(const float* body, float x, float y, float z)
{
    const float qx = fabsf(x - body[0]) - body[4], qy = fabsf(y - body[1]) - body[5], qz = fabsf(z - body[2]) - body[6];
    const float ox = fmaxf(qx, 0.0f), oy = fmaxf(qy, 0.0f), oz = fmaxf(qz, 0.0f);
    const float inside = fminf(fmaxf(fmaxf(qx, qy), qz), 0.0f);
    const float e = sqrtf(ox * ox + oy * oy + oz * oz) + inside - body[3];
    return fmaxf(e, -body[7] - e);
}

__device__ float scene(const float* bodies, int n, float x, float y, float z)
{
    float least = FAR;
    for (int i = 0; i < n; ++i) least = fminf(least, distance(bodies + 8 * i, x, y, z));
    return least;
}

extern "C" __global__ void __launch_bounds__(256)
sdf_shader_naive(const float* bodies, const float* camera, const float* start, float* depth, float* light, int n, int H,
                 int W)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= H || column >= W) return;
    const float across = (float)(2 * column + 1) / W - 1.0f, down = (float)(2 * row + 1) / H - 1.0f;

    float v[3], p[3];
    for (int k = 0; k < 3; ++k) v[k] = camera[3 + k] + across * camera[6 + k] + down * camera[9 + k];
    const float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; ++k) v[k] /= length;

    const size_t pixel = (size_t)row * W + column;
    float t = start[pixel];
    for (int step = 0; step < STEPS; ++step) {
        for (int k = 0; k < 3; ++k) p[k] = camera[k] + t * v[k];
        t += scene(bodies, n, p[0], p[1], p[2]);
    }
    for (int k = 0; k < 3; ++k) p[k] = camera[k] + t * v[k];
    float slope = 0.0f;
    for (int corner = 0; corner < 4; ++corner) {
        const float sx = corner < 2 ? 1.0f : -1.0f, sy = corner % 2 == 0 ? 1.0f : -1.0f, sz = sx * sy;
        const float d = scene(bodies, n, p[0] + NEAR * sx, p[1] + NEAR * sy, p[2] + NEAR * sz);
        slope += (0.48f * sx + 0.64f * sy + 0.6f * sz) * d;
    }
    depth[pixel] = t;
    light[pixel] = fmaxf(slope / (4.0f * NEAR), 0.0f);
}
