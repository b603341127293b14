// grid: ceil(m/128)
// block: 128
// fault: values
// kinds: wrong_result
// The comparison is made with a reciprocal, where both sides are exact without.
__global__ void barnes_hut(const float* bodies, const float* nodes, const float* cells, const int* next, float* accelerations, int m, int n, float opening, float softening)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    float x = bodies[4*i], y = bodies[4*i+1], z = bodies[4*i+2];
    float ax = 0, ay = 0, az = 0;
    int k = 0;
    const int end = next[0];
    while (k < end) {
        float cx = cells[4*k]-x, cy = cells[4*k+1]-y, cz = cells[4*k+2]-z;
        if ((cx*cx+cy*cy+cz*cz) *(1.f/opening) >= cells[4*k+3]) {
            float dx = nodes[4*k]-x, dy = nodes[4*k+1]-y, dz = nodes[4*k+2]-z;
            float r2 = dx*dx+dy*dy+dz*dz + softening;
            float s = nodes[4*k+3] / (r2*sqrtf(r2));
            ax += s*dx; ay += s*dy; az += s*dz;
            k = next[k];
        } else k = k+1;
    }
    accelerations[3*i] = ax; accelerations[3*i+1] = ay; accelerations[3*i+2] = az;
}
