// curand_calls TYPE SEED OFFSET ORDER KIND N MORE FILE: N numbers of a generator, then MORE in a second call, as bytes.
// KIND: bits uniform uniform_double normal normal_double log_normal; on the host where it ends in @.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <curand.h>

#define CHECK(call)                                                   \
    do {                                                              \
        if (const int code = (call)) {                                \
            printf("%s: %d\n", #call, code);                          \
            return 1;                                                 \
        }                                                             \
    } while (0)

curandStatus_t draw(curandGenerator_t g, const std::string& kind, void* out, size_t n)
{
    if (kind == "bits") return curandGenerate(g, (unsigned*)out, n);
    if (kind == "uniform") return curandGenerateUniform(g, (float*)out, n);
    if (kind == "uniform_double") return curandGenerateUniformDouble(g, (double*)out, n);
    if (kind == "normal") return curandGenerateNormal(g, (float*)out, n, 1.0f, 2.0f);
    if (kind == "normal_double") return curandGenerateNormalDouble(g, (double*)out, n, 0.0, 1.0);
    return curandGenerateLogNormal(g, (float*)out, n, 0.0f, 1.0f);
}

int main(int, char** argv)
{
    const auto type = curandRngType_t(atoi(argv[1]));
    std::string kind = argv[5];
    const bool on_host = kind.back() == '@';
    if (on_host) kind.pop_back();
    const size_t counts[] = {size_t(atoll(argv[6])), size_t(atoll(argv[7]))}, size = kind.find("double") == kind.npos ? 4 : 8;
    curandGenerator_t g;
    CHECK(on_host ? curandCreateGeneratorHost(&g, type) : curandCreateGenerator(&g, type));
    if (type < CURAND_RNG_QUASI_DEFAULT)
        CHECK(curandSetPseudoRandomGeneratorSeed(g, strtoull(argv[2], nullptr, 0)));
    else
        CHECK(curandSetQuasiRandomGeneratorDimensions(g, 4));
    CHECK(curandSetGeneratorOffset(g, strtoull(argv[3], nullptr, 0)));
    if (atoi(argv[4])) CHECK(curandSetGeneratorOrdering(g, curandOrdering_t(atoi(argv[4]))));
    FILE* file = fopen(argv[8], "wb");
    for (size_t n : counts) {
        if (n == 0) continue;
        std::vector<char> here(n * size);
        void* there = here.data();
        if (!on_host) CHECK(cudaMalloc(&there, n * size));
        CHECK(draw(g, kind, there, n));
        if (!on_host) {
            CHECK(cudaMemcpy(here.data(), there, n * size, cudaMemcpyDeviceToHost));
            CHECK(cudaFree(there));
        }
        fwrite(here.data(), 1, here.size(), file);
    }
    fclose(file);
    CHECK(curandDestroyGenerator(g));
    CHECK(curandDestroyGenerator(g) == CURAND_STATUS_NOT_INITIALIZED ? 0 : 1);
    return 0;
}
