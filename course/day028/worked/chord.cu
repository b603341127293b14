// A second of three tones, and which frequencies the library finds in it.

#include <cufft.h>

#include <cmath>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                  \
    if (const int code = (call)) {                                   \
        fprintf(stderr, "%s: error %d\n", #call, code);              \
        return 1;                                                    \
    }

int main()
{
    const int n = 8192, bins = n / 2 + 1;  // samples a second
    std::vector<float> X(n);
    for (int j = 0; j < n; j++) {
        const double turns = 2.0 * M_PI * j / n;
        X[j] = 1.0 * cos(220.0 * turns) + 0.5 * cos(277.2 * turns) + 0.25 * sin(330.0 * turns);
    }
    std::vector<cufftComplex> Y(bins);

    float* x;
    cufftComplex* y;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&y, bins * sizeof(cufftComplex)));
    CHECK(cudaMemcpy(x, X.data(), n * sizeof(float),
                     cudaMemcpyHostToDevice));

    cufftHandle plan;
    CHECK(cufftPlan1d(&plan, n, CUFFT_R2C, 1));
    CHECK(cufftExecR2C(plan, x, y));
    CHECK(cudaMemcpy(Y.data(), y, bins * sizeof(cufftComplex),
                     cudaMemcpyDeviceToHost));

    for (int k = 0; k < bins; k++) {
        const float size = hypotf(Y[k].x, Y[k].y) / n;
        if (size > 0.04f) printf("%4d Hz  %.2f\n", k, size);
    }
    CHECK(cufftDestroy(plan));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return 0;
}
