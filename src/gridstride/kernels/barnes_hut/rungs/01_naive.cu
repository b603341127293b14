// 01 naive: a thread walks the tree for its body, number by number.
//
// Moves: nothing yet. Five loads for each node that is met and four more for each that pulls, a root and a division.
//   Lanes are at different nodes soon: each load of a warp touches up to 32 sectors.
// Mapping: thread t of block b -> body b * 128 + t.
//
// entry: barnes_hut_naive
// block: 128
// grid: ceil(m/128)

extern "C" __global__ void
barnes_hut_naive(const float* bodies, const float* nodes, const float* cells, const int* next, float* accelerations,
                 int m, int n, float opening, float softening)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;

    const float x = bodies[4 * (size_t)i], y = bodies[4 * (size_t)i + 1], z = bodies[4 * (size_t)i + 2];
    const int end = next[0];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    int k = 0;
    while (k < end) {
        const float* cell = cells + 4 * (size_t)k;
        const float cx = cell[0] - x, cy = cell[1] - y, cz = cell[2] - z;
        if (cx * cx + cy * cy + cz * cz >= opening * cell[3]) {
            const float* node = nodes + 4 * (size_t)k;
            const float dx = node[0] - x, dy = node[1] - y, dz = node[2] - z;
            const float square = dx * dx + dy * dy + dz * dz + softening;
            const float weight = node[3] / (square * sqrtf(square));
            ax += weight * dx;
            ay += weight * dy;
            az += weight * dz;
            k = next[k];
        } else {
            ++k;
        }
    }
    accelerations[3 * (size_t)i] = ax;
    accelerations[3 * (size_t)i + 1] = ay;
    accelerations[3 * (size_t)i + 2] = az;
}
