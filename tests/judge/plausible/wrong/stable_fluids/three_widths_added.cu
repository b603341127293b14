// grid: ceil(W/16) ceil(H/16)
// block: 16 16
// fault: sizes
// kinds: wrong_result out_of_bounds
// Three widths are added before the remainder: what comes from further away has a negative place.
__device__ int wrap(int a, int n) { return (int)((unsigned)(a + 3*n) % (unsigned)n); }
__device__ float star(const float* u, const float* v, bool isu, int x, int y, int H, int W, float dt) {
    const float* f = isu ? u : v;
    int xl = wrap(x-1,W), xr = wrap(x+1,W), yu = wrap(y-1,H), yd = wrap(y+1,H); x = wrap(x,W); y = wrap(y,H);
    float cu = isu ? u[y*W+x] : 0.25f*(u[yu*W+x]+u[yu*W+xr]+u[y*W+x]+u[y*W+xr]);
    float cv = isu ? 0.25f*(v[y*W+xl]+v[y*W+x]+v[yd*W+xl]+v[yd*W+x]) : v[y*W+x];
    float px = fmaf(-dt, cu, (float)x), py = fmaf(-dt, cv, (float)y);
    int ix = __float2int_rd(px), iy = __float2int_rd(py);
    float tx = px - ix, ty = py - iy;
    int x0 = wrap(ix,W), x1 = wrap(ix+1,W), y0 = wrap(iy,H), y1 = wrap(iy+1,H);
    float a = f[y0*W+x0], b = f[y0*W+x1], c = f[y1*W+x0], d = f[y1*W+x1];
    float t = a + tx*(b-a), s = c + tx*(d-c);
    return t + ty*(s-t);
}
__global__ void stable_fluids(const float* velocity, const float* pressure, float* velocity_after, float* pressure_after, float* work, int H, int W, float dt)
{
    const int T = 16, E = 5, S = T + 2*E;
    __shared__ float us[S+1][S+1], vs[S+1][S+1], p[2][S][S];
    const float *u = velocity, *v = velocity + H*W;
    int bx = blockIdx.x*T - E, by = blockIdx.y*T - E, t = threadIdx.y*T + threadIdx.x;
    for (int i = t; i < (S+1)*(S+1); i += T*T) {
        int x = i % (S+1), y = i / (S+1);
        us[y][x] = star(u, v, true, bx+x, by+y, H, W, dt);
        vs[y][x] = star(u, v, false, bx+x, by+y, H, W, dt);
    }
    for (int i = t; i < S*S; i += T*T) p[0][i/S][i%S] = pressure[wrap(by+i/S,H)*W + wrap(bx+i%S,W)];
    __syncthreads();
    for (int s = 0; s < 4; s++) {
        int lo = s+1, n = S-2*lo;
        for (int i = t; i < n*n; i += T*T) {
            int x = lo + i % n, y = lo + i / n; auto& q = p[s&1];
            float b = us[y][x+1]-us[y][x]+vs[y+1][x]-vs[y][x];
            p[(s+1)&1][y][x] = q[y][x] + (q[y][x-1]+q[y][x+1]+q[y-1][x]+q[y+1][x]-4*q[y][x]-b)*0.2f;
        }
        __syncthreads();
    }
    int x = blockIdx.x*T + threadIdx.x, y = blockIdx.y*T + threadIdx.y, lx = threadIdx.x+E, ly = threadIdx.y+E;
    if (x < W && y < H) {
        float c = p[0][ly][lx];
        pressure_after[y*W+x] = c;
        velocity_after[y*W+x] = us[ly][lx] - (c - p[0][ly][lx-1]);
        velocity_after[H*W+y*W+x] = vs[ly][lx] - (c - p[0][ly-1][lx]);
    }
}
