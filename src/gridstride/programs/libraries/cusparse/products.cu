// A sparse matrix by a vector or by dense matrices, and a dense product where a sparse matrix has entries.
#include "kernels.h"

namespace gs_sparse {
namespace {

template <class T>
struct Product {
  Sparse<T> a;
  Dense<T> b, c;
  long long rows, columns;  // of c
  bool rows_first;          // neighbouring threads take neighbouring rows, as c lies in memory
  Scalar<T> alpha, beta;
  __device__ long long row(long long i) const { return rows_first ? i % rows : i / columns; }
  __device__ long long column(long long i) const { return rows_first ? i / rows : i % columns; }
};

// An element of C goes along its row of A.
template <class T>
struct Rows {
  Product<T> p;
  __device__ void operator()(long long i) const {
    const long long row = p.row(i), column = p.column(i), end = p.a.end(row);
    T sum{};
    for (long long k = p.a.begin(row); k < end; ++k) sum = sum + p.a.value(k) * p.b(p.a.minors[k], column);
    put(p.c.to(row, column), p.alpha.get() * sum, p.beta.get());
  }
};

template <class T>
struct Scale {
  Product<T> p;
  __device__ void operator()(long long i) const { put(p.c.to(p.row(i), p.column(i)), T{}, p.beta.get()); }
};

// Where rows of op(A) do not lie together, each entry adds to C what is its.
template <class T>
struct Entries {
  Product<T> p;
  __device__ void operator()(long long i) const {
    const long long item = i / p.columns, column = i % p.columns, major = p.a.major_at(item), end = p.a.end(item);
    for (long long k = p.a.begin(item); k < end; ++k) {
      const long long minor = p.a.minors[k];
      const T part = p.alpha.get() * p.a.value(k) * p.b(p.a.flipped ? major : minor, column);
      add(p.c.to(p.a.flipped ? minor : major, column), part);
    }
  }
};

template <class T>
cusparseStatus_t multiply(cusparseHandle_t handle, const Product<T>& p) {
  const long long elements = p.rows * p.columns;
  if (!p.a.flipped && !p.a.coordinates) return for_each(handle, elements, Rows<T>{p});
  DONE(for_each(handle, elements, Scale<T>{p}));
  return for_each(handle, p.a.majors * p.columns, Entries<T>{p});
}

// C = alpha op(A) op(B) + beta C at the entries that C has.
template <class T>
struct Sampled {
  Sparse<T> c;
  Dense<T> a, b;
  long long inner;
  Scalar<T> alpha, beta;
  __device__ void operator()(long long item) const {
    const long long major = c.major_at(item), end = c.end(item);
    for (long long k = c.begin(item); k < end; ++k) {
      const long long minor = c.minors[k], row = c.flipped ? minor : major, column = c.flipped ? major : minor;
      T sum{};
      for (long long i = 0; i < inner; ++i) sum = sum + a(row, i) * b(i, column);
      put(c.values + k, alpha.get() * sum, beta.get());
    }
  }
};

cusparseStatus_t same_type(const char* function, bool same) {
  return same ? CUSPARSE_STATUS_SUCCESS : not_here(function, "operands and sums of different types");
}

cusparseStatus_t check_vector(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseConstDnVecDescr_t y, cudaDataType compute) {
  LIVE(handle);
  LIVE(a);
  LIVE(x);
  LIVE(y);
  VALID(is_op(op) && alpha != nullptr && beta != nullptr);
  VALID(x->size == columns_of(a, op) && y->size == rows_of(a, op));
  return same_type("cusparseSpMV", a->type == compute && x->type == compute && y->type == compute);
}

cusparseStatus_t check_matrices(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                const void* beta, cusparseConstDnMatDescr_t c, cudaDataType compute) {
  LIVE(handle);
  LIVE(a);
  LIVE(b);
  LIVE(c);
  VALID(is_op(op_a) && is_op(op_b) && alpha != nullptr && beta != nullptr);
  VALID(rows_of(a, op_a) == c->rows && columns_of(a, op_a) == rows_of(b, op_b) && columns_of(b, op_b) == c->columns);
  VALID((a->batch == 1 || a->batch == c->batch) && (b->batch == 1 || b->batch == c->batch));
  return same_type("cusparseSpMM", a->type == compute && b->type == compute && c->type == compute);
}

cusparseStatus_t check_sampled(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                               const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                               const void* beta, cusparseConstSpMatDescr_t c, cudaDataType compute) {
  LIVE(handle);
  LIVE(a);
  LIVE(b);
  LIVE(c);
  VALID(is_op(op_a) && is_op(op_b) && alpha != nullptr && beta != nullptr);
  VALID(rows_of(a, op_a) == c->rows && columns_of(a, op_a) == rows_of(b, op_b) && columns_of(b, op_b) == c->columns);
  return same_type("cusparseSDDMM", a->type == compute && b->type == compute && c->type == compute);
}

// No product here needs memory beside its operands.
cusparseStatus_t no_memory(size_t* bytes) {
  VALID(bytes != nullptr);
  *bytes = 0;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace
}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t,
                                         size_t* bytes) {
  DONE(check_vector(handle, op, alpha, a, x, beta, y, compute));
  return no_memory(bytes);
}

cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void*) {
  return check_vector(handle, op, alpha, a, x, beta, y, compute);
}

cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void*) {
  DONE(check_vector(handle, op, alpha, a, x, beta, y, compute));
  return for_type("cusparseSpMV", compute, [&](auto type) {
    using T = decltype(type);
    return multiply(handle, Product<T>{sparse<T>(a, op), dense<T>(x), dense<T>(y), y->size, 1, true,
                                       scalar<T>(handle, alpha), scalar<T>(handle, beta)});
  });
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                         const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t, size_t* bytes) {
  DONE(check_matrices(handle, op_a, op_b, alpha, a, b, beta, c, compute));
  return no_memory(bytes);
}

cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                         const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t, void*) {
  return check_matrices(handle, op_a, op_b, alpha, a, b, beta, c, compute);
}

cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void* beta, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t,
                              void*) {
  DONE(check_matrices(handle, op_a, op_b, alpha, a, b, beta, c, compute));
  return for_type("cusparseSpMM", compute, [&](auto type) {
    using T = decltype(type);
    for (int i = 0; i < c->batch; ++i)
      DONE(multiply(handle,
                    Product<T>{sparse<T>(a, op_a, a->batch > 1 ? i : 0), dense<T>(b, op_b, b->batch > 1 ? i : 0),
                               dense<T>(c, CUSPARSE_OPERATION_NON_TRANSPOSE, i), c->rows, c->columns,
                               c->order == CUSPARSE_ORDER_COL, scalar<T>(handle, alpha), scalar<T>(handle, beta)}));
    return CUSPARSE_STATUS_SUCCESS;
  });
}

cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                          const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                          cusparseSDDMMAlg_t, size_t* bytes) {
  DONE(check_sampled(handle, op_a, op_b, alpha, a, b, beta, c, compute));
  return no_memory(bytes);
}

cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                          const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                          cusparseSDDMMAlg_t, void*) {
  return check_sampled(handle, op_a, op_b, alpha, a, b, beta, c, compute);
}

cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                               const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute, cusparseSDDMMAlg_t,
                               void*) {
  DONE(check_sampled(handle, op_a, op_b, alpha, a, b, beta, c, compute));
  return for_type("cusparseSDDMM", compute, [&](auto type) {
    using T = decltype(type);
    for (int i = 0; i < c->batch; ++i) {
      const Sparse<T> view = sparse<T>(c, CUSPARSE_OPERATION_NON_TRANSPOSE, i);
      DONE(for_each(handle, view.majors,
                    Sampled<T>{view, dense<T>(a, op_a, a->batch > 1 ? i : 0), dense<T>(b, op_b, b->batch > 1 ? i : 0),
                               columns_of(a, op_a), scalar<T>(handle, alpha), scalar<T>(handle, beta)}));
    }
    return CUSPARSE_STATUS_SUCCESS;
  });
}

}  // extern "C"
