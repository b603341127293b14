// Handles, statuses in words, and the descriptors of functions that are named by a type letter.
#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "../objects.h"
#include "kernels.h"

namespace gs_sparse {

// The runtime's own error stays for cudaGetLastError.
cusparseStatus_t launched() {
  return cudaPeekAtLastError() == cudaSuccess ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_EXECUTION_FAILED;
}

cusparseStatus_t from_runtime(cudaError_t error) {
  return error == cudaSuccess ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_EXECUTION_FAILED;
}

cusparseStatus_t not_here(const char* function, const char* what) {
  static std::set<std::string> said;
  if (said.insert(std::string(function) + what).second)
    fprintf(stderr, "gridstride: %s: its own cuSPARSE does not have %s (docs/programs.md)\n", function, what);
  return CUSPARSE_STATUS_NOT_SUPPORTED;
}

bool is_index(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I; }

size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I: case CUDA_R_8U: return 1;
    case CUDA_R_16F: case CUDA_R_16BF: return 2;
    case CUDA_R_32F: case CUDA_R_32I: case CUDA_C_16F: case CUDA_C_16BF: return 4;
    case CUDA_R_64F: case CUDA_C_32F: return 8;
    case CUDA_C_64F: return 16;
    default: return 0;
  }
}

bool is_type(cudaDataType type) { return bytes_of(type) != 0; }

namespace {

// Each thread a stretch of its own: two passes over the counts, and one over the sums of the stretches.
__global__ void __launch_bounds__(THREADS) exclusive_sums(long long* counts, long long n) {
  __shared__ long long sums[THREADS];
  const long long each = (n + THREADS - 1) / THREADS, first = min(n, each * threadIdx.x), last = min(n, first + each);
  long long sum = 0;
  for (long long i = first; i < last; ++i) sum += counts[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < THREADS; ++i) sums[i] += sums[i - 1];
  __syncthreads();
  long long before = sums[threadIdx.x] - sum;
  for (long long i = first; i < last; ++i) {
    const long long count = counts[i];
    counts[i] = before;
    before += count;
  }
  if (threadIdx.x == THREADS - 1) counts[n] = before;
}

struct Words {
  cusparseStatus_t status;
  const char *name, *words;
};
#define STATUS(name, words) {CUSPARSE_STATUS_##name, "CUSPARSE_STATUS_" #name, words}
constexpr Words WORDS[] = {
    STATUS(SUCCESS, "success"),
    STATUS(NOT_INITIALIZED, "a handle or descriptor is none that was created, or it was destroyed"),
    STATUS(ALLOC_FAILED, "memory could not be allocated"),
    STATUS(INVALID_VALUE, "an argument is out of its range, or sizes do not go together"),
    STATUS(ARCH_MISMATCH, "the device lacks what this needs"),
    STATUS(MAPPING_ERROR, "memory of the device could not be reached"),
    STATUS(EXECUTION_FAILED, "a kernel could not be launched or has failed"),
    STATUS(INTERNAL_ERROR, "the library failed"),
    STATUS(MATRIX_TYPE_NOT_SUPPORTED, "matrices of this type are not supported"),
    STATUS(ZERO_PIVOT, "a pivot is zero"),
    STATUS(NOT_SUPPORTED, "this operation, or this combination of types, is not supported"),
    STATUS(INSUFFICIENT_RESOURCES, "memory does not suffice for this"),
};

const Words* words_of(cusparseStatus_t status) {
  for (const Words& each : WORDS)
    if (each.status == status) return &each;
  return nullptr;
}

}  // namespace

cusparseStatus_t to_offsets(cusparseHandle_t handle, long long* counts, long long n) {
  exclusive_sums<<<1, THREADS, 0, handle->stream>>>(counts, n);
  return launched();
}

cusparseStatus_t read_back(cusparseHandle_t handle, const void* from, void* to, size_t bytes) {
  DONE(from_runtime(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, handle->stream)));
  return from_runtime(cudaStreamSynchronize(handle->stream));
}

}  // namespace gs_sparse

extern "C" {

cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  VALID(handle != nullptr);
  int device = 0, multiprocessors = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return CUSPARSE_STATUS_NOT_INITIALIZED;
  *handle = new cusparseContext{gs_sparse::ALIVE, nullptr, CUSPARSE_POINTER_MODE_HOST, multiprocessors};
  gs_object(GS_OBJECT_SPARSE, 1);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  DONE(gs_sparse::destroy(handle));
  gs_object(GS_OBJECT_SPARSE, -1);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int* version) {
  LIVE(handle);
  VALID(version != nullptr);
  *version = CUSPARSE_VERSION;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int* value) {
  VALID(value != nullptr && type >= MAJOR_VERSION && type <= PATCH_LEVEL);
  const int parts[] = {CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH};
  *value = parts[type];
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  LIVE(handle);
  handle->stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  LIVE(handle);
  VALID(stream != nullptr);
  *stream = handle->stream;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  LIVE(handle);
  VALID(mode == CUSPARSE_POINTER_MODE_HOST || mode == CUSPARSE_POINTER_MODE_DEVICE);
  handle->pointers = mode;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode) {
  LIVE(handle);
  VALID(mode != nullptr);
  *mode = handle->pointers;
  return CUSPARSE_STATUS_SUCCESS;
}

const char* cusparseGetErrorName(cusparseStatus_t status) {
  const gs_sparse::Words* words = gs_sparse::words_of(status);
  return words ? words->name : "unrecognized error code";
}

const char* cusparseGetErrorString(cusparseStatus_t status) {
  const gs_sparse::Words* words = gs_sparse::words_of(status);
  return words ? words->words : "unrecognized error code";
}

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* matrix) {
  VALID(matrix != nullptr);
  *matrix = new cusparseMatDescr{gs_sparse::ALIVE, CUSPARSE_MATRIX_TYPE_GENERAL, CUSPARSE_FILL_MODE_LOWER,
                                 CUSPARSE_DIAG_TYPE_NON_UNIT, CUSPARSE_INDEX_BASE_ZERO};
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t matrix) { return gs_sparse::destroy(matrix); }

#define FIELD(Name, type_t, field, last) \
  cusparseStatus_t cusparseSet##Name(cusparseMatDescr_t matrix, type_t value) { \
    LIVE(matrix); \
    VALID(int(value) >= 0 && value <= last); \
    matrix->field = value; \
    return CUSPARSE_STATUS_SUCCESS; \
  } \
  type_t cusparseGet##Name(const cusparseMatDescr_t matrix) { \
    return gs_sparse::alive(matrix) ? matrix->field : type_t{}; \
  }
FIELD(MatType, cusparseMatrixType_t, type, CUSPARSE_MATRIX_TYPE_TRIANGULAR)
FIELD(MatFillMode, cusparseFillMode_t, fill, CUSPARSE_FILL_MODE_UPPER)
FIELD(MatDiagType, cusparseDiagType_t, diagonal, CUSPARSE_DIAG_TYPE_UNIT)
FIELD(MatIndexBase, cusparseIndexBase_t, base, CUSPARSE_INDEX_BASE_ONE)

}  // extern "C"
