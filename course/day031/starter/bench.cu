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

    // 1. Memory, once for all sizes: on the device, pinned, and pageable.

    // 2. One copy of each size in each way. Between which two marks is its
    //    time, how many copies make it a good one, and in which unit is it?

    // 3. From a row: what does a byte cost, and what is left for the start?
    //    At which size are the two equal?
    (void)most;  // only so that the compiler does not complain of it before you use it

    write_floats(argv[3], times.data(), WAYS * count);
    write_floats(argv[4], half.data(), WAYS);
    return 0;
}
