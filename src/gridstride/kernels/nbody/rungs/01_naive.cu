// 01 naive: a thread adds up the pull of all bodies on its own, each read from global memory as four numbers.
//
// Moves: nothing yet. Four loads for each pair, a square root and a division.
// Mapping: thread t of block b -> body b * 128 + t; all threads of a warp read the same body at a time.
//
// entry: nbody_naive
// block: 128
// grid: ceil(m/128)

extern "C" __global__ void nbody_naive(const float* bodies, const float* sources, float* accelerations, int m, int n,
                                    float softening)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;

    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; ++j) {
        const float dx = sources[4 * j] - bodies[4 * i], dy = sources[4 * j + 1] - bodies[4 * i + 1];
        const float dz = sources[4 * j + 2] - bodies[4 * i + 2];
        const float square = dx * dx + dy * dy + dz * dz + softening;
        const float weight = sources[4 * j + 3] / (square * sqrtf(square));
        ax += weight * dx;
        ay += weight * dy;
        az += weight * dz;
    }
    accelerations[3 * (size_t)i] = ax;
    accelerations[3 * (size_t)i + 1] = ay;
    accelerations[3 * (size_t)i + 2] = az;
}
