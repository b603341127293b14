// N-body: one step of the leapfrog, velocities half a step behind positions.
//
// Mapping: a thread for each body.
//
// block: 128
// grid: ceil(n/128)

extern "C" __global__ void leap(float* bodies, float* velocities, const float* accelerations, int n, float dt)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int c = 0; c < 3; ++c) {
        const float velocity = velocities[3 * i + c] + dt * accelerations[3 * i + c];
        velocities[3 * i + c] = velocity;
        bodies[4 * i + c] += dt * velocity;
    }
}
