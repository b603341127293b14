// grid: 7
// block: 96
// Lambdas and a range struct with iterators, as modern C++ has them; grid-stride.
struct Range {
    struct Step { long long i, by; __device__ bool operator!=(Step e) const { return i < e.i; } __device__ void operator++() { i += by; } __device__ long long operator*() const { return i; } };
    long long first, last, by;
    __device__ Step begin() const { return {first, by}; }
    __device__ Step end() const { return {last, by}; }
};
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y)
{
    const auto update = [=](float old, float value) { return fmaf(a, value, old); };
    for (long long i : Range{(long long)blockIdx.x * blockDim.x + threadIdx.x, n, (long long)gridDim.x * blockDim.x})
        y[i] = update(y[i], x[i]);
}
