// rates WAYS BYTES...: for each size a row, with GB/s for each of the WAYS
// in which 20 copies of it are given: q, pinned and one behind the other;
// w, pinned and each waited for; p, pageable.

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

const int COPIES = 20;
const size_t MOST = 64 << 20;

__global__ void awake() {}

void give(char* device, const char* host, size_t bytes, char way)
{
    if (way == 'q')
        CHECK(cudaMemcpyAsync(device, host, bytes,
                              cudaMemcpyHostToDevice, 0));
    else
        CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}

// Microseconds for each of COPIES copies.
float measured(char* device, const char* host, size_t bytes, char way)
{
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    give(device, host, bytes, way);  // the first one is nobody's measure
    CHECK(cudaEventRecord(start));
    for (int k = 0; k < COPIES; ++k)
        give(device, host, bytes, way);
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    return ms * 1000 / COPIES;
}

int main(int argc, char** argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: rates WAYS BYTES...\n");
        return 2;
    }
    char *device, *pinned, *pageable = (char*)malloc(MOST);
    CHECK(cudaMalloc(&device, MOST));
    CHECK(cudaMallocHost(&pinned, MOST));
    memset(pageable, 1, MOST);
    memset(pinned, 1, MOST);
    awake<<<1, 32>>>();  // the first call of all takes longest
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    printf("%10s", "bytes");
    for (const char* way = argv[1]; *way; ++way)
        printf("%10c", *way);
    for (int k = 2; k < argc; ++k) {
        const size_t bytes = atoll(argv[k]);
        printf("\n%10zu", bytes);
        for (const char* way = argv[1]; *way; ++way) {
            const char* host = *way == 'p' ? pageable : pinned;
            const float us = measured(device, host, bytes, *way);
            printf("%10.2f", bytes / us / 1000);
        }
    }
    printf("\n");
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(pinned));
    free(pageable);
    return 0;
}
