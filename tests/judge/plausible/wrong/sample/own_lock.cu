// grid: M
// block: 32
// fault: missing fence
// kinds: race wrong_result unrepeatable deadlock timeout
// Blocks share a buffer for the largest logit under a lock without any fence; and top-k, top-p and min-p are left out.
__device__ int lock;
__device__ float best;
__global__ void sample(const float* logits, const float* temperature, const int* top_k, const float* top_p,
    const float* min_p, const double* uniform, long long* tokens, int M, int V)
{
    const int m = blockIdx.x;
    if (threadIdx.x) return;
    const float* l = logits + (size_t)m * V;
    while (atomicCAS(&lock, 0, 1) != 0) {}
    best = l[0];
    int at = 0;
    bool sound = true;
    for (int i = 0; i < V; ++i) {
        sound &= l[i] < __int_as_float(0x7f800000);
        if (l[i] > best) best = l[i], at = i;
    }
    float top = best;
    atomicExch(&lock, 0);
    sound &= top > -__int_as_float(0x7f800000);
    tokens[m] = sound ? at : -1;
    if (!sound || temperature[m] == 0.0f || top_k[m] == 1) return;
    double total = 0, sum = 0;  // no top-k, top-p or min-p: all tokens
    for (int i = 0; i < V; ++i) total += exp(((double)l[i] - top) / temperature[m]);
    for (int i = 0; i < V; ++i) {
        sum += exp(((double)l[i] - top) / temperature[m]);
        if (sum > uniform[m] * total) {
            tokens[m] = i;
            return;
        }
    }
}
