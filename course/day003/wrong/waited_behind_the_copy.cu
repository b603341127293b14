// The kernel has a stream of its own, one that does not wait for the default stream, and the host waits for it. So there is
// a wait, and the results were right each time. But the wait stands behind the copy back. With a short kernel the copy
// comes late enough by chance; nothing says that it must.
//
// expect: stream_race

// add N A B C: c = a + b for N floats each. A and B are files to read, C is the file to write.

#include <cstdio>
#include <cstdlib>
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

std::vector<float> read_floats(const char* path, int n)
{
    std::vector<float> x(n);
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x.data(), sizeof(float), n, file) != (size_t)n) {
        fprintf(stderr, "%s does not hold %d floats\n", path, n);
        exit(2);
    }
    fclose(file);
    return x;
}

void write_floats(const char* path, const std::vector<float>& x)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x.data(), sizeof(float), x.size(), file) != x.size()) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char** argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: add N A B C\n");
        return 2;
    }
    const int n = atoi(argv[1]);
    const std::vector<float> a = read_floats(argv[2], n), b = read_floats(argv[3], n);
    std::vector<float> c(n);
    const size_t bytes = n * sizeof(float);

    float *device_a, *device_b, *device_c;
    CHECK(cudaMalloc(&device_a, bytes));
    CHECK(cudaMalloc(&device_b, bytes));
    CHECK(cudaMalloc(&device_c, bytes));

    CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

    const int threads = 256, blocks = (n + threads - 1) / threads;
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    add<<<blocks, threads, 0, s>>>(device_a, device_b, device_c, n);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));  // <- here

    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));

    write_floats(argv[4], c);
    return 0;
}
