// grid: SMS
// block: 128
// cooperative: yes
// entry: stable_fluids
// A grid barrier of its own, whose count goes on from launch to launch.
__device__ unsigned arrived;
__device__ void barrier() {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        unsigned n = gridDim.x, old = atomicAdd(&arrived, 1u), goal = (old / n + 1) * n;
        while ((int)(*(volatile unsigned*)&arrived - goal) < 0) ;
        __threadfence();
    }
    __syncthreads();
}
__device__ int wrap(int a, int n) { a %= n; return a < 0 ? a + n : a; }
__device__ float at(volatile const float* f, int x, int y, int H, int W) { return f[(size_t)wrap(y,H)*W + wrap(x,W)]; }
__device__ float lerp2(const float* f, float x, float y, int H, int W) {
    float fx = floorf(x), fy = floorf(y), tx = x - fx, ty = y - fy; int ix = (int)fx, iy = (int)fy;
    return at(f,ix,iy,H,W)*(1-tx)*(1-ty) + at(f,ix+1,iy,H,W)*tx*(1-ty) + at(f,ix,iy+1,H,W)*(1-tx)*ty + at(f,ix+1,iy+1,H,W)*tx*ty;
}
__global__ void stable_fluids(const float* velocity, const float* pressure, float* velocity_after, float* pressure_after, float* work, int H, int W, float dt)
{
    const int N = H*W;
    const float *u = velocity, *v = velocity + N;
    float *us = velocity_after, *vs = velocity_after + N;   // u* lives in the output
    for (int y = blockIdx.x; y < H; y += gridDim.x) for (int x = threadIdx.x; x < W; x += blockDim.x) {
        float vb = (at(v,x-1,y,H,W)+at(v,x,y,H,W)+at(v,x-1,y+1,H,W)+at(v,x,y+1,H,W))/4;
        float ub = (at(u,x,y-1,H,W)+at(u,x+1,y-1,H,W)+at(u,x,y,H,W)+at(u,x+1,y,H,W))/4;
        us[y*W+x] = lerp2(u, x - dt*u[y*W+x], y - dt*vb, H, W);
        vs[y*W+x] = lerp2(v, x - dt*ub, y - dt*v[y*W+x], H, W);
    }
    barrier();
    const float* q = pressure;
    for (int s = 0; s < 4; s++) {
        float* to = s & 1 ? pressure_after : work + 3*N;
        for (int y = blockIdx.x; y < H; y += gridDim.x) for (int x = threadIdx.x; x < W; x += blockDim.x) {
            float c = at(q,x,y,H,W), b = (at(us,x+1,y,H,W)-at(us,x,y,H,W)) + (at(vs,x,y+1,H,W)-at(vs,x,y,H,W));
            to[y*W+x] = (c + at(q,x-1,y,H,W)+at(q,x+1,y,H,W)+at(q,x,y-1,H,W)+at(q,x,y+1,H,W) - b) * 0.2f;
        }
        barrier(); q = to;
    }
    for (int y = blockIdx.x; y < H; y += gridDim.x) for (int x = threadIdx.x; x < W; x += blockDim.x) {
        us[y*W+x] -= at(q,x,y,H,W) - at(q,x-1,y,H,W);
        vs[y*W+x] -= at(q,x,y,H,W) - at(q,x,y-1,H,W);
    }
}
