// grid: rows
// block: 256
// fault: sums into unset memory
// kinds: uninitialised_read
// The parts are added up by atomics in an output that nobody has set to zero.
__global__ void rms_norm_backward(const float* x, const float* weight, const float* dy, float* dx, float* partial, int rows, int columns, int parts, float eps)
{
    __shared__ float s[256], u[256];
    int r = blockIdx.x, t = threadIdx.x;
    size_t at = (size_t)r * columns;
    float a = 0, b = 0;
    for (int c = t; c < columns; c += 256) a += x[at + c] * x[at + c], b += dy[at + c] * weight[c] * x[at + c];
    s[t] = a;
    u[t] = b;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] += s[t + d], u[t] += u[t + d];
        __syncthreads();
    }
    float k = 1.0f / sqrtf(s[0] / columns + eps), m = u[0] * k / columns;
    for (int c = t; c < columns; c += 256) {
        dx[at + c] = k * (dy[at + c] * weight[c] - x[at + c] * k * m);
        atomicAdd(&partial[(size_t)(r % parts) * columns + c], dy[at + c] * x[at + c] * k);
    }
}
