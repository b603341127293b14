// Day 12: a megabyte there, doubled, and back to the host, which adds it up: by copies, by page faults, by prefetches.

#include "clock.h"
#define main worked
#include "managed.cu"
#undef main

constexpr int COUNT = 262144;
constexpr size_t SIZE = COUNT * sizeof(float);
volatile double total;

enum Way { COPIED, FAULTED, PREFETCHED };

// Microseconds of the kernel with what brings it its pages, and of the host's sum with what brings them back.
void passed(Way way, int stride, double* there, double* back)
{
    float *x, *device_x = nullptr;
    const int threads = (COUNT + stride - 1) / stride;
    const cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
    if (way == COPIED) {
        CHECK(cudaMallocHost(&x, SIZE));
        CHECK(cudaMalloc(&device_x, SIZE));
    } else {
        CHECK(cudaMallocManaged(&x, SIZE));
        device_x = x;
    }
    for (int i = 0; i < COUNT; i++)
        x[i] = 1.0f;
    CHECK(cudaDeviceSynchronize());

    const double a = now_us();
    if (way == COPIED) CHECK(cudaMemcpyAsync(device_x, x, SIZE, cudaMemcpyHostToDevice));
    if (way == PREFETCHED) CHECK(cudaMemPrefetchAsync(x, SIZE, device, 0, 0));
    twice<<<(threads + 127) / 128, 128>>>(device_x, COUNT, stride);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    const double b = now_us();
    if (way == COPIED) CHECK(cudaMemcpy(x, device_x, SIZE, cudaMemcpyDeviceToHost));
    if (way == PREFETCHED) {
        CHECK(cudaMemPrefetchAsync(x, SIZE, host, 0, 0));
        CHECK(cudaDeviceSynchronize());
    }
    double sum = 0.0;
    for (int i = 0; i < COUNT; i++)
        sum += x[i];
    const double c = now_us();
    total = sum;
    if (sum - COUNT != threads) {
        fprintf(stderr, "the sum has grown by %.0f, not by %d\n", sum - COUNT, threads);
        exit(1);
    }
    *there = b - a, *back = c - b;
    if (way == COPIED) CHECK(cudaFree(device_x));
    CHECK(way == COPIED ? cudaFreeHost(x) : cudaFree(x));
}

int main()
{
    const char* names[] = {"copied", "faulted", "prefetched"};
    for (int way = COPIED; way <= PREFETCHED; ++way)
        for (int stride : {1, 1024}) {
            std::vector<double> there, back;
            for (int round = -2; round < ROUNDS; ++round) {
                double a, b;
                passed((Way)way, stride, &a, &b);
                if (round >= 0) there.push_back(a), back.push_back(b);
            }
            char name[64];
            snprintf(name, sizeof name, "%s.there_us.stride_%d", names[way], stride);
            figure(name, middle(there));
            snprintf(name, sizeof name, "%s.back_us.stride_%d", names[way], stride);
            figure(name, middle(back));
        }
    // The host's sum alone, with all pages where it is.
    std::vector<float> own(COUNT, 1.0f);
    figure("sum_us", median_us([&] {
        const double a = now_us();
        double sum = 0.0;
        for (int i = 0; i < COUNT; i++)
            sum += own[i];
        total = sum;
        return now_us() - a;
    }));
}
