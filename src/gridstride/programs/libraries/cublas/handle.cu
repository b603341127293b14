// Handles, statuses in words, and copies of vectors and matrices.
#include "context.h"

namespace gs_blas {

constexpr unsigned ALIVE = 0x424c4153;

bool alive(cublasHandle_t handle) { return handle != nullptr && handle->alive == ALIVE; }

cublasStatus_t scratch(cublasHandle_t handle, void** memory) {
  for (cublasScratch* each = handle->scratch; each != nullptr; each = each->next)
    if (each->stream == handle->stream) return *memory = each->memory, CUBLAS_STATUS_SUCCESS;
  if (cudaMalloc(memory, SCRATCH_BYTES) != cudaSuccess) return CUBLAS_STATUS_ALLOC_FAILED;
  handle->scratch = new cublasScratch{handle->stream, *memory, handle->scratch};
  return CUBLAS_STATUS_SUCCESS;
}

// The runtime's own error stays for cudaGetLastError.
cublasStatus_t launched() {
  return cudaPeekAtLastError() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

namespace {

cublasStatus_t copied(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

// `width` bytes in each of `count` pieces, `from_step` and `to_step` bytes apart.
cublasStatus_t copy(size_t width, size_t count, const void* from, size_t from_step, void* to, size_t to_step,
                    cudaMemcpyKind kind, const cudaStream_t* stream) {
  if (width == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (from_step == width && to_step == width) {
    size_t bytes = width * count;
    return copied(stream ? cudaMemcpyAsync(to, from, bytes, kind, *stream) : cudaMemcpy(to, from, bytes, kind));
  }
  return copied(stream ? cudaMemcpy2DAsync(to, to_step, from, from_step, width, count, kind, *stream)
                       : cudaMemcpy2D(to, to_step, from, from_step, width, count, kind));
}

cublasStatus_t copy_vector(int n, int bytes, const void* x, int incx, void* y, int incy, cudaMemcpyKind kind,
                           const cudaStream_t* stream) {
  VALID(n >= 0 && bytes > 0 && incx > 0 && incy > 0);
  return copy(bytes, n, x, size_t(incx) * bytes, y, size_t(incy) * bytes, kind, stream);
}

cublasStatus_t copy_matrix(int rows, int columns, int bytes, const void* a, int lda, void* b, int ldb,
                           cudaMemcpyKind kind, const cudaStream_t* stream) {
  VALID(rows >= 0 && columns >= 0 && bytes > 0 && lda > 0 && ldb > 0 && lda >= rows && ldb >= rows);
  return copy(size_t(rows) * bytes, columns, a, size_t(lda) * bytes, b, size_t(ldb) * bytes, kind, stream);
}

struct Words {
  cublasStatus_t status;
  const char *name, *words;
};
#define STATUS(name, words) {CUBLAS_STATUS_##name, "CUBLAS_STATUS_" #name, words}
constexpr Words WORDS[] = {
    STATUS(SUCCESS, "no error"),
    STATUS(NOT_INITIALIZED, "the handle is none that cublasCreate made, or it was destroyed"),
    STATUS(ALLOC_FAILED, "memory could not be allocated"),
    STATUS(INVALID_VALUE, "an argument is out of its range"),
    STATUS(ARCH_MISMATCH, "the device lacks what this needs"),
    STATUS(MAPPING_ERROR, "memory of the device could not be reached"),
    STATUS(EXECUTION_FAILED, "a kernel could not be launched or has failed"),
    STATUS(INTERNAL_ERROR, "the library failed"),
    STATUS(NOT_SUPPORTED, "this combination is not supported"),
    STATUS(LICENSE_ERROR, "a license is missing"),
};

const Words* words_of(cublasStatus_t status) {
  for (const Words& each : WORDS)
    if (each.status == status) return &each;
  return nullptr;
}

}  // namespace
}  // namespace gs_blas

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  TOLD();
  VALID(handle != nullptr);
  int device = 0, multiprocessors = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext{gs_blas::ALIVE,         nullptr,         CUBLAS_POINTER_MODE_HOST,
                              CUBLAS_DEFAULT_MATH, CUBLAS_ATOMICS_NOT_ALLOWED, multiprocessors,
                              nullptr};
  gs_object(GS_OBJECT_BLAS, 1);
  return CUBLAS_STATUS_SUCCESS;
}

// The block itself stays, so that a second use gets a status and no crash. The vendor's waits for the device here, too.
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  HANDLE(handle);
  cudaDeviceSynchronize();
  while (cublasScratch* each = handle->scratch) {
    cudaFree(each->memory);
    handle->scratch = each->next;
    delete each;
  }
  *handle = {};
  gs_object(GS_OBJECT_BLAS, -1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version) {
  HANDLE(handle);
  VALID(version != nullptr);
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  HANDLE(handle);
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  HANDLE(handle);
  VALID(stream != nullptr);
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

// What reductions need is allocated where they need it: the memory given is left alone.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, size_t) {
  HANDLE(handle);
  return CUBLAS_STATUS_SUCCESS;
}

#define MODE(Name, suffix, type, field, valid) \
  cublasStatus_t cublasSet##Name##suffix(cublasHandle_t handle, type mode) { \
    HANDLE(handle); \
    VALID(valid); \
    handle->field = mode; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  cublasStatus_t cublasGet##Name##suffix(cublasHandle_t handle, type* mode) { \
    HANDLE(handle); \
    VALID(mode != nullptr); \
    *mode = handle->field; \
    return CUBLAS_STATUS_SUCCESS; \
  }
MODE(PointerMode, _v2, cublasPointerMode_t, pointers,
     mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE)
MODE(AtomicsMode, , cublasAtomicsMode_t, atomics, mode == CUBLAS_ATOMICS_NOT_ALLOWED || mode == CUBLAS_ATOMICS_ALLOWED)
// Sums are always in the precision that the compute type names; no mode makes them coarser.
MODE(MathMode, , cublasMath_t, math,
     (mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) <= CUBLAS_TF32_TENSOR_OP_MATH)

const char* cublasGetStatusName(cublasStatus_t status) {
  const gs_blas::Words* words = gs_blas::words_of(status);
  return words ? words->name : "CUBLAS_STATUS_UNKNOWN";
}

const char* cublasGetStatusString(cublasStatus_t status) {
  const gs_blas::Words* words = gs_blas::words_of(status);
  return words ? words->words : "no status of cuBLAS";
}

cublasStatus_t cublasSetVector(int n, int bytes, const void* x, int incx, void* y, int incy) {
  TOLD();
  return gs_blas::copy_vector(n, bytes, x, incx, y, incy, cudaMemcpyHostToDevice, nullptr);
}
cublasStatus_t cublasGetVector(int n, int bytes, const void* x, int incx, void* y, int incy) {
  TOLD();
  return gs_blas::copy_vector(n, bytes, x, incx, y, incy, cudaMemcpyDeviceToHost, nullptr);
}
cublasStatus_t cublasSetVectorAsync(int n, int bytes, const void* x, int incx, void* y, int incy, cudaStream_t stream) {
  TOLD();
  return gs_blas::copy_vector(n, bytes, x, incx, y, incy, cudaMemcpyHostToDevice, &stream);
}
cublasStatus_t cublasGetVectorAsync(int n, int bytes, const void* x, int incx, void* y, int incy, cudaStream_t stream) {
  TOLD();
  return gs_blas::copy_vector(n, bytes, x, incx, y, incy, cudaMemcpyDeviceToHost, &stream);
}
cublasStatus_t cublasSetMatrix(int rows, int columns, int bytes, const void* a, int lda, void* b, int ldb) {
  TOLD();
  return gs_blas::copy_matrix(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyHostToDevice, nullptr);
}
cublasStatus_t cublasGetMatrix(int rows, int columns, int bytes, const void* a, int lda, void* b, int ldb) {
  TOLD();
  return gs_blas::copy_matrix(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyDeviceToHost, nullptr);
}
cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int bytes, const void* a, int lda, void* b, int ldb,
                                    cudaStream_t stream) {
  TOLD();
  return gs_blas::copy_matrix(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyHostToDevice, &stream);
}
cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int bytes, const void* a, int lda, void* b, int ldb,
                                    cudaStream_t stream) {
  TOLD();
  return gs_blas::copy_matrix(rows, columns, bytes, a, lda, b, ldb, cudaMemcpyDeviceToHost, &stream);
}

}  // extern "C"
