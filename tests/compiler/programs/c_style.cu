#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <assert.h>
#include <sys/time.h>
#include <cuda.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define N 1024
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort=true)
{
   if (code != cudaSuccess) 
   {
      fprintf(stderr,"GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}
__managed__ int total = 0;
__constant__ float filter[9];
__device__ float scratch[N];
texture_t *unused;
typedef struct { float x, y, z; } vec3;
typedef enum { RED, GREEN } color_t;
struct Params { int n; float a; dim3 grid; };
static struct timeval tv;
double cpu_second() { struct timeval tp; gettimeofday(&tp, NULL); return tp.tv_sec + tp.tv_usec * 1e-6; }
void init(float *ip, int size) { time_t t; srand((unsigned) time(&t)); for (int i = 0; i < size; i++) ip[i] = (float)(rand() & 0xFF) / 10.0f; }
__device__ __forceinline__ float sq(float v) { return v * v; }
template <int BLOCK> __global__ void red(const float *x, float *y) { extern __shared__ float s[]; cg::thread_block b = cg::this_thread_block(); s[b.thread_rank()] = sq(x[b.thread_rank()]); b.sync(); atomicAdd(&total, 1); y[0] = s[0] * filter[0] + scratch[0]; }
__global__ void vk(vec3 *v, color_t c, Params p) { v[0].x = p.a + c; }
template <typename F> __global__ void apply(F f, float *x) { x[0] = f(x[0]); }
struct Functor { float a; __host__ __device__ Functor(float a_) : a(a_) {} __device__ float operator()(float v) const { return a * v; } };
class Base { public: virtual ~Base() {} virtual void run() = 0; };
class Derived : public Base { float *d; public: Derived() { cudaMalloc(&d, N); } ~Derived() override { cudaFree(d); } void run() override { red<256><<<1, 256, 1024>>>(d, d); } };
int main(int argc, char **argv)
{
    float h[9] = {0}; gpuErrchk(cudaMemcpyToSymbol(filter, h, sizeof(h)));
    cudaDeviceProp prop; cudaGetDeviceProperties(&prop, 0);
    Derived d; d.run();
    apply<<<1, 1>>>(Functor(2), (float*)0);
    apply<<<1, 1>>>([=] __device__ (float v) { return v; }, (float*)0);
    return EXIT_SUCCESS;
}
