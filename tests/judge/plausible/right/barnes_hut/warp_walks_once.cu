// grid: 2*SMS
// block: 128
// A warp has 32 bodies and walks once for all; lanes take part while the node is theirs. Persistent.
__global__ void barnes_hut(const float* bodies, const float* nodes, const float* cells, const int* next, float* accelerations, int m, int n, float opening, float softening)
{
    const unsigned all = 0xffffffffu;
    int lane = threadIdx.x & 31, warp = (blockIdx.x*blockDim.x + threadIdx.x) >> 5, warps = gridDim.x*blockDim.x >> 5;
    int end = next[0];
    for (long long first = (long long)warp*32; first < m; first += (long long)warps*32) {
        int i = (int)first + lane; bool mine = i < m; int j = mine ? i : m-1;
        float x = bodies[4*j], y = bodies[4*j+1], z = bodies[4*j+2], ax = 0, ay = 0, az = 0;
        int k = mine ? 0 : end;           // each lane's own next node
        for (;;) {
            int now = __reduce_min_sync(all, k);
            if (now >= end) break;
            if (k == now) {
                float cx = cells[4*now]-x, cy = cells[4*now+1]-y, cz = cells[4*now+2]-z;
                if (fmaf(cx,cx,fmaf(cy,cy,cz*cz)) >= opening*cells[4*now+3]) {
                    float dx = nodes[4*now]-x, dy = nodes[4*now+1]-y, dz = nodes[4*now+2]-z;
                    float r = rsqrtf(fmaf(dx,dx,fmaf(dy,dy,fmaf(dz,dz,softening)))), s = nodes[4*now+3]*(r*r)*r;
                    ax = fmaf(s,dx,ax); ay = fmaf(s,dy,ay); az = fmaf(s,dz,az);
                    k = next[now];
                } else k++;
            }
        }
        if (mine) { accelerations[3*i] = ax; accelerations[3*i+1] = ay; accelerations[3*i+2] = az; }
    }
}
