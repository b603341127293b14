// Products: C = alpha op(A) op(B) + beta C, in columns, of one matrix or of many.
//
// A block computes TILE x TILE of C. DEPTH columns of op(A) and rows of op(B) lie in shared memory at a time, twice, so
// that the next ones are fetched while these are multiplied; each of the 256 threads holds EACH x EACH sums in
// registers. Products with too few tiles for the chip take smaller tiles.
#include "context.h"

namespace gs_blas {

constexpr int THREADS = 256, SIDE = 16;  // of a block, SIDE x SIDE

// One operand of each product of a batch: `stride` elements apart, or where a list in device memory says.
template <class T>
struct Operand {
  T* first;
  T* const* list;
  long long stride;
  __device__ T* at(long long each) const { return list ? list[each] : first + each * stride; }
};

// `along` is the step from row to row of op(A), or from column to column of op(B); `down` the step along k.
template <class In, class Out, class Sum>
struct Product {
  int m, n, k, count;
  Operand<const In> a, b;
  long long a_along, a_down, b_along, b_down;
  Operand<Out> c;
  long long ldc;
  Scalar<Sum> alpha, beta;
  Scalar<__half> half_alpha, half_beta;  // where the interface has them in half precision
  bool halves;
};

// A float of which a tensor core takes 10 bits of the fraction.
struct Tf32 {
  float value;
};

template <>
__device__ float widen<float>(Tf32 value) {
  unsigned bits = __float_as_uint(value.value), finite = (bits & 0x7f800000) != 0x7f800000;
  return finite ? __uint_as_float((bits + 0x1000) & 0xffffe000) : value.value;  // to the nearest, halves away from 0
}

template <class T, int N>
struct alignas(N * sizeof(T)) Pack {
  T of[N];
};

// TILE x DEPTH elements, of which each thread holds some in registers on the way to shared memory. Neighbouring lanes
// take neighbouring addresses, whichever way the matrix lies.
template <class In, class Sum, int TILE, int DEPTH, int WIDTH>
struct Stage {
  static constexpr int HELD = TILE * DEPTH / THREADS;
  Sum held[HELD];

  __device__ static int row(int element, bool rows_first) { return rows_first ? element % TILE : element / DEPTH; }
  __device__ static int deep(int element, bool rows_first) { return rows_first ? element / TILE : element % DEPTH; }

  __device__ void fetch(const In* x, long long along, long long down, int rows, int k, int first_row, int first_deep) {
#pragma unroll
    for (int s = 0; s < HELD; ++s) {
      int element = threadIdx.x + s * THREADS;
      int i = first_row + row(element, along == 1), l = first_deep + deep(element, along == 1);
      held[s] = i < rows && l < k ? widen<Sum>(x[i * along + l * down]) : Sum(0);
    }
  }

  __device__ void put(Sum (*shared)[WIDTH], long long along) const {
#pragma unroll
    for (int s = 0; s < HELD; ++s) {
      int element = threadIdx.x + s * THREADS;
      shared[deep(element, along == 1)][row(element, along == 1)] = held[s];
    }
  }
};

template <class In, class Out, class Sum, int TILE, int DEPTH>
__global__ void __launch_bounds__(THREADS) gemm(Product<In, Out, Sum> p) {
  constexpr int EACH = TILE / SIDE;
  constexpr int GROUP = EACH < 16 / int(sizeof(Sum)) ? EACH : 16 / int(sizeof(Sum));  // read at once: 16 bytes at most
  constexpr int WIDTH = TILE + 16 / int(sizeof(Sum));  // so that a column's elements lie in different banks
  __shared__ alignas(16) Sum left[2][DEPTH][WIDTH], right[2][DEPTH][WIDTH];
  const int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
  const int first_row = blockIdx.x * TILE, first_column = blockIdx.y * TILE;
  const Sum alpha = p.halves ? widen<Sum>(p.half_alpha.get()) : p.alpha.get();
  const Sum beta = p.halves ? widen<Sum>(p.half_beta.get()) : p.beta.get();
  const int k = alpha == Sum(0) ? 0 : p.k;  // then A and B are not read
  const int steps = (k + DEPTH - 1) / DEPTH;
  for (long long each = blockIdx.z; each < p.count; each += gridDim.z) {
    Stage<In, Sum, TILE, DEPTH, WIDTH> a, b;
    Sum sums[EACH][EACH] = {};
    if (steps > 0) {
      a.fetch(p.a.at(each), p.a_along, p.a_down, p.m, k, first_row, 0);
      b.fetch(p.b.at(each), p.b_along, p.b_down, p.n, k, first_column, 0);
      a.put(left[0], p.a_along);
      b.put(right[0], p.b_along);
    }
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
      const int now = step & 1;
      if (step + 1 < steps) {
        a.fetch(p.a.at(each), p.a_along, p.a_down, p.m, k, first_row, (step + 1) * DEPTH);
        b.fetch(p.b.at(each), p.b_along, p.b_down, p.n, k, first_column, (step + 1) * DEPTH);
      }
#pragma unroll
      for (int l = 0; l < DEPTH; ++l) {
        Pack<Sum, GROUP> rows[EACH / GROUP], columns[EACH / GROUP];
#pragma unroll
        for (int g = 0; g < EACH / GROUP; ++g) {
          rows[g] = *reinterpret_cast<const Pack<Sum, GROUP>*>(&left[now][l][(g * SIDE + tx) * GROUP]);
          columns[g] = *reinterpret_cast<const Pack<Sum, GROUP>*>(&right[now][l][(g * SIDE + ty) * GROUP]);
        }
#pragma unroll
        for (int i = 0; i < EACH; ++i)
#pragma unroll
          for (int j = 0; j < EACH; ++j)
            sums[i][j] += rows[i / GROUP].of[i % GROUP] * columns[j / GROUP].of[j % GROUP];
      }
      if (step + 1 < steps) {
        a.put(left[now ^ 1], p.a_along);
        b.put(right[now ^ 1], p.b_along);
      }
      __syncthreads();
    }
    Out* c = p.c.at(each);
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
      const int column = first_column + (j / GROUP * SIDE + ty) * GROUP + j % GROUP;
#pragma unroll
      for (int i = 0; i < EACH; ++i) {
        const int row = first_row + (i / GROUP * SIDE + tx) * GROUP + i % GROUP;
        if (row < p.m && column < p.n) {
          Out* to = c + row + column * p.ldc;
          Sum sum = alpha * sums[i][j];
          // C is not read where beta is 0: it may hold anything, NaN too.
          *to = narrow<Out>(beta == Sum(0) ? sum : sum + beta * widen<Sum>(*to));
        }
      }
    }
  }
}

template <class In, class Out, class Sum, int TILE, int DEPTH>
cublasStatus_t launch(cublasHandle_t handle, const Product<In, Out, Sum>& p) {
  dim3 grid((p.m + TILE - 1) / TILE, (p.n + TILE - 1) / TILE, p.count < 65535 ? p.count : 65535);
  gemm<In, Out, Sum, TILE, DEPTH><<<grid, THREADS, 0, handle->stream>>>(p);
  return launched();
}

template <int TILE>
long long tiles(int m, int n, int count) {
  return (long long)((m + TILE - 1) / TILE) * ((n + TILE - 1) / TILE) * count;
}

template <class In, class Out, class Sum>
cublasStatus_t launch_tiled(cublasHandle_t handle, const Product<In, Out, Sum>& p) {
  if (sizeof(Sum) == 4 && tiles<128>(p.m, p.n, p.count) >= handle->multiprocessors)
    return launch<In, Out, Sum, 128, 8>(handle, p);
  if (tiles<64>(p.m, p.n, p.count) >= handle->multiprocessors) return launch<In, Out, Sum, 64, 8>(handle, p);
  return launch<In, Out, Sum, 32, 16>(handle, p);
}

bool is_operation(cublasOperation_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C; }

// What the interface hands over, whatever the types.
struct Shape {
  cublasOperation_t transa, transb;
  int m, n, k, lda, ldb, ldc, count;
  bool exact = false;  // whatever the handle's mode is
};

bool valid(const Shape& s) {
  if (!is_operation(s.transa) || !is_operation(s.transb)) return false;
  if (s.m < 0 || s.n < 0 || s.k < 0 || s.count < 0) return false;
  int rows_a = s.transa == CUBLAS_OP_N ? s.m : s.k, rows_b = s.transb == CUBLAS_OP_N ? s.k : s.n;
  return s.lda >= (rows_a > 1 ? rows_a : 1) && s.ldb >= (rows_b > 1 ? rows_b : 1) && s.ldc >= (s.m > 1 ? s.m : 1);
}

Operand<const Tf32> rounded(Operand<const float> x) {
  return {reinterpret_cast<const Tf32*>(x.first), reinterpret_cast<const Tf32* const*>(x.list), x.stride};
}

template <class In, class Out, class Sum>
cublasStatus_t product(cublasHandle_t handle, const Shape& s, const void* alpha, Operand<const In> a,
                       Operand<const In> b, const void* beta, Operand<Out> c, bool halves = false) {
  HANDLE(handle);
  VALID(valid(s) && alpha != nullptr && beta != nullptr);
  if constexpr (__is_same(In, float)) {
    if ((handle->math & CUBLAS_TF32_TENSOR_OP_MATH) == CUBLAS_TF32_TENSOR_OP_MATH && !s.exact)
      return product<Tf32, Out, Sum>(handle, s, alpha, rounded(a), rounded(b), beta, c, halves);
  }
  if (s.m == 0 || s.n == 0 || s.count == 0) return CUBLAS_STATUS_SUCCESS;
  const bool plain_a = s.transa == CUBLAS_OP_N, plain_b = s.transb == CUBLAS_OP_N;
  Product<In, Out, Sum> p{s.m, s.n, s.k, s.count, a, b, 1, s.lda, s.ldb, 1, c, s.ldc, {}, {}, {}, {}, halves};
  if (!plain_a) p.a_along = s.lda, p.a_down = 1;
  if (!plain_b) p.b_along = 1, p.b_down = s.ldb;
  if (halves) {
    p.half_alpha = scalar<__half>(handle, static_cast<const __half*>(alpha));
    p.half_beta = scalar<__half>(handle, static_cast<const __half*>(beta));
  } else {
    p.alpha = scalar<Sum>(handle, static_cast<const Sum*>(alpha));
    p.beta = scalar<Sum>(handle, static_cast<const Sum*>(beta));
  }
  return launch_tiled(handle, p);
}

template <class T>
Operand<T> one(T* first, long long stride = 0) { return {first, nullptr, stride}; }
template <class T>
Operand<T> many(T* const* list) { return {nullptr, list, 0}; }

// Matrices of GemmEx: untyped, with a stride where there are several.
struct Untyped {
  const void* at;
  cudaDataType type;
  long long stride;
};

template <class In, class Out, class Sum>
cublasStatus_t typed(cublasHandle_t handle, const Shape& s, const void* alpha, Untyped a, Untyped b, const void* beta,
                     Untyped c, bool halves) {
  return product<In, Out, Sum>(handle, s, alpha, one(static_cast<const In*>(a.at), a.stride),
                               one(static_cast<const In*>(b.at), b.stride), beta,
                               one(static_cast<Out*>(const_cast<void*>(c.at)), c.stride), halves);
}

bool sums_in_float(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
         compute == CUBLAS_COMPUTE_32F_FAST_16F || compute == CUBLAS_COMPUTE_32F_FAST_16BF ||
         compute == CUBLAS_COMPUTE_32F_FAST_TF32;
}

cublasStatus_t gemm_ex(cublasHandle_t handle, Shape s, const void* alpha, Untyped a, Untyped b, const void* beta,
                       Untyped c, cublasComputeType_t compute) {
  HANDLE(handle);
  NEED(a.type == b.type, CUBLAS_STATUS_NOT_SUPPORTED);
  auto are = [&](cudaDataType in, cudaDataType out) { return a.type == in && c.type == out; };
  if (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC) {
    NEED(are(CUDA_R_64F, CUDA_R_64F), CUBLAS_STATUS_NOT_SUPPORTED);
    return typed<double, double, double>(handle, s, alpha, a, b, beta, c, false);
  }
  if (compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_16F_PEDANTIC) {
    NEED(are(CUDA_R_16F, CUDA_R_16F), CUBLAS_STATUS_NOT_SUPPORTED);
    return typed<__half, __half, float>(handle, s, alpha, a, b, beta, c, true);
  }
  if (compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC) {
    NEED(are(CUDA_R_8I, CUDA_R_32I), CUBLAS_STATUS_NOT_SUPPORTED);
    return typed<signed char, int, int>(handle, s, alpha, a, b, beta, c, false);
  }
  NEED(sums_in_float(compute), CUBLAS_STATUS_NOT_SUPPORTED);
  s.exact = compute == CUBLAS_COMPUTE_32F_PEDANTIC;
  if (compute == CUBLAS_COMPUTE_32F_FAST_TF32 && are(CUDA_R_32F, CUDA_R_32F))
    return typed<Tf32, float, float>(handle, s, alpha, a, b, beta, c, false);
  if (are(CUDA_R_32F, CUDA_R_32F)) return typed<float, float, float>(handle, s, alpha, a, b, beta, c, false);
  if (are(CUDA_R_16F, CUDA_R_16F)) return typed<__half, __half, float>(handle, s, alpha, a, b, beta, c, false);
  if (are(CUDA_R_16F, CUDA_R_32F)) return typed<__half, float, float>(handle, s, alpha, a, b, beta, c, false);
  if (are(CUDA_R_16BF, CUDA_R_16BF))
    return typed<__nv_bfloat16, __nv_bfloat16, float>(handle, s, alpha, a, b, beta, c, false);
  if (are(CUDA_R_16BF, CUDA_R_32F)) return typed<__nv_bfloat16, float, float>(handle, s, alpha, a, b, beta, c, false);
  if (are(CUDA_R_8I, CUDA_R_32F)) return typed<signed char, float, float>(handle, s, alpha, a, b, beta, c, false);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace gs_blas

extern "C" {

#define GEMM(P, T, Sum, v2, halves) \
  cublasStatus_t cublas##P##gemm##v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, \
                                     int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb, \
                                     const T* beta, T* c, int ldc) { \
    using namespace gs_blas; \
    TOLD(); \
    return product<T, T, Sum>(handle, {transa, transb, m, n, k, lda, ldb, ldc, 1}, alpha, one(a), one(b), beta, \
                              one(c), halves); \
  } \
  cublasStatus_t cublas##P##gemmStridedBatched( \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const T* alpha, \
      const T* a, int lda, long long stride_a, const T* b, int ldb, long long stride_b, const T* beta, T* c, int ldc, \
      long long stride_c, int count) { \
    using namespace gs_blas; \
    TOLD(); \
    return product<T, T, Sum>(handle, {transa, transb, m, n, k, lda, ldb, ldc, count}, alpha, one(a, stride_a), \
                              one(b, stride_b), beta, one(c, stride_c), halves); \
  } \
  cublasStatus_t cublas##P##gemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
                                        int m, int n, int k, const T* alpha, const T* const a[], int lda, \
                                        const T* const b[], int ldb, const T* beta, T* const c[], int ldc, \
                                        int count) { \
    using namespace gs_blas; \
    TOLD(); \
    return product<T, T, Sum>(handle, {transa, transb, m, n, k, lda, ldb, ldc, count}, alpha, many<const T>(a), \
                              many<const T>(b), beta, many<T>(c), halves); \
  }
GEMM(S, float, float, _v2, false)
GEMM(D, double, double, _v2, false)
GEMM(H, __half, float, , true)

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                            int k, const void* alpha, const void* a, cudaDataType type_a, int lda, const void* b,
                            cudaDataType type_b, int ldb, const void* beta, void* c, cudaDataType type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t) {
  TOLD();
  return gs_blas::gemm_ex(handle, {transa, transb, m, n, k, lda, ldb, ldc, 1}, alpha, {a, type_a, 0}, {b, type_b, 0},
                          beta, {c, type_c, 0}, compute);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                          int m, int n, int k, const void* alpha, const void* a, cudaDataType type_a,
                                          int lda, long long stride_a, const void* b, cudaDataType type_b, int ldb,
                                          long long stride_b, const void* beta, void* c, cudaDataType type_c, int ldc,
                                          long long stride_c, int count, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  TOLD();
  return gs_blas::gemm_ex(handle, {transa, transb, m, n, k, lda, ldb, ldc, count}, alpha, {a, type_a, stride_a},
                          {b, type_b, stride_b}, beta, {c, type_c, stride_c}, compute);
}

}  // extern "C"
