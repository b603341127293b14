// Memory of the right size is pinned for each measurement and given back behind it, outside of the events. All times
// are right. The program takes many times as long as what it measures, and so does every program that pins in its loop.
//
// expect: too_many allocations

// bench COUNT SIZES TIMES HALF: how long one copy to the device takes, for
// COUNT sizes in bytes, in three ways, and where latency ends for each.
// SIZES is a file to read: 32-bit integers that rise. TIMES is written: 3
// rows of COUNT floats, microseconds for one copy; then HALF: 3 floats, the
// bytes at which half of a copy's time is its start. The rows are: pinned
// and one behind the other, pinned and each waited for, pageable.

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

void give(char* device, const char* host, size_t bytes, int way)
{
    if (way == QUEUED)
        CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, 0));
    else
        CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}

// Microseconds for one copy.
float measured(char* device, const char* host, size_t bytes, int way)
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
        float* row = &times[way * count];
        for (int k = 0; k < count; ++k)
        {
            char* own;
            CHECK(cudaMallocHost(&own, sizes[k]));  // <- here
            const char* host = way == PAGEABLE ? pageable : own;
            row[k] = measured(device, host, sizes[k], way);
            CHECK(cudaFreeHost(own));  // <- here
        }
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
