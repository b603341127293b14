// Level 1 and level 2: what reads each element once.
#include "context.h"

namespace gs_blas {

constexpr int THREADS = 256, WARP = 32;
constexpr int MOST_PARTS = 512;  // partial results of a reduction

unsigned blocks_for(cublasHandle_t handle, long long n) {
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

template <class T>
struct Axpy {
  Scalar<T> alpha;
  Vector<const T> x;
  Vector<T> y;
  __device__ void operator()(long long i) const { y[i] += alpha.get() * x[i]; }
};

template <class T>
struct Scal {
  Scalar<T> alpha;
  Vector<T> x;
  __device__ void operator()(long long i) const { x[i] *= alpha.get(); }
};

template <class T>
struct Copy {
  Vector<const T> x;
  Vector<T> y;
  __device__ void operator()(long long i) const { y[i] = x[i]; }
};

template <class T>
struct Swap {
  Vector<T> x, y;
  __device__ void operator()(long long i) const {
    T kept = x[i];
    x[i] = y[i];
    y[i] = kept;
  }
};

// A += alpha x y^T
template <class T>
struct Ger {
  int m;
  Scalar<T> alpha;
  Vector<const T> x, y;
  T* a;
  long long lda;
  __device__ void operator()(long long i) const { a[i % m + i / m * lda] += alpha.get() * x[i % m] * y[i / m]; }
};

// C = alpha op(A) + beta op(B); an operand whose factor is 0 is not read.
template <class T>
struct Geam {
  int m;
  Scalar<T> alpha, beta;
  const T *a, *b;
  long long a_along, a_down, b_along, b_down;
  T* c;
  long long ldc;
  __device__ void operator()(long long i) const {
    long long row = i % m, column = i / m;
    T p = alpha.get(), q = beta.get();
    T sum = p == T(0) ? T(0) : p * a[row * a_along + column * a_down];
    c[row + column * ldc] = q == T(0) ? sum : sum + q * b[row * b_along + column * b_down];
  }
};

// -- reductions ------------------------------------------------------------------------------------------------------
template <class T>
struct Dot {
  using Carry = T;
  using Result = T;
  Vector<const T> x, y;
  __device__ static Carry none() { return T(0); }
  __device__ Carry of(long long i) const { return x[i] * y[i]; }
  __device__ static Carry join(Carry a, Carry b) { return a + b; }
  __device__ static Result result(Carry c) { return c; }
};

template <class T>
struct Asum {
  using Carry = T;
  using Result = T;
  Vector<const T> x;
  __device__ static Carry none() { return T(0); }
  __device__ Carry of(long long i) const { return abs(x[i]); }
  __device__ static Carry join(Carry a, Carry b) { return a + b; }
  __device__ static Result result(Carry c) { return c; }
};

// The square of a large element overflows, of a small one vanishes: the largest is kept beside the sum of squares.
template <class T>
struct Norm {
  struct Carry {
    T scale, squares;
  };
  using Result = T;
  Vector<const T> x;
  __device__ static Carry none() { return {T(0), T(0)}; }
  __device__ Carry of(long long i) const { return x[i] == T(0) ? none() : Carry{abs(x[i]), T(1)}; }
  __device__ static Carry join(Carry a, Carry b) {
    if (a.scale < b.scale) return join(b, a);
    if (b.scale == T(0) || b.scale == a.scale) return {a.scale, a.squares + b.squares};  // Inf / Inf would be NaN
    T ratio = b.scale / a.scale;
    return {a.scale, a.squares + b.squares * ratio * ratio};
  }
  __device__ static Result result(Carry c) { return c.scale == T(0) ? c.squares : c.scale * sqrt(c.squares); }
};

// The number, from 1, of the first element of largest (or smallest) magnitude.
template <class T, bool LARGEST>
struct Extreme {
  struct Carry {
    T size;
    int number;
  };
  using Result = int;
  Vector<const T> x;
  __device__ static Carry none() { return {T(0), 0}; }
  __device__ Carry of(long long i) const { return {abs(x[i]), int(i) + 1}; }
  __device__ static Carry join(Carry a, Carry b) {
    if (a.number == 0 || b.number == 0) return a.number == 0 ? b : a;
    if (a.size == b.size) return a.number < b.number ? a : b;
    return (LARGEST ? a.size > b.size : a.size < b.size) ? a : b;
  }
  __device__ static Result result(Carry c) { return c.number; }
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
    *result = 0;
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

// -- matrix and vector -----------------------------------------------------------------------------------------------
template <class T>
struct MatrixVector {
  int m, n;
  Scalar<T> alpha, beta;
  const T* a;
  long long lda;
  Vector<const T> x;
  Vector<T> y;
  __device__ void put(int i, T sum) const {
    sum *= alpha.get();
    y[i] = beta.get() == T(0) ? sum : sum + beta.get() * y[i];
  }
};

// y = alpha A x + beta y: a warp's lanes are 32 rows, so that they read down a column; eight warps share its columns.
template <class T>
__global__ void __launch_bounds__(THREADS) gemv_rows(MatrixVector<T> v) {
  constexpr int SLICES = THREADS / WARP;
  __shared__ T sums[SLICES][WARP];
  const int lane = threadIdx.x % WARP, slice = threadIdx.x / WARP, row = blockIdx.x * WARP + lane;
  T sum = 0;
  if (row < v.m && v.alpha.get() != T(0))
    for (int j = slice; j < v.n; j += SLICES) sum += v.a[row + j * v.lda] * v.x[j];
  sums[slice][lane] = sum;
  __syncthreads();
  if (slice != 0 || row >= v.m) return;
  for (int s = 1; s < SLICES; ++s) sum += sums[s][lane];
  v.put(row, sum);
}

// y = alpha A^T x + beta y: a warp goes down one column.
template <class T>
__global__ void __launch_bounds__(THREADS) gemv_columns(MatrixVector<T> v) {
  const int lane = threadIdx.x % WARP, column = blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
  if (column >= v.n) return;
  T sum = 0;
  if (v.alpha.get() != T(0))
    for (int i = lane; i < v.m; i += WARP) sum += v.a[i + column * v.lda] * v.x[i];
  for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0) v.put(column, sum);
}

template <class T>
cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha, const T* a, int lda,
                    const T* x, int incx, const T* beta, T* y, int incy) {
  HANDLE(handle);
  VALID(trans >= CUBLAS_OP_N && trans <= CUBLAS_OP_C && m >= 0 && n >= 0 && lda >= (m > 1 ? m : 1) && incx != 0 &&
        incy != 0 && alpha != nullptr && beta != nullptr);
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  const bool rows = trans == CUBLAS_OP_N;
  MatrixVector<T> v{m, n, scalar<T>(handle, alpha), scalar<T>(handle, beta), a, lda,
                    vector(x, rows ? n : m, incx), vector(y, rows ? m : n, incy)};
  if (rows)
    gemv_rows<<<(m + WARP - 1) / WARP, THREADS, 0, handle->stream>>>(v);
  else
    gemv_columns<<<(n + THREADS / WARP - 1) / (THREADS / WARP), THREADS, 0, handle->stream>>>(v);
  return launched();
}

template <class T>
cublasStatus_t geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                    const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {
  HANDLE(handle);
  const bool plain_a = transa == CUBLAS_OP_N, plain_b = transb == CUBLAS_OP_N;
  auto least = [](int rows) { return rows > 1 ? rows : 1; };
  VALID(transa >= CUBLAS_OP_N && transa <= CUBLAS_OP_C && transb >= CUBLAS_OP_N && transb <= CUBLAS_OP_C && m >= 0 &&
        n >= 0 && lda >= least(plain_a ? m : n) && ldb >= least(plain_b ? m : n) && ldc >= least(m) &&
        alpha != nullptr && beta != nullptr);
  Geam<T> body{m, scalar<T>(handle, alpha), scalar<T>(handle, beta), a, b, 1, lda, 1, ldb, c, ldc};
  if (!plain_a) body.a_along = lda, body.a_down = 1;
  if (!plain_b) body.b_along = ldb, body.b_down = 1;
  return for_each(handle, (long long)m * n, body);
}

}  // namespace gs_blas

extern "C" {

#define REAL(P, T) \
  cublasStatus_t cublas##P##axpy_v2(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, \
                                    int incy) { \
    HANDLE(handle); \
    VALID(alpha != nullptr); \
    using namespace gs_blas; \
    return for_each(handle, n, Axpy<T>{scalar<T>(handle, alpha), vector(x, n, incx), vector(y, n, incy)}); \
  } \
  cublasStatus_t cublas##P##scal_v2(cublasHandle_t handle, int n, const T* alpha, T* x, int incx) { \
    HANDLE(handle); \
    VALID(alpha != nullptr); \
    using namespace gs_blas; \
    return for_each(handle, n, Scal<T>{scalar<T>(handle, alpha), vector(x, n, incx)}); \
  } \
  cublasStatus_t cublas##P##copy_v2(cublasHandle_t handle, int n, const T* x, int incx, T* y, int incy) { \
    HANDLE(handle); \
    using namespace gs_blas; \
    return for_each(handle, n, Copy<T>{vector(x, n, incx), vector(y, n, incy)}); \
  } \
  cublasStatus_t cublas##P##swap_v2(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy) { \
    HANDLE(handle); \
    using namespace gs_blas; \
    return for_each(handle, n, Swap<T>{vector(x, n, incx), vector(y, n, incy)}); \
  } \
  cublasStatus_t cublas##P##dot_v2(cublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, \
                                   T* result) { \
    HANDLE(handle); \
    using namespace gs_blas; \
    return reduce(handle, n, Dot<T>{vector(x, n, incx), vector(y, n, incy)}, result); \
  } \
  cublasStatus_t cublas##P##nrm2_v2(cublasHandle_t handle, int n, const T* x, int incx, T* result) { \
    HANDLE(handle); \
    return gs_blas::reduce(handle, incx > 0 ? n : 0, gs_blas::Norm<T>{gs_blas::vector(x, n, incx)}, result); \
  } \
  cublasStatus_t cublas##P##asum_v2(cublasHandle_t handle, int n, const T* x, int incx, T* result) { \
    HANDLE(handle); \
    return gs_blas::reduce(handle, incx > 0 ? n : 0, gs_blas::Asum<T>{gs_blas::vector(x, n, incx)}, result); \
  } \
  cublasStatus_t cublas##P##gemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha, \
                                    const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) { \
    return gs_blas::gemv(handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy); \
  } \
  cublasStatus_t cublas##P##ger_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int incx, \
                                   const T* y, int incy, T* a, int lda) { \
    HANDLE(handle); \
    VALID(m >= 0 && n >= 0 && incx != 0 && incy != 0 && lda >= (m > 1 ? m : 1) && alpha != nullptr); \
    using namespace gs_blas; \
    Ger<T> body{m, scalar<T>(handle, alpha), vector(x, m, incx), vector(y, n, incy), a, lda}; \
    return for_each(handle, (long long)m * n, body); \
  } \
  cublasStatus_t cublas##P##geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, \
                                 int n, const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, \
                                 T* c, int ldc) { \
    return gs_blas::geam(handle, transa, transb, m, n, alpha, a, lda, beta, b, ldb, c, ldc); \
  }
REAL(S, float)
REAL(D, double)

#define EXTREME(name, T, largest) \
  cublasStatus_t cublasI##name##_v2(cublasHandle_t handle, int n, const T* x, int incx, int* result) { \
    HANDLE(handle); \
    using namespace gs_blas; \
    return reduce(handle, incx > 0 ? n : 0, Extreme<T, largest>{vector(x, n, incx)}, result); \
  }
EXTREME(samax, float, true)
EXTREME(damax, double, true)
EXTREME(samin, float, false)
EXTREME(damin, double, false)

}  // extern "C"
