// cublasLt's names, as far as the programs of bench/public_kernels.py have them; products are refused.
#pragma once
#include <cublas_v2.h>

typedef struct { int unused; } *cublasLtHandle_t, *cublasLtMatmulDesc_t, *cublasLtMatrixLayout_t, *cublasLtMatmulPreference_t;
typedef struct { int unused; } cublasLtMatmulAlgo_t;
typedef struct { cublasLtMatmulAlgo_t algo; size_t workspaceSize; } cublasLtMatmulHeuristicResult_t;
typedef enum {
  CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_BIAS = 4, CUBLASLT_EPILOGUE_GELU = 32, CUBLASLT_EPILOGUE_GELU_BIAS = 36,
  CUBLASLT_EPILOGUE_GELU_AUX = 160, CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164, CUBLASLT_EPILOGUE_DGELU = 192,
  CUBLASLT_EPILOGUE_BGRADB = 512
} cublasLtEpilogue_t;
enum {
  CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB, CUBLASLT_MATMUL_DESC_EPILOGUE,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
};
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { *handle = nullptr; return CUBLAS_STATUS_SUCCESS; }
template <class... A> cublasStatus_t cublasLtDestroy(A...) { return CUBLAS_STATUS_SUCCESS; }
template <class... A> cublasStatus_t cublasLtMatmulDescCreate(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
template <class... A> cublasStatus_t cublasLtMatmulDescDestroy(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
template <class... A> cublasStatus_t cublasLtMatmulDescSetAttribute(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
template <class... A> cublasStatus_t cublasLtMatrixLayoutCreate(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
template <class... A> cublasStatus_t cublasLtMatrixLayoutDestroy(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
template <class... A> cublasStatus_t cublasLtMatmulPreferenceCreate(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
template <class... A> cublasStatus_t cublasLtMatmulPreferenceDestroy(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
template <class... A> cublasStatus_t cublasLtMatmulPreferenceSetAttribute(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
template <class... A> cublasStatus_t cublasLtMatmulAlgoGetHeuristic(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
template <class... A> cublasStatus_t cublasLtMatmul(A...) { return CUBLAS_STATUS_NOT_SUPPORTED; }
