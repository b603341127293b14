// The plan was never told of the stream, so its kernels go to the default stream. The program's stream was made not to
// wait for that one. The transform may begin before the samples are there.
//
// expect: stream_race

#include <cufft.h>

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

#define FFT(call)                                                    \
    do {                                                             \
        const cufftResult result = (call);                           \
        if (result != CUFFT_SUCCESS) {                               \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    name_of(result));                                \
            exit(1);                                                 \
        }                                                            \
    } while (0)

// The library has no function for this.
const char* name_of(cufftResult result)
{
    switch (result) {
    case CUFFT_INVALID_PLAN: return "CUFFT_INVALID_PLAN";
    case CUFFT_ALLOC_FAILED: return "CUFFT_ALLOC_FAILED";
    case CUFFT_INVALID_VALUE: return "CUFFT_INVALID_VALUE";
    case CUFFT_EXEC_FAILED: return "CUFFT_EXEC_FAILED";
    case CUFFT_INVALID_SIZE: return "CUFFT_INVALID_SIZE";
    default: return "another error of cuFFT";
    }
}

std::vector<float> read_floats(const char* path, size_t n)
{
    std::vector<float> x(n);
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x.data(), sizeof(float), n, file) != n) {
        fprintf(stderr, "%s does not hold %zu floats\n", path, n);
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

// a[i] = scale |y[i]|
__global__ void sizes(const cufftComplex* y, float* a, int count, float scale)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) a[i] = scale * hypotf(y[i].x, y[i].y);
}

int main(int argc, char** argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: spectra FRAMES N X A\n");
        return 2;
    }
    const int frames = atoi(argv[1]), n = atoi(argv[2]);
    const std::vector<float> x = read_floats(argv[3], (size_t)frames * n);

    const int bins = n / 2 + 1;
    const int count = frames * bins;
    std::vector<float> a(count);

    float *device_x, *device_a;
    cufftComplex* device_y;
    CHECK(cudaMalloc(&device_x, x.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_y, count * sizeof(cufftComplex)));
    CHECK(cudaMalloc(&device_a, count * sizeof(float)));

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMemcpyAsync(device_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice, stream));

    cufftHandle plan;
    FFT(cufftPlan1d(&plan, n, CUFFT_R2C, frames));

    FFT(cufftExecR2C(plan, device_x, device_y));

    sizes<<<(count + 255) / 256, 256, 0, stream>>>(device_y, device_a, count, 1.0f / n);  // <- here
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpyAsync(a.data(), device_a, a.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));

    FFT(cufftDestroy(plan));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_y));
    CHECK(cudaFree(device_a));

    write_floats(argv[4], a);
    return 0;
}
