// center N BATCHES X Y MEANS: from each of BATCHES times N readings their
// mean is taken off, rounded down. A reading is from 0 to 9,999. X is a file
// to read; Y and MEANS are written.

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

__global__ void subtract(const int* x, int* y, int n, int mean)
{
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n;
         i += BLOCKS * THREADS)
        y[i] = x[i] - mean;
}

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

    // 1. All that the device needs, before the first batch: how many batches
    //    are under way at a time, and what does each of them need for itself?

    // 2. For each batch: its readings in, a sum of 0, add_up, subtract, the
    //    result back. Who has to know the mean, and who has to wait for it?

    // 3. The sum of batch b to means[b], without a wait.

    // 4. What must be over before the host divides means[b] by n, and before
    //    y is written below?

    // 5. What has been asked for is given back.

    write_numbers(argv[4], y, n * batches);
    write_numbers(argv[5], means, batches);
    CHECK(cudaFreeHost(x));
    CHECK(cudaFreeHost(y));
    CHECK(cudaFreeHost(means));
    return 0;
}
