// scratch STEPS EACH WAY: in every step a kernel with 1 MiB of scratch
// memory; after EACH steps the host waits. WAY: malloc, pool or kept.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

constexpr size_t BYTES = 1 << 20;

__global__ void work(char* scratch, int step)
{
    scratch[threadIdx.x] = step;
}

void step_with_malloc(int step, cudaStream_t stream)
{
    char* scratch;
    CHECK(cudaMalloc(&scratch, BYTES));
    work<<<1, 32, 0, stream>>>(scratch, step);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(scratch));
}

void step_with_pool(int step, cudaStream_t stream)
{
    char* scratch;
    CHECK(cudaMallocAsync(&scratch, BYTES, stream));
    work<<<1, 32, 0, stream>>>(scratch, step);
    CHECK(cudaGetLastError());
    CHECK(cudaFreeAsync(scratch, stream));
}

void keep_what_is_freed()
{
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t most = UINT64_MAX;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold,
                                  &most));
}

int main(int argc, char** argv)
{
    if (argc != 4) return 2;
    const int steps = atoi(argv[1]), each = atoi(argv[2]);
    const bool pooled = strcmp(argv[3], "malloc") != 0;
    if (strcmp(argv[3], "kept") == 0) keep_what_is_freed();

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int step = 1; step <= steps; ++step) {
        pooled ? step_with_pool(step, stream)
               : step_with_malloc(step, stream);
        if (step % each == 0) CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamSynchronize(stream));

    cudaMemPool_t pool;
    uint64_t reserved;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent,
                                  &reserved));
    printf("the pool still holds %llu bytes\n",
           (unsigned long long)reserved);
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
