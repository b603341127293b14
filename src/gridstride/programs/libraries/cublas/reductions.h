// Of level 1 what two files share: a body for each element, and reductions. Sums are kept in the type Sum.
#pragma once
#include "context.h"

namespace gs_blas {

constexpr int THREADS = 256, WARP = 32;
constexpr int MOST_PARTS = 512;  // partial results of a reduction

inline unsigned blocks_for(cublasHandle_t handle, long long n) {
  long long needed = (n + THREADS - 1) / THREADS, most = 8LL * handle->multiprocessors;
  return unsigned(needed < most ? needed : most);
}

template <class Body>
__global__ void __launch_bounds__(THREADS) each_element(long long n, Body body) {
  for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS) body(i);
}

template <class Body>
cublasStatus_t for_each(cublasHandle_t handle, long long n, Body body) {
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  each_element<<<blocks_for(handle, n), THREADS, 0, handle->stream>>>(n, body);
  return launched();
}

template <class T, class Sum = T>
struct Axpy {
  Scalar<Sum> alpha;
  Vector<const T> x;
  Vector<T> y;
  __device__ void operator()(long long i) const {
    y[i] = narrow<T>(widen<Sum>(y[i]) + alpha.get() * widen<Sum>(x[i]));
  }
};

template <class T, class Sum = T>
struct Scal {
  Scalar<Sum> alpha;
  Vector<T> x;
  __device__ void operator()(long long i) const { x[i] = narrow<T>(widen<Sum>(x[i]) * alpha.get()); }
};

// -- reductions ------------------------------------------------------------------------------------------------------
template <class T, class Sum = T>
struct Dot {
  using Carry = Sum;
  using Result = T;
  Vector<const T> x, y;
  __device__ static Carry none() { return Sum(0); }
  __device__ Carry of(long long i) const { return widen<Sum>(x[i]) * widen<Sum>(y[i]); }
  __device__ static Carry join(Carry a, Carry b) { return a + b; }
  __device__ static Result result(Carry c) { return narrow<T>(c); }
};

// The square of a large element overflows, of a small one vanishes: the largest is kept beside the sum of squares.
template <class T, class Sum = T>
struct Norm {
  struct Carry {
    Sum scale, squares;
  };
  using Result = T;
  Vector<const T> x;
  __device__ static Carry none() { return {Sum(0), Sum(0)}; }
  __device__ Carry of(long long i) const {
    Sum value = widen<Sum>(x[i]);
    return value == Sum(0) ? none() : Carry{abs(value), Sum(1)};
  }
  __device__ static Carry join(Carry a, Carry b) {
    if (a.scale < b.scale) return join(b, a);
    if (b.scale == Sum(0) || b.scale == a.scale) return {a.scale, a.squares + b.squares};  // Inf / Inf would be NaN
    Sum ratio = b.scale / a.scale;
    return {a.scale, a.squares + b.squares * ratio * ratio};
  }
  __device__ static Result result(Carry c) {
    return narrow<T>(c.scale == Sum(0) ? c.squares : c.scale * sqrt(c.squares));
  }
};

template <class Op>
__device__ typename Op::Carry joined_of_block(typename Op::Carry mine) {
  __shared__ typename Op::Carry parts[THREADS];
  parts[threadIdx.x] = mine;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] = mine = Op::join(mine, parts[threadIdx.x + half]);
  }
  return mine;  // of the whole block in thread 0 only
}

template <class Op>
__global__ void __launch_bounds__(THREADS) reduce_parts(long long n, Op op, typename Op::Carry* parts) {
  typename Op::Carry mine = Op::none();
  for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS)
    mine = Op::join(mine, op.of(i));
  mine = joined_of_block<Op>(mine);
  if (threadIdx.x == 0) parts[blockIdx.x] = mine;
}

template <class Op>
__global__ void __launch_bounds__(THREADS) reduce_rest(int count, const typename Op::Carry* parts,
                                                       typename Op::Result* result) {
  typename Op::Carry mine = Op::none();
  for (int i = threadIdx.x; i < count; i += THREADS) mine = Op::join(mine, parts[i]);
  mine = joined_of_block<Op>(mine);
  if (threadIdx.x == 0) *result = Op::result(mine);
}

// With host pointers the call waits for the result, as the interface has it.
template <class Op>
cublasStatus_t reduce(cublasHandle_t handle, int n, Op op, typename Op::Result* result) {
  using Carry = typename Op::Carry;
  static_assert(MOST_PARTS * sizeof(Carry) + 16 <= SCRATCH_BYTES);
  VALID(result != nullptr);
  const bool on_host = handle->pointers == CUBLAS_POINTER_MODE_HOST;
  if (on_host && n <= 0) {
    *result = typename Op::Result{};
    return CUBLAS_STATUS_SUCCESS;
  }
  void* memory;
  if (cublasStatus_t status = scratch(handle, &memory); status != CUBLAS_STATUS_SUCCESS) return status;
  Carry* parts = static_cast<Carry*>(memory);
  auto* at = on_host ? reinterpret_cast<typename Op::Result*>(static_cast<char*>(memory) + SCRATCH_BYTES - 16) : result;
  unsigned blocks = blocks_for(handle, n > 0 ? n : 0);
  blocks = blocks < MOST_PARTS ? blocks : MOST_PARTS;
  if (blocks > 0) reduce_parts<<<blocks, THREADS, 0, handle->stream>>>(n, op, parts);
  reduce_rest<Op><<<1, THREADS, 0, handle->stream>>>(blocks, parts, at);
  if (cublasStatus_t status = launched(); status != CUBLAS_STATUS_SUCCESS || !on_host) return status;
  if (cudaMemcpyAsync(result, at, sizeof *result, cudaMemcpyDeviceToHost, handle->stream) != cudaSuccess ||
      cudaStreamSynchronize(handle->stream) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace gs_blas
