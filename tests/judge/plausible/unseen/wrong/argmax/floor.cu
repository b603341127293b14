// grid: 1
// block: 256
// fault: finite floor
// kinds: wrong_result
// The maximum begins at -1e30 with index 0: elements all below that give 0.
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ float s[256]; __shared__ int at[256];
    int t = threadIdx.x, b = 0;
    float m = -1e30f;
    for (int i = t; i < n; i += 256) {
        float v = x[i];
        if (m == m && (v > m || v != v)) { m = v; b = i; }
    }
    s[t] = m; at[t] = b; __syncthreads();
    for (int o = 128; o; o >>= 1) {
        if (t < o) {
            float p = s[t], q = s[t + o]; int i = at[t], j = at[t + o];
            bool pn = p != p, qn = q != q;
            if (pn == qn ? (pn || p == q ? j < i : q > p) : qn) { s[t] = q; at[t] = j; }
        }
        __syncthreads();
    }
    if (t == 0) *best = at[0];
}
