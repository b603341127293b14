// 03 frame per thread: a thread takes one sample of each channel, and so all threads do the same.
//
// Moves: instructions, to a half once more: four samples share what is around the curves. Memory requests, to a
//   quarter.
// Mapping: thread t of block b -> samples 4 * (b * 256 + t) ... + 3.
//
// entry: calibrate_frame_per_thread
// block: 256
// grid: ceil(n/1024)

__device__ float thermistor(float v)  // e to the v, by ten terms of its series
{
    float r = 1.0f;
    for (int k = 10; k > 0; --k) r = 1.0f + r * (v * (1.0f / k));
    return r;
}

__device__ float microphone(float v)  // a soft limiter: six steps towards -1, 0 or 1
{
    for (int k = 0; k < 6; ++k) v = v * (1.5f - 0.5f * v * v);
    return v;
}

__device__ float photodiode(float v)  // bent upwards, eight times by a little
{
    for (int k = 0; k < 8; ++k) v = v + 0.125f * v * v;
    return v;
}

__device__ float flow_meter(float v)  // the square root of 1 + v * v, by four of Newton's steps
{
    const float square = 1.0f + v * v;
    float inverse = 0.85f;
    for (int k = 0; k < 4; ++k) inverse = inverse * (1.5f - 0.5f * square * inverse * inverse);
    return square * inverse;
}

extern "C" __global__ void calibrate_frame_per_thread(const float* x, float* y, int n)
{
    const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    const bool vectors = (((size_t)x | (size_t)y) & 15) == 0;
    if (vectors && first + 4 <= n) {
        const float4 v = *reinterpret_cast<const float4*>(x + first);
        *reinterpret_cast<float4*>(y + first) =
            make_float4(thermistor(v.x), microphone(v.y), photodiode(v.z), flow_meter(v.w));
        return;
    }
    if (first < n) y[first] = thermistor(x[first]);
    if (first + 1 < n) y[first + 1] = microphone(x[first + 1]);
    if (first + 2 < n) y[first + 2] = photodiode(x[first + 2]);
    if (first + 3 < n) y[first + 3] = flow_meter(x[first + 3]);
}
