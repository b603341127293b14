#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <iomanip>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string_view>
#include <cuda/std/span>
#include <cub/cub.cuh>
#include <thrust/host_vector.h>
#include <thrust/execution_policy.h>
#include <cublas_v2.h>
using clk = std::chrono::high_resolution_clock;
template <class T> struct DeviceBuffer {
  T* ptr = nullptr; size_t n;
  explicit DeviceBuffer(size_t n_) : n(n_) { cudaMalloc(&ptr, n * sizeof(T)); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(DeviceBuffer&&) noexcept = default;
  ~DeviceBuffer() { cudaFree(ptr); }
  T* data() const { return ptr; }
  std::vector<T> host() const { std::vector<T> v(n); cudaMemcpy(v.data(), ptr, n, cudaMemcpyDeviceToHost); return v; }
};
struct CublasHandle { cublasHandle_t h; CublasHandle() { cublasCreate(&h); } };
static std::unique_ptr<CublasHandle> handle;
static const std::map<std::string, int> table = {{"a", 1}};
constexpr int TILE = 16;
enum class Mode { A, B };
auto cdiv(auto a, auto b) { return (a + b - 1) / b; }
template <typename T, int N = TILE> __launch_bounds__(256) __global__ void tile(const T* __restrict__ in, T* __restrict__ out, int n) {
  __shared__ T s[N][N + 1]; using BR = cub::BlockReduce<T, 256>; __shared__ typename BR::TempStorage t;
  T v = BR(t).Sum(in[threadIdx.x]); s[0][0] = v; __syncthreads(); if (threadIdx.x == 0) out[0] = s[0][0]; }
void bench(std::string_view name, std::function<void()> f, int reps = 10) { auto t0 = clk::now(); for (int i = 0; i < reps; ++i) f(); std::cout << name << std::setw(3) << (clk::now() - t0).count(); }
int main() try {
  DeviceBuffer<float> a(1024);
  bench("tile", [&] { tile<float><<<cdiv(1024, 256), 256>>>(a.data(), a.data(), 1024); });
  auto r = std::accumulate(a.host().begin(), a.host().end(), 0.0f);
} catch (const std::exception& e) { std::cerr << e.what(); }
