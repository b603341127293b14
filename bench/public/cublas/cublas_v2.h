// Products of small matrices in plain loops, by the names of cuBLAS: the programs of bench/public_kernels.py call it for
// what stands around their kernels. The virtual GPU's memory is the program's own, so host code reads it. No part of cuBLAS.
#pragma once
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <library_types.h>

typedef struct { int unused; } *cublasHandle_t;
typedef enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_SUPPORTED = 15 } cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3
} cublasMath_t;
typedef enum {
  CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) { *handle = nullptr; return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasDestroy(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }

namespace plain_blas {
inline float read(const void* data, cudaDataType_t type, long long at) {
  if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(data)[at]);
  if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[at]);
  return static_cast<const float*>(data)[at];
}
inline void write(void* data, cudaDataType_t type, long long at, float value) {
  if (type == CUDA_R_16F) static_cast<__half*>(data)[at] = __float2half(value);
  else if (type == CUDA_R_16BF) static_cast<__nv_bfloat16*>(data)[at] = __float2bfloat16(value);
  else static_cast<float*>(data)[at] = value;
}
inline cublasStatus_t products(
    cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, float alpha, const void* a, cudaDataType_t type_a,
    int lda, long long step_a, const void* b, cudaDataType_t type_b, int ldb, long long step_b, float beta, void* c,
    cudaDataType_t type_c, int ldc, long long step_c, int count) {
  cudaDeviceSynchronize();
  for (int each = 0; each < count; ++each)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        float sum = 0;
        for (int l = 0; l < k; ++l) {
          long long at_a = ta == CUBLAS_OP_N ? i + (long long)l * lda : l + (long long)i * lda;
          long long at_b = tb == CUBLAS_OP_N ? l + (long long)j * ldb : j + (long long)l * ldb;
          sum += read(a, type_a, each * step_a + at_a) * read(b, type_b, each * step_b + at_b);
        }
        long long at = each * step_c + i + (long long)j * ldc;
        write(c, type_c, at, alpha * sum + (beta != 0 ? beta * read(c, type_c, at) : 0));
      }
  return CUBLAS_STATUS_SUCCESS;
}
inline float scale(const void* value, cublasComputeType_t type) {
  return type == CUBLAS_COMPUTE_16F ? __half2float(*static_cast<const __half*>(value)) : *static_cast<const float*>(value);
}
}  // namespace plain_blas

inline cublasStatus_t cublasSgemm(
    cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const float* alpha, const float* a,
    int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
  return plain_blas::products(ta, tb, m, n, k, *alpha, a, CUDA_R_32F, lda, 0, b, CUDA_R_32F, ldb, 0, *beta, c,
                              CUDA_R_32F, ldc, 0, 1);
}
inline cublasStatus_t cublasSgemmStridedBatched(
    cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const float* alpha, const float* a,
    int lda, long long step_a, const float* b, int ldb, long long step_b, const float* beta, float* c, int ldc,
    long long step_c, int count) {
  return plain_blas::products(ta, tb, m, n, k, *alpha, a, CUDA_R_32F, lda, step_a, b, CUDA_R_32F, ldb, step_b, *beta, c,
                              CUDA_R_32F, ldc, step_c, count);
}
inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void* alpha, const void* a,
    cudaDataType_t type_a, int lda, long long step_a, const void* b, cudaDataType_t type_b, int ldb, long long step_b,
    const void* beta, void* c, cudaDataType_t type_c, int ldc, long long step_c, int count, cublasComputeType_t compute,
    cublasGemmAlgo_t) {
  return plain_blas::products(ta, tb, m, n, k, plain_blas::scale(alpha, compute), a, type_a, lda, step_a, b, type_b, ldb,
                              step_b, plain_blas::scale(beta, compute), c, type_c, ldc, step_c, count);
}
inline cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void* alpha,
    const void* a, cudaDataType_t type_a, int lda, const void* b, cudaDataType_t type_b, int ldb, const void* beta,
    void* c, cudaDataType_t type_c, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c,
                                    type_c, ldc, 0, 1, compute, algorithm);
}
inline cublasStatus_t cublasHgemm(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const __half* alpha,
    const __half* a, int lda, const __half* b, int ldb, const __half* beta, __half* c, int ldc) {
  return cublasGemmEx(handle, ta, tb, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c, CUDA_R_16F, ldc,
                      CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}
inline cublasStatus_t cublasSgemv(
    cublasHandle_t, cublasOperation_t ta, int m, int n, const float* alpha, const float* a, int lda, const float* x,
    int, const float* beta, float* y, int) {
  int rows = ta == CUBLAS_OP_N ? m : n, inner = ta == CUBLAS_OP_N ? n : m;
  return plain_blas::products(ta, CUBLAS_OP_N, rows, 1, inner, *alpha, a, CUDA_R_32F, lda, 0, x, CUDA_R_32F, inner, 0,
                              *beta, y, CUDA_R_32F, rows, 0, 1);
}
