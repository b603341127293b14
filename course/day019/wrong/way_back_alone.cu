// The copies back have a stream of their own. So no batch waits for another's way back. That a copy back has to wait
// for its kernel was forgotten, and that the next batch in this place has to wait for the copy.
//
// expect: stream_race

// center N BATCHES X Y MEANS: from each of BATCHES times N readings their
// mean is taken off. X is a file to read; Y and MEANS are written.

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

const int THREADS = 256, BLOCKS = 128;

void read_numbers(const char* path, int* x, int n)
{
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x, 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s does not hold %d numbers\n", path, n);
        exit(2);
    }
    fclose(file);
}

void write_numbers(const char* path, const int* x, int n)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x, 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

// Adds the sum of x to *sum.
__global__ void add_up(const int* x, int n, int* sum)
{
    int own = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        own += x[i];
    for (int k = 16; k > 0; k /= 2)  // of the warp
        own += __shfl_down_sync(~0u, own, k);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

__global__ void subtract(const int* x, int* y, int n, const int* sum)
{
    const int mean = *sum / n;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        y[i] = x[i] - mean;
}

// What a batch needs on the device, and the stream that it goes through.
const int PLACES = 3;
struct Place {
    int *x, *y, *sum;
    cudaStream_t stream;
};

int main(int argc, char** argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: center N BATCHES X Y MEANS\n");
        return 2;
    }
    const int n = atoi(argv[1]), batches = atoi(argv[2]);
    const size_t bytes = n * sizeof(int), each = batches * sizeof(int);
    int *x, *y, *means;  // on the host
    CHECK(cudaMallocHost(&x, batches * bytes));
    CHECK(cudaMallocHost(&y, batches * bytes));
    CHECK(cudaMallocHost(&means, each));
    read_numbers(argv[3], x, n * batches);

    Place place[PLACES];
    cudaStream_t back;
    CHECK(cudaStreamCreate(&back));
    for (Place& p : place) {
        CHECK(cudaMalloc(&p.x, bytes));
        CHECK(cudaMalloc(&p.y, bytes));
        CHECK(cudaMalloc(&p.sum, sizeof(int)));
        CHECK(cudaStreamCreate(&p.stream));
    }

    for (int b = 0; b < batches; ++b) {
        const Place& p = place[b % PLACES];
        CHECK(cudaMemcpyAsync(p.x, x + (size_t)b * n, bytes,
                              cudaMemcpyHostToDevice, p.stream));
        CHECK(cudaMemsetAsync(p.sum, 0, sizeof(int), p.stream));
        add_up<<<BLOCKS, THREADS, 0, p.stream>>>(p.x, n, p.sum);
        CHECK(cudaGetLastError());
        subtract<<<BLOCKS, THREADS, 0, p.stream>>>(p.x, p.y, n, p.sum);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(y + (size_t)b * n, p.y, bytes,  // <- here
                              cudaMemcpyDeviceToHost, back));
        CHECK(cudaMemcpyAsync(means + b, p.sum, sizeof(int),
                              cudaMemcpyDeviceToHost, p.stream));
    }
    CHECK(cudaDeviceSynchronize());
    for (int b = 0; b < batches; ++b)
        means[b] /= n;

    CHECK(cudaStreamDestroy(back));
    for (const Place& p : place) {
        CHECK(cudaFree(p.x));
        CHECK(cudaFree(p.y));
        CHECK(cudaFree(p.sum));
        CHECK(cudaStreamDestroy(p.stream));
    }

    write_numbers(argv[4], y, n * batches);
    write_numbers(argv[5], means, batches);
    CHECK(cudaFreeHost(x));
    CHECK(cudaFreeHost(y));
    CHECK(cudaFreeHost(means));
    return 0;
}
