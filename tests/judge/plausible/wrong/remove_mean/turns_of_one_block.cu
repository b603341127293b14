// grid: 1
// block: 1024
// fault: sizes
// kinds: wrong_result
// One block takes 128 turns: 131,072 elements.
__global__ void remove_mean(const float* x, float* y, int n)
{
    __shared__ float s[1024];
    int t = threadIdx.x; float a = 0;
    for (int j = 0; j < 128; j++) { int i = j * 1024 + t; if (i < n) a += x[i]; }
    s[t] = a; __syncthreads();
    for (int o = 512; o; o >>= 1) { if (t < o) s[t] += s[t + o]; __syncthreads(); }
    float m = s[0] / n;
    for (int j = 0; j < 128; j++) { int i = j * 1024 + t; if (i < n) y[i] = x[i] - m; }
}
