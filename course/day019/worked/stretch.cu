// stretch MODE N: eight pictures of N pixels, each stretched so that its
// brightest pixel is 255. MODE is asked, kept, one, two or three.

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

const int PICTURES = 8, THREADS = 256, BLOCKS = 128;

// What a picture needs on the device, and the stream that it goes through.
struct Place {
    int *x, *y, *top;
    cudaStream_t stream;
};

__global__ void brightest(const int* x, int n, int* top)
{
    int most = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        most = max(most, x[i]);
    for (int k = 16; k > 0; k /= 2)  // of the warp
        most = max(most, __shfl_down_sync(~0u, most, k));
    if (threadIdx.x % 32 == 0) atomicMax(top, most);
}

__global__ void stretch(const int* x, int* y, int n, int top)
{
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        y[i] = x[i] * 255 / top;
}

// The same, and the brightest pixel is where `brightest` has left it.
__global__ void stretch_by(const int* x, int* y, int n, const int* top)
{
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        y[i] = x[i] * 255 / *top;
}

Place asked_for(int n, cudaStream_t stream)
{
    Place p = {nullptr, nullptr, nullptr, stream};
    CHECK(cudaMalloc(&p.x, n * sizeof(int)));
    CHECK(cudaMalloc(&p.y, n * sizeof(int)));
    CHECK(cudaMalloc(&p.top, sizeof(int)));
    return p;
}

void given_back(Place p)
{
    CHECK(cudaFree(p.x));
    CHECK(cudaFree(p.y));
    CHECK(cudaFree(p.top));
}

// One picture; the host learns its brightest pixel and tells the kernel.
void by_host(Place p, const int* in, int* out, int n, int* top)
{
    const size_t bytes = n * sizeof(int);
    CHECK(cudaMemcpyAsync(p.x, in, bytes, cudaMemcpyHostToDevice,
                          p.stream));
    CHECK(cudaMemsetAsync(p.top, 0, sizeof(int), p.stream));
    brightest<<<BLOCKS, THREADS, 0, p.stream>>>(p.x, n, p.top);
    CHECK(cudaMemcpyAsync(top, p.top, sizeof(int),
                          cudaMemcpyDeviceToHost, p.stream));
    CHECK(cudaStreamSynchronize(p.stream));
    stretch<<<BLOCKS, THREADS, 0, p.stream>>>(p.x, p.y, n, *top);
    CHECK(cudaMemcpyAsync(out, p.y, bytes, cudaMemcpyDeviceToHost,
                          p.stream));
}

// One picture; the second kernel finds the brightest pixel by itself.
void on_device(Place p, const int* in, int* out, int n)
{
    const size_t bytes = n * sizeof(int);
    CHECK(cudaMemcpyAsync(p.x, in, bytes, cudaMemcpyHostToDevice,
                          p.stream));
    CHECK(cudaMemsetAsync(p.top, 0, sizeof(int), p.stream));
    brightest<<<BLOCKS, THREADS, 0, p.stream>>>(p.x, n, p.top);
    stretch_by<<<BLOCKS, THREADS, 0, p.stream>>>(p.x, p.y, n, p.top);
    CHECK(cudaMemcpyAsync(out, p.y, bytes, cudaMemcpyDeviceToHost,
                          p.stream));
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: stretch asked|kept|one|two|three N\n");
        return 2;
    }
    const bool asked = !strcmp(argv[1], "asked");
    const bool kept = !strcmp(argv[1], "kept");
    const int places = !strcmp(argv[1], "two")     ? 2
                       : !strcmp(argv[1], "three") ? 3
                                                   : 1;
    const int n = atoi(argv[2]), all = PICTURES * n;
    int *x, *y, *top;
    CHECK(cudaMallocHost(&x, all * sizeof(int)));
    CHECK(cudaMallocHost(&y, all * sizeof(int)));
    CHECK(cudaMallocHost(&top, sizeof(int)));
    for (int i = 0; i < all; ++i)
        x[i] = i % 97 + i / n;

    Place place[3];
    for (Place& p : place) {
        cudaStream_t stream;
        CHECK(cudaStreamCreate(&stream));
        p = asked_for(n, stream);
    }
    for (int k = 0; k < PICTURES; ++k) {
        const int* in = x + k * n;
        int* out = y + k * n;
        if (asked) {
            Place own = asked_for(n, place[0].stream);
            by_host(own, in, out, n, top);
            given_back(own);
        } else if (kept) {
            by_host(place[0], in, out, n, top);
        } else {
            on_device(place[k % places], in, out, n);
        }
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());

    int wrong = 0;
    for (int i = 0; i < all; ++i)
        wrong += y[i] != x[i] * 255 / (96 + i / n);
    printf("%d wrong\n", wrong);
    for (Place p : place) {
        given_back(p);
        CHECK(cudaStreamDestroy(p.stream));
    }
    CHECK(cudaFreeHost(x));
    CHECK(cudaFreeHost(y));
    CHECK(cudaFreeHost(top));
    return wrong != 0;
}
