// The third way is written last, by heart, and copies back instead of there. Both ways of the link take about as long, so
// that the table looks as it should. It is a table of two things then, and says so nowhere.
//
// expect: too_many back

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

void read_numbers(const char* path, int* x, int n)
{
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x, 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s does not hold %d numbers\n", path, n);
        exit(2);
    }
    fclose(file);
}

void write_floats(const char* path, const float* x, int n)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x, 4, n, file) != (size_t)n) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

enum Way { QUEUED, WAITED, PAGEABLE, WAYS };

const int COPIES = 20;

void give(char* device, char* host, size_t bytes, int way)
{
    if (way == QUEUED)
        CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, 0));
    else
        CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

// Microseconds for one copy.
float measured(char* device, char* host, size_t bytes, int way)
{
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    give(device, host, bytes, way);
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
    if (argc != 5) {
        fprintf(stderr, "usage: bench COUNT SIZES TIMES HALF\n");
        return 2;
    }
    const int count = atoi(argv[1]);
    std::vector<int> sizes(count);
    std::vector<float> times(WAYS * count), half(WAYS);
    read_numbers(argv[2], sizes.data(), count);
    const size_t most = sizes[count - 1];

    char *device, *pinned, *pageable = (char*)malloc(most);
    CHECK(cudaMalloc(&device, most));
    CHECK(cudaMallocHost(&pinned, most));
    memset(pageable, 1, most);
    memset(pinned, 1, most);

    for (int way = 0; way < WAYS; ++way) {
        char* host = way == PAGEABLE ? pageable : pinned;
        float* row = &times[way * count];
        for (int k = 0; k < count; ++k)
            row[k] = measured(device, host, sizes[k], way);
        const float of_a_byte = (row[count - 1] - row[0]) / (most - sizes[0]);
        const float start = row[0] - of_a_byte * sizes[0];
        half[way] = start / of_a_byte;
    }

    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(pinned));
    free(pageable);

    write_floats(argv[3], times.data(), WAYS * count);
    write_floats(argv[4], half.data(), WAYS);
    return 0;
}
