// copies MEMORY BYTES COUNT: COUNT copies of BYTES each to the device,
// from memory that is "pinned" or "pageable"; with "launch" COUNT launches
// in their place.

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

__global__ void nothing() {}

int main(int argc, char** argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: copies MEMORY BYTES COUNT\n");
        return 2;
    }
    const bool pinned = strcmp(argv[1], "pinned") == 0;
    const size_t bytes = atoll(argv[2]);
    const int count = atoi(argv[3]);
    char *x, *device_x;
    if (pinned)
        CHECK(cudaMallocHost(&x, count * bytes));
    else
        x = (char*)malloc(count * bytes);
    CHECK(cudaMalloc(&device_x, count * bytes));
    memset(x, 0, count * bytes);

    const bool launches = strcmp(argv[1], "launch") == 0;
    for (int k = 0; k < count && launches; k++) {
        nothing<<<1, 32>>>();
        CHECK(cudaGetLastError());
    }
    for (int k = 0; k < count && !launches; k++)
        CHECK(cudaMemcpy(device_x + k * bytes, x + k * bytes, bytes,
                         cudaMemcpyHostToDevice));

    CHECK(cudaFree(device_x));
    if (pinned)
        CHECK(cudaFreeHost(x));
    else
        free(x);
    return 0;
}
