// Negative log-likelihood: of each place the logarithm of its class, weighed. A place whose class is `ignored` has loss and
// weight 0; a class that is out of range stops the kernel.
//
// Mapping: a thread has a place. x is [images, classes, pixels] in C order, target, loss and weight [images, pixels].

#include "elements.cuh"

extern "C" __global__ void onnx_negative_log_likelihood(
    const ELEMENT* x, const INDEX* target, const ELEMENT* class_weights, ELEMENT* loss, ELEMENT* weight, int n,
    int classes, int pixels, int ignores, long long ignored)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const long long chosen = target[i];
    const bool counts = !ignores || chosen != ignored;
    if (counts && (chosen < 0 || chosen >= classes)) __trap();
    const long long image = i / pixels, pixel = i % pixels;
    const SUM w = !counts ? SUM(0) : class_weights ? SUM(class_weights[chosen]) : SUM(1);
    weight[i] = ELEMENT(w);
    loss[i] = ELEMENT(counts ? -SUM(x[(image * classes + chosen) * pixels + pixel]) * w : SUM(0));
}
