/* Functions of cusparse.h that have the type of their values in their name; cusparse_operations.h includes this. */
#pragma once

cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t *info);
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info);
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info, int *position);
cusparseStatus_t cusparseCreateCsric02Info(csric02Info_t *info);
cusparseStatus_t cusparseDestroyCsric02Info(csric02Info_t info);
cusparseStatus_t cusparseXcsric02_zeroPivot(cusparseHandle_t handle, csric02Info_t info, int *position);

/* Incomplete factors of A in its own pattern, in its place. F is ilu or ic. */
#define GRIDSTRIDE_CUSPARSE_FACTOR(F, P, T) \
    cusparseStatus_t cusparse##P##csr##F##02_bufferSize(cusparseHandle_t handle, int m, int nnz, \
                                                        const cusparseMatDescr_t matrix, T *values, \
                                                        const int *offsets, const int *indices, \
                                                        csr##F##02Info_t info, int *bytes); \
    cusparseStatus_t cusparse##P##csr##F##02_analysis(cusparseHandle_t handle, int m, int nnz, \
                                                      const cusparseMatDescr_t matrix, const T *values, \
                                                      const int *offsets, const int *indices, \
                                                      csr##F##02Info_t info, cusparseSolvePolicy_t policy, \
                                                      void *buffer); \
    cusparseStatus_t cusparse##P##csr##F##02(cusparseHandle_t handle, int m, int nnz, \
                                             const cusparseMatDescr_t matrix, T *values, const int *offsets, \
                                             const int *indices, csr##F##02Info_t info, \
                                             cusparseSolvePolicy_t policy, void *buffer);

/* Tridiagonal systems: the same matrix for n right sides, or a matrix for each. */
#define GRIDSTRIDE_CUSPARSE_TRIDIAGONAL(P, T, V) \
    cusparseStatus_t cusparse##P##gtsv2##V##_bufferSizeExt(cusparseHandle_t handle, int m, int n, const T *lower, \
                                                           const T *diagonal, const T *upper, const T *b, int ldb, \
                                                           size_t *bytes); \
    cusparseStatus_t cusparse##P##gtsv2##V(cusparseHandle_t handle, int m, int n, const T *lower, const T *diagonal, \
                                           const T *upper, T *b, int ldb, void *buffer);
#define GRIDSTRIDE_CUSPARSE_TYPE(P, T) \
    GRIDSTRIDE_CUSPARSE_FACTOR(ilu, P, T) \
    GRIDSTRIDE_CUSPARSE_FACTOR(ic, P, T) \
    GRIDSTRIDE_CUSPARSE_TRIDIAGONAL(P, T, ) \
    GRIDSTRIDE_CUSPARSE_TRIDIAGONAL(P, T, _nopivot) \
    cusparseStatus_t cusparse##P##csrilu02_numericBoost(cusparseHandle_t handle, csrilu02Info_t info, int enable, \
                                                        double *tolerance, T *value); \
    cusparseStatus_t cusparse##P##gtsv2StridedBatch_bufferSizeExt(cusparseHandle_t handle, int m, const T *lower, \
                                                                  const T *diagonal, const T *upper, const T *x, \
                                                                  int count, int stride, size_t *bytes); \
    cusparseStatus_t cusparse##P##gtsv2StridedBatch(cusparseHandle_t handle, int m, const T *lower, \
                                                    const T *diagonal, const T *upper, T *x, int count, int stride, \
                                                    void *buffer);
GRIDSTRIDE_CUSPARSE_TYPE(S, float)
GRIDSTRIDE_CUSPARSE_TYPE(D, double)
GRIDSTRIDE_CUSPARSE_TYPE(C, cuComplex)
GRIDSTRIDE_CUSPARSE_TYPE(Z, cuDoubleComplex)
#undef GRIDSTRIDE_CUSPARSE_TYPE
#undef GRIDSTRIDE_CUSPARSE_FACTOR
#undef GRIDSTRIDE_CUSPARSE_TRIDIAGONAL
