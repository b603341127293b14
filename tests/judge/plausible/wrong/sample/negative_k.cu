// fault: a negative top_k (off) is taken for one
// kinds: wrong_result
// grid: M
// block: 256
__device__ unsigned order(float f)
{
    unsigned b = __float_as_uint(f + 0.0f);
    return b & 0x80000000u ? ~b : b | 0x80000000u;
}
__device__ double block_sum(double v, double* sh)
{
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sh[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < 8; w++) v += sh[w];
    return v;
}
__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p, const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    __shared__ double sh[8];
    __shared__ double part[256];
    __shared__ unsigned top_sh[256];
    __shared__ int nan_sh, first_sh;
    int row = blockIdx.x, t = threadIdx.x;
    const float* x = logits + (size_t)row * V;
    if (t == 0) { nan_sh = 0; first_sh = V; }
    __syncthreads();
    unsigned top = 0;
    for (int i = t; i < V; i += 256) {
        if (isnan(x[i])) nan_sh = 1;
        else top = max(top, order(x[i]));
    }
    top_sh[t] = top;
    __syncthreads();
    for (int i = 0; i < 256; i++) top = max(top, top_sh[i]);
    float largest = __uint_as_float(top & 0x80000000u ? top & 0x7fffffffu : ~top);
    if (nan_sh || isinf(largest)) {
        if (t == 0) tokens[row] = -1;
        return;
    }
    float temp = temperature[row];
    if (temp == 0) {
        for (int i = t; i < V; i += 256) if (x[i] == largest) { atomicMin(&first_sh, i); break; }
        __syncthreads();
        if (t == 0) tokens[row] = first_sh;
        return;
    }
    double T = temp;
    auto weight = [&](float v) { return exp(((double)v - largest) / T); };
    unsigned least = 0;
    int k = top_k[row];
    if (k != 0 && k < V) {
        for (int bit = 31; bit >= 0; bit--) {
            unsigned c = least | 1u << bit;
            double n = 0;
            for (int i = t; i < V; i += 256) n += order(x[i]) >= c;
            if (block_sum(n, sh) >= k) least = c;
        }
    }
    double mp = min_p[row];
    auto left = [&](float v) { return order(v) >= least && weight(v) >= mp; };
    double all = 0;
    for (int i = t; i < V; i += 256) if (left(x[i])) all += weight(x[i]);
    all = block_sum(all, sh);
    double p = top_p[row];
    unsigned nucleus = 0;
    if (p < 1) {
        for (int bit = 31; bit >= 0; bit--) {
            unsigned c = nucleus | 1u << bit;
            double w = 0;
            for (int i = t; i < V; i += 256) if (order(x[i]) >= c && left(x[i])) w += weight(x[i]);
            if (c <= top && block_sum(w, sh) >= p * all) nucleus = c;
        }
    }
    int per = (V + 255) / 256, first = t * per, last = min(V, first + per);
    double w = 0;
    for (int i = first; i < last; i++) if (order(x[i]) >= nucleus && left(x[i])) w += weight(x[i]);
    part[t] = w;
    __syncthreads();
    if (t == 0) {
        double whole = 0;
        for (int i = 0; i < 256; i++) whole += part[i];
        double aim = uniform[row] * whole, run = 0;
        int c = 0;
        while (c < 255 && !(run + part[c] > aim)) run += part[c++];
        long long answer = -1;
        for (int i = c * per; i < V; i++)
            if (order(x[i]) >= nucleus && left(x[i])) {
                run += weight(x[i]);
                answer = i;
                if (run > aim) break;
            }
        tokens[row] = answer;
    }
}
