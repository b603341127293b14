// Asks the device runtime for files.
//
// block: 64
// grid: ceil(n/64)
// expect: compile_error launch unsupported fault

extern "C" __device__ int open(const char*, int);
__global__ void k(const float* x, float* y, int n)
{
    y[0] = open("/etc/passwd", 0);
}
