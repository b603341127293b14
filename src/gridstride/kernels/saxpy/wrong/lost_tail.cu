// Lost tail: groups of four only, so up to three elements at the end keep their old value.
//
// entry: saxpy_lost_tail
// block: 64
// grid: ceil(n/256)
// expect: wrong_result tail

extern "C" __global__ void saxpy_lost_tail(int n, float a, const float* x, float* y)
{
    const int group = blockIdx.x * blockDim.x + threadIdx.x;
    if (group < n / 4) {
        const float4 p = reinterpret_cast<const float4*>(x)[group];
        float4 q = reinterpret_cast<float4*>(y)[group];
        q.x += a * p.x;
        q.y += a * p.y;
        q.z += a * p.z;
        q.w += a * p.w;
        reinterpret_cast<float4*>(y)[group] = q;
    }
}
