// Rows that are normalised as a whole: logarithm of a softmax, and group and instance norms.
//
// Mapping: a block of 128 threads has a row, and goes over it three times.
//   onnx_log_softmax: x - max - log sum exp(x - max).
//   onnx_group_norm: a row is a group of an image: `channels` channels of `pixels` each, of `groups` rows an image.

#include "elements.cuh"

#ifndef ELEMENT
#define ELEMENT float
#endif

constexpr int THREADS = 128;
#define INFINITE __int_as_float(0x7f800000)

template <bool LARGEST> __device__ __forceinline__ float joined(float value)
{
    __shared__ float values[THREADS];
    __syncthreads();  // those before have read theirs
    values[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float a = values[threadIdx.x], b = values[threadIdx.x + half];
            values[threadIdx.x] = LARGEST ? fmaxf(a, b) : a + b;
        }
        __syncthreads();
    }
    return values[0];
}

extern "C" __global__ void __launch_bounds__(THREADS) onnx_log_softmax(const ELEMENT* x, ELEMENT* y, int columns)
{
    x += (long long)blockIdx.x * columns;
    y += (long long)blockIdx.x * columns;
    float largest = -INFINITE, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += THREADS) largest = fmaxf(largest, float(x[i]));
    largest = joined<true>(largest);
    for (int i = threadIdx.x; i < columns; i += THREADS) sum += expf(float(x[i]) - largest);
    const float shift = largest + logf(joined<false>(sum));
    for (int i = threadIdx.x; i < columns; i += THREADS) y[i] = ELEMENT(float(x[i]) - shift);
}

extern "C" __global__ void __launch_bounds__(THREADS) onnx_group_norm(
    const ELEMENT* x, const ELEMENT* scale, const ELEMENT* bias, ELEMENT* y, int groups, int channels, int pixels,
    float epsilon)
{
    const int n = channels * pixels, first = blockIdx.x % groups * channels;
    x += (long long)blockIdx.x * n;
    y += (long long)blockIdx.x * n;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < n; i += THREADS) sum += float(x[i]);
    const float centre = joined<false>(sum) / n;
    for (int i = threadIdx.x; i < n; i += THREADS) squares += (float(x[i]) - centre) * (float(x[i]) - centre);
    const float factor = rsqrtf(joined<false>(squares) / n + epsilon);
    for (int i = threadIdx.x; i < n; i += THREADS) {
        const int channel = first + i / pixels;
        y[i] = ELEMENT((float(x[i]) - centre) * factor * float(scale[channel]) + float(bias[channel]));
    }
}
