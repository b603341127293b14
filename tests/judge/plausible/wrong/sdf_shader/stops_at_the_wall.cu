// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: values
// kinds: wrong_result
// A step below a hundred-thousandth is taken for the last one.
__device__ float dist(const float* b, int n, float x, float y, float z) {
    float best = 3.4e38f;
    for (int i = 0; i < n; i++, b += 8) {
        float qx = fabsf(x-b[0])-b[4], qy = fabsf(y-b[1])-b[5], qz = fabsf(z-b[2])-b[6];
        float ax = fmaxf(qx,0), ay = fmaxf(qy,0), az = fmaxf(qz,0);
        float e = sqrtf(ax*ax+ay*ay+az*az) + fminf(fmaxf(qx,fmaxf(qy,qz)),0) - b[3];
        best = fminf(best, fmaxf(e, -b[7]-e));
    }
    return best;
}
__global__ void sdf_shader(const float* bodies, const float* camera, const float* start, float* depth, float* light, int n, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= W || row >= H) return;
    float sx = (2*column+1)/(float)W - 1, sy = (2*row+1)/(float)H - 1;
    float v[3]; for (int c = 0; c < 3; c++) v[c] = camera[3+c] + sx*camera[6+c] + sy*camera[9+c];
    float r = 1/sqrtf(v[0]*v[0]+v[1]*v[1]+v[2]*v[2]);
    for (int c = 0; c < 3; c++) v[c] *= r;
    float t = start[row*W+column];
    for (int s = 0; s < 8; s++) {
        float d = dist(bodies, n, camera[0]+t*v[0], camera[1]+t*v[1], camera[2]+t*v[2]);
        t += d; if (fabsf(d) < 1e-5f) break;
    }
    depth[row*W+column] = t;
    const float h = 1/16.f;
    float x = camera[0]+t*v[0], y = camera[1]+t*v[1], z = camera[2]+t*v[2];
    float a = dist(bodies, n, x+h, y+h, z+h), b = dist(bodies, n, x+h, y-h, z-h), c = dist(bodies, n, x-h, y+h, z-h), d = dist(bodies, n, x-h, y-h, z+h);
    float gx = (a+b-c-d)/(4*h), gy = (a-b+c-d)/(4*h), gz = (a-b-c+d)/(4*h);
    light[row*W+column] = fmaxf(0, 0.48f*gx + 0.64f*gy + 0.6f*gz);
}
