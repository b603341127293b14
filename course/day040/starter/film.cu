// film P H W R IMAGE WEIGHTS FILTERED: every frame of a film through a filter, in streams.
// IMAGE holds P frames of H by W floats, WEIGHTS 2R + 1 by 2R + 1, FILTERED is the file to write.

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

void read_floats(const char* path, float* x, size_t n)
{
    FILE* file = fopen(path, "rb");
    if (file == nullptr || fread(x, sizeof(float), n, file) != n) {
        fprintf(stderr, "%s does not hold %zu floats\n", path, n);
        exit(2);
    }
    fclose(file);
}

void write_floats(const char* path, const float* x, size_t n)
{
    FILE* file = fopen(path, "wb");
    if (file == nullptr || fwrite(x, sizeof(float), n, file) != n) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(2);
    }
    fclose(file);
}

constexpr int MOST = 5;              // the largest R
constexpr int SIDE = 2 * MOST + 1;   // weights along a side, for that R
constexpr int WIDE = 32, TALL = 16;  // pixels of a block

__constant__ float weights[SIDE * SIDE];

// 1. A kernel that filters one frame: zeros outside, a tile with its halo in shared memory, the weights from above.

int main(int argc, char** argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: film P H W R IMAGE WEIGHTS FILTERED\n");
        return 2;
    }
    const int P = atoi(argv[1]), H = atoi(argv[2]), W = atoi(argv[3]), R = atoi(argv[4]);
    if (R > MOST) {
        fprintf(stderr, "R is %d, at most %d can be filtered\n", R, MOST);
        return 2;
    }
    const size_t pixels = (size_t)H * W, bytes = pixels * sizeof(float);
    const int taps = 2 * R + 1;
    float given[SIDE * SIDE], *film, *filtered;
    CHECK(cudaMallocHost(&film, P * bytes));
    CHECK(cudaMallocHost(&filtered, P * bytes));
    read_floats(argv[5], film, P * pixels);
    read_floats(argv[6], given, taps * taps);

    // 2. How many frames are under way at a time? So many streams, and each with memory for a frame before and after.

    // 3. The weights, once, before any frame is filtered.

    // 4. Frame after frame, the streams in turn: the copy in, the kernel, the copy out.

    // 5. The host writes `filtered` below. What must it wait for?

    write_floats(argv[7], filtered, P * pixels);
    // 6. Give back what 2 has taken.

    CHECK(cudaFreeHost(film));
    CHECK(cudaFreeHost(filtered));
    return 0;
}
