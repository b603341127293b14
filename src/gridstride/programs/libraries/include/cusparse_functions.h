/* The functions of cusparse.h, which includes this. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* The handle, and what goes with it. */
cusparseStatus_t cusparseCreate(cusparseHandle_t *handle);
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version);
cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value);
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t *stream);
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode);
const char *cusparseGetErrorName(cusparseStatus_t status);
const char *cusparseGetErrorString(cusparseStatus_t status);

/* What functions named by a type letter take beside their arrays. */
cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *matrix);
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t matrix);
cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t matrix, cusparseMatrixType_t type);
cusparseMatrixType_t cusparseGetMatType(const cusparseMatDescr_t matrix);
cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t matrix, cusparseFillMode_t fill);
cusparseFillMode_t cusparseGetMatFillMode(const cusparseMatDescr_t matrix);
cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t matrix, cusparseDiagType_t diagonal);
cusparseDiagType_t cusparseGetMatDiagType(const cusparseMatDescr_t matrix);
cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t matrix, cusparseIndexBase_t base);
cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t matrix);

/* Vectors. */
cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t *vector, int64_t size, int64_t nnz, void *indices,
                                     void *values, cusparseIndexType_t index, cusparseIndexBase_t base,
                                     cudaDataType type);
cusparseStatus_t cusparseCreateConstSpVec(cusparseConstSpVecDescr_t *vector, int64_t size, int64_t nnz,
                                          const void *indices, const void *values, cusparseIndexType_t index,
                                          cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t vector);
cusparseStatus_t cusparseSpVecGet(cusparseSpVecDescr_t vector, int64_t *size, int64_t *nnz, void **indices,
                                  void **values, cusparseIndexType_t *index, cusparseIndexBase_t *base,
                                  cudaDataType *type);
cusparseStatus_t cusparseConstSpVecGet(cusparseConstSpVecDescr_t vector, int64_t *size, int64_t *nnz,
                                       const void **indices, const void **values, cusparseIndexType_t *index,
                                       cusparseIndexBase_t *base, cudaDataType *type);
cusparseStatus_t cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t vector, cusparseIndexBase_t *base);
cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t vector, void **values);
cusparseStatus_t cusparseConstSpVecGetValues(cusparseConstSpVecDescr_t vector, const void **values);
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t vector, void *values);
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *vector, int64_t size, void *values, cudaDataType type);
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t *vector, int64_t size, const void *values,
                                          cudaDataType type);
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector);
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t vector, int64_t *size, void **values, cudaDataType *type);
cusparseStatus_t cusparseConstDnVecGet(cusparseConstDnVecDescr_t vector, int64_t *size, const void **values,
                                       cudaDataType *type);
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t vector, void **values);
cusparseStatus_t cusparseConstDnVecGetValues(cusparseConstDnVecDescr_t vector, const void **values);
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void *values);

/* Sparse matrices. M is Csr or Csc, and coordinates. */
#define GRIDSTRIDE_CUSPARSE_COMPRESSED(M) \
    cusparseStatus_t cusparseCreate##M(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t nnz, \
                                       void *offsets, void *indices, void *values, cusparseIndexType_t offset, \
                                       cusparseIndexType_t index, cusparseIndexBase_t base, cudaDataType type); \
    cusparseStatus_t cusparseCreateConst##M(cusparseConstSpMatDescr_t *matrix, int64_t rows, int64_t columns, \
                                            int64_t nnz, const void *offsets, const void *indices, \
                                            const void *values, cusparseIndexType_t offset, \
                                            cusparseIndexType_t index, cusparseIndexBase_t base, cudaDataType type); \
    cusparseStatus_t cusparse##M##Get(cusparseSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *nnz, \
                                      void **offsets, void **indices, void **values, cusparseIndexType_t *offset, \
                                      cusparseIndexType_t *index, cusparseIndexBase_t *base, cudaDataType *type); \
    cusparseStatus_t cusparseConst##M##Get(cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *columns, \
                                           int64_t *nnz, const void **offsets, const void **indices, \
                                           const void **values, cusparseIndexType_t *offset, \
                                           cusparseIndexType_t *index, cusparseIndexBase_t *base, \
                                           cudaDataType *type); \
    cusparseStatus_t cusparse##M##SetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices, void *values);
GRIDSTRIDE_CUSPARSE_COMPRESSED(Csr)
GRIDSTRIDE_CUSPARSE_COMPRESSED(Csc)
#undef GRIDSTRIDE_CUSPARSE_COMPRESSED
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t nnz,
                                   void *row_indices, void *column_indices, void *values, cusparseIndexType_t index,
                                   cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseCreateConstCoo(cusparseConstSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t nnz,
                                        const void *row_indices, const void *column_indices, const void *values,
                                        cusparseIndexType_t index, cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseCooGet(cusparseSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *nnz,
                                void **row_indices, void **column_indices, void **values, cusparseIndexType_t *index,
                                cusparseIndexBase_t *base, cudaDataType *type);
cusparseStatus_t cusparseConstCooGet(cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *nnz,
                                     const void **row_indices, const void **column_indices, const void **values,
                                     cusparseIndexType_t *index, cusparseIndexBase_t *base, cudaDataType *type);
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t matrix, void *row_indices, void *column_indices,
                                        void *values);
cusparseStatus_t cusparseCreateBlockedEll(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t block,
                                          int64_t width, void *indices, void *values, cusparseIndexType_t index,
                                          cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t nnz,
                                   int64_t block_rows, int64_t block_columns, void *offsets, void *indices,
                                   void *values, cusparseIndexType_t offset, cusparseIndexType_t index,
                                   cusparseIndexBase_t base, cudaDataType type, cusparseOrder_t order);
cusparseStatus_t cusparseCreateSlicedEll(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t nnz,
                                         int64_t values_size, int64_t slice, void *offsets, void *indices, void *values,
                                         cusparseIndexType_t offset, cusparseIndexType_t index,
                                         cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix);
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t matrix, cusparseFormat_t *format);
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t matrix, cusparseIndexBase_t *base);
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *nnz);
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t matrix, void **values);
cusparseStatus_t cusparseConstSpMatGetValues(cusparseConstSpMatDescr_t matrix, const void **values);
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t matrix, void *values);
cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t matrix, int *count);
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t offsets, int64_t entries);
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t entries);
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute,
                                           void *data, size_t bytes);
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void *data,
                                           size_t bytes);

/* Dense matrices. */
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t leading,
                                     void *values, cudaDataType type, cusparseOrder_t order);
cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t *matrix, int64_t rows, int64_t columns,
                                          int64_t leading, const void *values, cudaDataType type,
                                          cusparseOrder_t order);
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix);
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t matrix, int64_t *rows, int64_t *columns, int64_t *leading,
                                  void **values, cudaDataType *type, cusparseOrder_t *order);
cusparseStatus_t cusparseConstDnMatGet(cusparseConstDnMatDescr_t matrix, int64_t *rows, int64_t *columns,
                                       int64_t *leading, const void **values, cudaDataType *type,
                                       cusparseOrder_t *order);
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t matrix, void **values);
cusparseStatus_t cusparseConstDnMatGetValues(cusparseConstDnMatDescr_t matrix, const void **values);
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t matrix, void *values);
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t matrix, int count, int64_t stride);
cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t matrix, int *count, int64_t *stride);

#include "cusparse_operations.h"

#ifdef __cplusplus
}
#endif
