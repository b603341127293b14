// grid: 1024
// block: 128
// fault: sizes
// kinds: wrong_result
// A thread for each of 131,072 bodies, and none for those behind them.
__global__ void nbody(const float* bodies, const float* sources, float* accelerations, int m, int n, float softening)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= m) return; float px = bodies[i * 4ll], py = bodies[i * 4ll + 1], pz = bodies[i * 4ll + 2], ax = 0, ay = 0, az = 0;
    for (int b = 0; b < n; b += 128) {
        for (int k = 0; k < min(128, n - b); k++) {
            const float* q4 = sources + (b + k) * 4ll; float dx = q4[0] - px, dy = q4[1] - py, dz = q4[2] - pz, r = dx * dx + dy * dy + dz * dz + softening;
            float q = rsqrtf(r), f = q4[3] * q * q * q;
            ax += f * dx; ay += f * dy; az += f * dz;
        }
    }
    accelerations[i * 3ll] = ax; accelerations[i * 3ll + 1] = ay; accelerations[i * 3ll + 2] = az;
}
