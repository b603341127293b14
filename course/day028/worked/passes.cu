// passes WAY N: the transform of a tone of three turns, N complex samples, by a kernel of our own for each stage (own,
// N a power of two) or by the library (library).

#include <cufft.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#define CHECK(call)                                                  \
    if (const int code = (call)) {                                   \
        fprintf(stderr, "%s: error %d\n", #call, code);              \
        exit(1);                                                     \
    }

// One stage: transforms of 2 * before elements from pairs of `before`.
__global__ void stage(const float2* x, float2* y, int n, int before)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2) return;
    const int k = i % before;
    float sine, cosine;
    sincospif(-(float)k / before, &sine, &cosine);
    const float2 a = x[i], b = x[i + n / 2];
    const float2 t = make_float2(cosine * b.x - sine * b.y,
                                 cosine * b.y + sine * b.x);
    const int to = 2 * i - k;
    y[to] = make_float2(a.x + t.x, a.y + t.y);
    y[to + before] = make_float2(a.x - t.x, a.y - t.y);
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: passes own|library N\n");
        return 2;
    }
    const bool own = std::string(argv[1]) == "own";
    const int n = atoi(argv[2]);
    if (n < 8 || (own && (n & (n - 1)))) {
        fprintf(stderr, "N is 8 or more, and a power of two for our own\n");
        return 2;
    }
    const size_t bytes = sizeof(float2) * n;
    std::vector<float2> X(n);
    for (int j = 0; j < n; j++) {
        const double angle = 2.0 * M_PI * 3.0 * j / n;
        X[j] = make_float2(cos(angle), sin(angle));
    }
    float2 *x, *y;
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMalloc(&y, bytes));
    CHECK(cudaMemcpy(x, X.data(), bytes, cudaMemcpyHostToDevice));

    if (own) {
        for (int before = 1; before < n; before *= 2) {
            stage<<<(n / 2 + 255) / 256, 256>>>(x, y, n, before);
            CHECK(cudaGetLastError());
            std::swap(x, y);
        }
    } else {
        cufftHandle plan;
        CHECK(cufftPlan1d(&plan, n, CUFFT_C2C, 1));
        CHECK(cufftExecC2C(plan, x, x, CUFFT_FORWARD));
        CHECK(cufftDestroy(plan));
    }
    CHECK(cudaMemcpy(X.data(), x, bytes, cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int k = 0; k < n; k++) {
        const float expected = k == 3 ? n : 0;
        wrong += hypotf(X[k].x - expected, X[k].y) > 1e-5f * n;
    }
    printf("%d wrong of %d\n", wrong, n);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return wrong != 0;
}
