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
    // 1. Which element is this thread's, and does it have one?
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

    // 2. Three arrays on the device; a.data() and b.data() are where the host's are.

    // 3. Bring a and b there.

    // 4. As many blocks of 256 threads as are needed for n elements, and was the launch taken?

    // 5. Bring the sum back to c.data(), and give back what was asked for.

    write_floats(argv[4], c);
    return 0;
}
