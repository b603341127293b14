// One step of a recurrent layer, behind the products with the inputs, xw [T, N, gates H], and with the state before,
// hr [N, gates H]. F, G and H0 are the layer's activations; wb and rb its biases [gates H], or NULL.
//
// Mapping: a thread has a hidden value of a sequence. It reads its own state and writes it again, and y [T, D, N, H] at
//   the step's place: with REVERSE from the end of its sequence, whose length `lengths` has. Behind that y is 0.
//
// onnx_gru_reset: the update gate z and the state times the reset gate, rh, which the last product is of.

#ifndef REVERSE
#define REVERSE 0
#endif
#ifndef LINEAR_BEFORE_RESET
#define LINEAR_BEFORE_RESET 0
#endif

__device__ __forceinline__ float sigmoid(float v) { return 1 / (1 + expf(-v)); }
__device__ __forceinline__ float relu(float v) { return v != v || v > 0 ? v : 0; }
__device__ __forceinline__ float tangent(float v) { return tanhf(v); }
__device__ __forceinline__ float at(const float* p, int i) { return p ? p[i] : 0; }

struct Cell {
    int n, h, t;
    bool there;
};

// `t` is where the step's input lies.
__device__ __forceinline__ Cell cell(int i, int H, int T, int step, const int* lengths)
{
    const int n = i / H, length = lengths ? lengths[n] : T;
    const bool there = step < length;
    return {n, i % H, there && REVERSE ? length - 1 - step : step, there};
}

#define BEGIN \
    const int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i >= N * H) return; \
    const Cell own = cell(i, H, T, step, lengths); \
    float* const result = y + ((long long)own.t * D + d) * N * H + i; \
    if (!own.there) { \
        *result = 0; \
        return; \
    } \
    const float* x = xw + ((long long)own.t * N + own.n) * GATES * H + own.h; \
    const float* before = hr + (long long)own.n * GATES * H + own.h;
#define GATE(g) (x[(g) * H] + before[(g) * H] + at(wb, (g) * H + own.h) + at(rb, (g) * H + own.h))
#define PARAMETERS \
    const float* xw, const float* hr, const float* wb, const float* rb, float* h, float* y, const int* lengths, int T, \
    int N, int H, int D, int d, int step

#define GATES 1
extern "C" __global__ void onnx_rnn(PARAMETERS)
{
    BEGIN
    *result = h[i] = F(GATE(0));
}
#undef GATES

#define GATES 4
extern "C" __global__ void onnx_lstm(PARAMETERS, float* c, const float* peepholes)
{
    BEGIN
    const float old = c[i];
    const float in = F(GATE(0) + at(peepholes, own.h) * old), forget = F(GATE(2) + at(peepholes, 2 * H + own.h) * old);
    const float now = forget * old + in * G(GATE(3));
    c[i] = now;
    *result = h[i] = F(GATE(1) + at(peepholes, H + own.h) * now) * H0(now);
}
#undef GATES

#define GATES 3
extern "C" __global__ void onnx_gru_reset(PARAMETERS, float* z, float* rh)
{
    BEGIN
    z[i] = F(GATE(0));
    const float reset = F(GATE(1));
    rh[i] = LINEAR_BEFORE_RESET ? reset * (before[2 * H] + at(rb, 2 * H + own.h)) : reset * h[i];
}

extern "C" __global__ void onnx_gru(PARAMETERS, const float* z, const float* rh)
{
    BEGIN
    (void)before;
    float sum = x[2 * H] + at(wb, 2 * H + own.h) + rh[i];  // rh: the last product, or what is there instead
    if (!LINEAR_BEFORE_RESET) sum += at(rb, 2 * H + own.h);
    *result = h[i] = (1 - z[i]) * G(sum) + z[i] * h[i];
}
