// ways WAY N: each GPU has N numbers, and all of them get the sum. WAY is
// one (all to GPU 0), pass (whole buffers round the ring) or ring.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

const int THREADS = 256, BLOCKS = 256;

__managed__ bool wrong;

__global__ void fill(int* x, int n, int value)
{
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        x[i] = value + i;
}

// Whether x is the sum of what `fill` has written on all GPUs.
__global__ void look(const int* x, int n, int gpus)
{
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        if (x[i] != gpus * (gpus - 1) / 2 + gpus * i) wrong = true;
}

__global__ void add(int* x, const int* y, int n)
{
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        x[i] += y[i];
}

// A GPU's numbers, room for what comes in, and the stream of both.
struct Gpu {
    int *x, *in;
    cudaStream_t stream;
    cudaEvent_t sent;  // behind what the stream sent last
};

// From one GPU to another, in the stream of the one that sends.
void send(Gpu& from, int g, const int* x, int to, int* there, int n)
{
    CHECK(cudaMemcpyPeerAsync(there, to, x, g, n * sizeof(int),
                              from.stream));
    CHECK(cudaEventRecord(from.sent, from.stream));
}

// What `from` has sent is added to x, in the stream of GPU g.
void receive(Gpu& to, int g, const Gpu& from, int* x, const int* in, int n)
{
    CHECK(cudaSetDevice(g));
    CHECK(cudaStreamWaitEvent(to.stream, from.sent, 0));
    add<<<BLOCKS, THREADS, 0, to.stream>>>(x, in, n);
    CHECK(cudaGetLastError());
}

void by_one(std::vector<Gpu>& gpu, int n)
{
    const int gpus = gpu.size();
    Gpu& first = gpu[0];
    for (int g = 1; g < gpus; g++)
        send(gpu[g], g, gpu[g].x, 0, first.in + (g - 1) * n, n);
    for (int g = 1; g < gpus; g++)
        receive(first, 0, gpu[g], first.x, first.in + (g - 1) * n, n);
    for (int g = 1; g < gpus; g++) {
        send(first, 0, first.x, g, gpu[g].x, n);
        CHECK(cudaStreamWaitEvent(gpu[g].stream, first.sent, 0));
    }
}

// Everything that comes in is added, and is what goes out next.
void pass_on(std::vector<Gpu>& gpu, int n)
{
    const int gpus = gpu.size();
    for (int step = 0; step < gpus - 1; step++) {
        for (int g = 0; g < gpus; g++) {
            const int right = (g + 1) % gpus;
            const int* x = step ? gpu[g].in + (step - 1) * n : gpu[g].x;
            send(gpu[g], g, x, right, gpu[right].in + step * n, n);
        }
        for (int g = 0; g < gpus; g++) {
            const int left = (g + gpus - 1) % gpus;
            CHECK(cudaStreamWaitEvent(gpu[g].stream, gpu[left].sent, 0));
        }
    }
    for (int g = 0; g < gpus; g++) {
        CHECK(cudaSetDevice(g));
        for (int k = 0; k < gpus - 1; k++) {
            add<<<BLOCKS, THREADS, 0, gpu[g].stream>>>(
                gpu[g].x, gpu[g].in + k * n, n);
            CHECK(cudaGetLastError());
        }
    }
}

void round_the_ring(std::vector<Gpu>& gpu, int n)
{
    const int gpus = gpu.size(), part = n / gpus;
    for (int step = 0; step < 2 * (gpus - 1); step++) {
        const bool adds = step < gpus - 1;
        for (int g = 0; g < gpus; g++) {
            const int right = (g + 1) % gpus;
            const int at = (g - step + 2 * gpus) % gpus * part;
            int* there = adds ? gpu[right].in : gpu[right].x;
            send(gpu[g], g, gpu[g].x + at, right, there + at, part);
        }
        for (int g = 0; g < gpus; g++) {
            const int left = (g + gpus - 1) % gpus;
            const int at = (left - step + 2 * gpus) % gpus * part;
            if (adds)
                receive(gpu[g], g, gpu[left], gpu[g].x + at,
                        gpu[g].in + at, part);
            else
                CHECK(cudaStreamWaitEvent(gpu[g].stream, gpu[left].sent,
                                          0));
        }
    }
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: ways one|pass|ring N\n");
        return 2;
    }
    const int n = atoi(argv[2]);
    const size_t bytes = n * sizeof(int);
    int gpus;
    CHECK(cudaGetDeviceCount(&gpus));
    std::vector<Gpu> gpu(gpus);
    for (int g = 0; g < gpus; g++) {
        CHECK(cudaSetDevice(g));
        for (int other = 0; other < gpus; other++)
            if (other != g) CHECK(cudaDeviceEnablePeerAccess(other, 0));
        CHECK(cudaMalloc(&gpu[g].x, bytes));
        CHECK(cudaMalloc(&gpu[g].in, (gpus - 1) * bytes));
        CHECK(cudaStreamCreate(&gpu[g].stream));
        CHECK(cudaEventCreate(&gpu[g].sent));
    }
    for (int g = 0; g < gpus; g++) {
        CHECK(cudaSetDevice(g));
        fill<<<BLOCKS, THREADS, 0, gpu[g].stream>>>(gpu[g].x, n, g);
        CHECK(cudaGetLastError());
    }

    if (strcmp(argv[1], "one") == 0)
        by_one(gpu, n);
    else if (strcmp(argv[1], "pass") == 0)
        pass_on(gpu, n);
    else
        round_the_ring(gpu, n);

    for (int g = 0; g < gpus; g++) {
        CHECK(cudaSetDevice(g));
        look<<<BLOCKS, THREADS, 0, gpu[g].stream>>>(gpu[g].x, n, gpus);
        CHECK(cudaGetLastError());
    }
    for (int g = 0; g < gpus; g++) {
        CHECK(cudaSetDevice(g));
        CHECK(cudaDeviceSynchronize());
    }
    for (int g = 0; g < gpus; g++) {
        CHECK(cudaFree(gpu[g].x));
        CHECK(cudaFree(gpu[g].in));
        CHECK(cudaStreamDestroy(gpu[g].stream));
        CHECK(cudaEventDestroy(gpu[g].sent));
    }
    printf("%d GPUs, %s\n", gpus, wrong ? "wrong" : "the sum on each");
    return wrong;
}
