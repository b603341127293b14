// large N PIECES PLACES: N floats, each made x * x - x / 2, in PIECES that
// take turns in PLACES, each with memory and a stream. With PIECES 0 the
// memory of the device says how large a piece is, with PLACES 0 there is
// one copy of all N floats, and nothing else.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

__global__ void curve(float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * x[i] - x[i] / 2;
}

// A third of what is free, with some left for others, in floats.
int largest_piece(int places)
{
    size_t left, all;
    CHECK(cudaMemGetInfo(&left, &all));
    return left / 10 * 9 / places / sizeof(float);
}

int main(int argc, char** argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: large N PIECES PLACES\n");
        return 2;
    }
    const int n = atoi(argv[1]), pieces = atoi(argv[2]);
    const int places = atoi(argv[3]);
    float* x;
    CHECK(cudaMallocHost(&x, n * sizeof(float)));
    for (int i = 0; i < n; ++i)
        x[i] = i % 1000;

    if (places == 0) {
        float* all;
        CHECK(cudaMalloc(&all, n * sizeof(float)));
        CHECK(cudaMemcpy(all, x, n * sizeof(float),
                         cudaMemcpyHostToDevice));
        CHECK(cudaFree(all));
        CHECK(cudaFreeHost(x));
        return 0;
    }

    const int part =
        pieces ? (n + pieces - 1) / pieces : largest_piece(places);
    float* place[8];
    cudaStream_t stream[8];
    for (int k = 0; k < places; ++k) {
        CHECK(cudaMalloc(&place[k], part * sizeof(float)));
        CHECK(cudaStreamCreate(&stream[k]));
    }

    for (int first = 0, p = 0; first < n; first += part, ++p) {
        const int k = p % places, count = std::min(part, n - first);
        const size_t bytes = count * sizeof(float);
        CHECK(cudaMemcpyAsync(place[k], x + first, bytes,
                              cudaMemcpyHostToDevice, stream[k]));
        curve<<<(count + 255) / 256, 256, 0, stream[k]>>>(place[k], count);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(x + first, place[k], bytes,
                              cudaMemcpyDeviceToHost, stream[k]));
    }
    CHECK(cudaDeviceSynchronize());

    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        const float value = i % 1000;
        wrong += x[i] != value * value - value / 2;
    }
    printf("pieces of %d floats, %d wrong\n", part, wrong);
    for (int k = 0; k < places; ++k) {
        CHECK(cudaFree(place[k]));
        CHECK(cudaStreamDestroy(stream[k]));
    }
    CHECK(cudaFreeHost(x));
    return wrong != 0;
}
