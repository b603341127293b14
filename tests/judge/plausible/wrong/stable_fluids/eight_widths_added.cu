// grid: 2*SMS
// block: 256
// cooperative: yes
// fault: sizes
// kinds: wrong_result out_of_bounds
// Eight widths are added before a remainder with a sign.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int wrap(int a, int n) { return (a + 8*n) % n; }
__device__ float at(const float* f, int x, int y, int H, int W) { return f[(size_t)wrap(y,H)*W + wrap(x,W)]; }
__device__ float sample(const float* f, float x, float y, int H, int W) {
    float fx = floorf(x), fy = floorf(y);
    float tx = x - fx, ty = y - fy;
    int ix = (int)fx, iy = (int)fy;
    float a = at(f, ix, iy, H, W), b = at(f, ix+1, iy, H, W), c = at(f, ix, iy+1, H, W), d = at(f, ix+1, iy+1, H, W);
    return (1-ty)*((1-tx)*a + tx*b) + ty*((1-tx)*c + tx*d);
}
__global__ void stable_fluids(const float* velocity, const float* pressure, float* velocity_after, float* pressure_after, float* work, int H, int W, float dt)
{
    cg::grid_group g = cg::this_grid();
    const int N = H*W;
    const float *u = velocity, *v = velocity + N;
    float *us = work, *vs = work + N, *b = work + 2*N, *p0 = work + 3*N, *p1 = work + 4*N;
    int first = blockIdx.x*blockDim.x + threadIdx.x, step = gridDim.x*blockDim.x;
    for (int i = first; i < N; i += step) {
        int x = i % W, y = i / W;
        float vb = 0.25f*(at(v,x-1,y,H,W)+at(v,x,y,H,W)+at(v,x-1,y+1,H,W)+at(v,x,y+1,H,W));
        float ub = 0.25f*(at(u,x,y-1,H,W)+at(u,x+1,y-1,H,W)+at(u,x,y,H,W)+at(u,x+1,y,H,W));
        us[i] = sample(u, x - dt*u[i], y - dt*vb, H, W);
        vs[i] = sample(v, x - dt*ub, y - dt*v[i], H, W);
    }
    g.sync();
    for (int i = first; i < N; i += step) {
        int x = i % W, y = i / W;
        b[i] = at(us,x+1,y,H,W) - us[i] + at(vs,x,y+1,H,W) - vs[i];
    }
    const float* from = pressure;
    for (int s = 0; s < 4; s++) {
        float* to = s == 3 ? pressure_after : (s & 1) ? p1 : p0;
        for (int i = first; i < N; i += step) {
            int x = i % W, y = i / W;
            to[i] = from[i] + (at(from,x-1,y,H,W)+at(from,x+1,y,H,W)+at(from,x,y-1,H,W)+at(from,x,y+1,H,W) - 4*from[i] - b[i]) / 5;
        }
        g.sync();
        from = to;
    }
    for (int i = first; i < N; i += step) {
        int x = i % W, y = i / W;
        velocity_after[i] = us[i] - (from[i] - at(from,x-1,y,H,W));
        velocity_after[N+i] = vs[i] - (from[i] - at(from,x,y-1,H,W));
    }
}
