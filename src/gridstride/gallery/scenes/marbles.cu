// Marbles, by path tracing: light followed backwards from the eye, by paths that spheres and a floor throw about.
//
// Mapping: thread (x, y) -> pixel (column, row), 8 x 4 pixels a warp: neighbours meet the same things for longer than
//   the pixels of a line do. A launch adds `samples` paths to what a pixel has. Random words are named by pixel, path
//   and bounce (Philox), so that every machine follows the same paths.
//
// block: 8 16
// grid: ceil(W/8) ceil(H/16)

constexpr int BOUNCES = 32;      // after which a path is given up
constexpr float NEAR = 1e-3f;    // a ray that leaves a surface does not meet it there again
constexpr float FAR = 1e20f;

enum Kind { MATT, MIRROR, GLASS };

struct Sphere {
    float x, y, z, radius;
    float red, green, blue;
    Kind kind;
};

__constant__ Sphere SPHERES[] = {
    {-1.25f, 0.70f, 0.10f, 0.70f, 0.95f, 0.95f, 0.97f, MIRROR},
    {0.15f, 0.55f, 0.75f, 0.55f, 1.00f, 1.00f, 1.00f, GLASS},
    {1.20f, 0.60f, -0.35f, 0.60f, 0.80f, 0.22f, 0.16f, MATT},
    {-0.45f, 0.25f, 1.35f, 0.25f, 0.95f, 0.70f, 0.20f, MATT},
    {0.95f, 0.22f, 1.15f, 0.22f, 0.15f, 0.50f, 0.45f, MATT},
    {-1.75f, 0.20f, 1.20f, 0.20f, 0.25f, 0.35f, 0.70f, MATT},
    {1.95f, 0.28f, 0.60f, 0.28f, 0.90f, 0.80f, 0.60f, MIRROR},
    {0.10f, 0.30f, -1.00f, 0.30f, 0.60f, 0.55f, 0.75f, MATT},
};

struct Ray {
    float3 from, to;  // a point, and a direction of length 1
};

__device__ __forceinline__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ __forceinline__ float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ __forceinline__ float3 operator*(float3 a, float3 b) { return make_float3(a.x * b.x, a.y * b.y, a.z * b.z); }
__device__ __forceinline__ float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
__device__ __forceinline__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ float3 unit(float3 a) { return rsqrtf(dot(a, a)) * a; }

// Four numbers in [0, 1).
__device__ float4 draw(unsigned int pixel, unsigned int path, unsigned int bounce)
{
    uint4 c = make_uint4(pixel, path, bounce, 0);
    uint2 key = make_uint2(0, 0);
    for (int round = 0; round < 10; ++round) {
        const unsigned int high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        const unsigned int high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
        key.x += 0x9E3779B9u, key.y += 0xBB67AE85u;
    }
    return make_float4((c.x >> 8) * 0x1p-24f, (c.y >> 8) * 0x1p-24f, (c.z >> 8) * 0x1p-24f, (c.w >> 8) * 0x1p-24f);
}

__device__ float3 sky(float3 to)
{
    const float3 sun = make_float3(-0.55f, 0.70f, 0.45f);
    const float high = fmaxf(to.y, 0.0f);
    const float3 blue = make_float3(0.85f - 0.50f * high, 0.92f - 0.35f * high, 1.0f - 0.05f * high);
    return dot(to, sun) > 0.965f ? make_float3(14.0f, 12.5f, 10.0f) : blue;
}

// Distance to what the ray meets first: a sphere's number, -1 for the floor; FAR for nothing.
__device__ float meet(Ray ray, int& what)
{
    float nearest = ray.to.y < -1e-4f ? -ray.from.y / ray.to.y : FAR;
    if (nearest < NEAR) nearest = FAR;
    what = -1;
    for (int i = 0; i < sizeof(SPHERES) / sizeof(Sphere); ++i) {
        const float3 away = make_float3(SPHERES[i].x, SPHERES[i].y, SPHERES[i].z) - ray.from;
        const float middle = dot(away, ray.to);
        const float inside = middle * middle - dot(away, away) + SPHERES[i].radius * SPHERES[i].radius;
        if (inside < 0.0f) continue;
        const float half = sqrtf(inside);
        const float t = middle - half > NEAR ? middle - half : middle + half;
        if (t > NEAR && t < nearest) nearest = t, what = i;
    }
    return nearest;
}

// Where the ray goes on. `normal` points out of the body.
__device__ float3 thrown(Kind kind, float3 to, float3 normal, float4 u)
{
    const float against = dot(to, normal);
    if (kind == MIRROR) return unit(to - 2.0f * against * normal);
    if (kind == GLASS) {
        const bool enters = against < 0.0f;
        const float3 facing = enters ? normal : -1.0f * normal;
        const float ratio = enters ? 1 / 1.5f : 1.5f, cosine = fabsf(against);
        const float squared = 1.0f - ratio * ratio * (1.0f - cosine * cosine);
        const float grazing = 1.0f - (enters ? cosine : sqrtf(fmaxf(squared, 0.0f)));
        const float reflected = 0.04f + 0.96f * grazing * grazing * grazing * grazing * grazing;  // Schlick
        if (squared < 0.0f || u.z < reflected) return unit(to + 2.0f * cosine * facing);
        return unit(ratio * to + (ratio * cosine - sqrtf(squared)) * facing);
    }
    const float z = 1.0f - 2.0f * u.x, r = sqrtf(fmaxf(1.0f - z * z, 0.0f));
    float sine, cosine;
    sincospif(2.0f * u.y, &sine, &cosine);
    const float3 sum = normal + make_float3(r * cosine, r * sine, z);  // by the cosine of the angle with the normal
    return dot(sum, sum) > 1e-8f ? unit(sum) : normal;
}

// `white`: everything throws back all light, and the sky is 1 all over: what a pixel sees must be 1.
extern "C" __global__ void marbles(float* sums, int W, int H, int first, int samples, int white)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;
    const unsigned int pixel = row * W + column;

    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int path = first; path < first + samples; ++path) {
        const float4 within = draw(pixel, path, 0);
        const float across = (column + within.x - 0.5f * W) / H, down = (row + within.y - 0.5f * H) / H;
        Ray ray = {make_float3(0.0f, 1.7f, 5.2f), unit(make_float3(0.78f * across, -0.245f - 0.78f * down, -1.0f))};
        float3 kept = make_float3(1.0f, 1.0f, 1.0f);
        for (int bounce = 1; bounce <= BOUNCES; ++bounce) {
            int what;
            const float t = meet(ray, what);
            if (t == FAR) {
                sum = sum + (white ? kept : kept * sky(ray.to));
                break;
            }
            ray.from = ray.from + t * ray.to;
            const Sphere s = SPHERES[what < 0 ? 0 : what];
            const bool dark = ((int)floorf(ray.from.x) + (int)floorf(ray.from.z)) & 1;
            const float3 floor = dark ? make_float3(0.30f, 0.33f, 0.36f) : make_float3(0.75f, 0.74f, 0.70f);
            const float3 centre = make_float3(s.x, s.y, s.z);
            const float3 normal = what < 0 ? make_float3(0.0f, 1.0f, 0.0f) : unit(ray.from - centre);
            if (!white) kept = kept * (what < 0 ? floor : make_float3(s.red, s.green, s.blue));
            ray.to = thrown(what < 0 ? MATT : s.kind, ray.to, normal, draw(pixel, path, bounce));
        }
    }
    float* p = sums + 3 * (size_t)pixel;
    p[0] += sum.x, p[1] += sum.y, p[2] += sum.z;
}
