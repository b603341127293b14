// A product of two sparse matrices, in the interface's steps: how many products, which of them meet, the result.
#include "kernels.h"

// What one step leaves to the next, in the buffers of the program.
struct cusparseSpGEMMDescr {
  unsigned alive;
  long long* begins;   // of each row's products; in the first buffer
  long long* offsets;  // of each row's entries
  long long products;
  long long* columns;  // in the second one
  void* values;
  bool counted, computed;
};

namespace gs_sparse {
namespace {

struct Count {
  Indices a_offsets, a_minors, b_offsets;
  long long* counts;
  __device__ void operator()(long long row) const {
    long long count = 0;
    for (long long k = a_offsets[row]; k < a_offsets[row + 1]; ++k)
      count += b_offsets[a_minors[k] + 1] - b_offsets[a_minors[k]];
    counts[row] = count;
  }
};

// A row's products in order of their columns; those of one column make an entry.
template <class T>
struct Expand {
  Sparse<T> a, b;
  const long long* begins;
  long long *columns, *counts;
  T* values;

  // By Shell: nothing but the row itself is needed, and rows are short.
  __device__ void sort(long long begin, long long count) const {
    long long gap = 1;
    while (gap < count / 3) gap = gap * 3 + 1;
    for (; gap > 0; gap /= 3)
      for (long long i = gap; i < count; ++i) {
        const long long column = columns[begin + i];
        const T value = values[begin + i];
        long long j = i;
        for (; j >= gap && columns[begin + j - gap] > column; j -= gap) {
          columns[begin + j] = columns[begin + j - gap];
          values[begin + j] = values[begin + j - gap];
        }
        columns[begin + j] = column;
        values[begin + j] = value;
      }
  }

  __device__ void operator()(long long row) const {
    const long long begin = begins[row];
    long long at = begin;
    for (long long k = a.offsets[row]; k < a.offsets[row + 1]; ++k)
      for (long long l = b.offsets[a.minors[k]]; l < b.offsets[a.minors[k] + 1]; ++l) {
        columns[at] = b.minors[l];
        values[at++] = a.values[k] * b.values[l];
      }
    sort(begin, at - begin);
    long long count = 0;
    for (long long i = begin; i < at; ++i) {
      if (count > 0 && columns[begin + count - 1] == columns[i]) {
        values[begin + count - 1] = values[begin + count - 1] + values[i];
        continue;
      }
      columns[begin + count] = columns[i];
      values[begin + count++] = values[i];
    }
    counts[row] = count;
  }
};

template <class T>
struct Copy {
  const long long *begins, *offsets, *columns;
  const T* values;
  Sparse<T> c;
  long long rows;
  Scalar<T> alpha, beta;
  __device__ void operator()(long long row) const {
    c.offsets.set(row, offsets[row]);
    if (row == rows - 1) c.offsets.set(rows, offsets[rows]);
    for (long long i = 0; i < offsets[row + 1] - offsets[row]; ++i) {
      c.minors.set(offsets[row] + i, columns[begins[row] + i]);
      put(c.values + offsets[row] + i, alpha.get() * values[begins[row] + i], beta.get());
    }
  }
};

cusparseStatus_t check(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b, const void* alpha,
                       cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b, const void* beta,
                       cusparseConstSpMatDescr_t c, cudaDataType compute, const cusparseSpGEMMDescr* product) {
  LIVE(handle);
  LIVE(a);
  LIVE(b);
  LIVE(c);
  LIVE(product);
  VALID(is_op(op_a) && is_op(op_b) && alpha != nullptr && beta != nullptr);
  VALID(a->columns == b->rows && c->rows == a->rows && c->columns == b->columns);
  if (op_a != CUSPARSE_OPERATION_NON_TRANSPOSE || op_b != CUSPARSE_OPERATION_NON_TRANSPOSE)
    return not_here("cusparseSpGEMM", "transposes");
  for (cusparseConstSpMatDescr_t each : {a, b, c}) {
    if (each->format != CUSPARSE_FORMAT_CSR) return not_here("cusparseSpGEMM", "formats other than CSR");
    if (each->type != compute) return not_here("cusparseSpGEMM", "operands and sums of different types");
  }
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace
}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* product) {
  VALID(product != nullptr);
  *product = new cusparseSpGEMMDescr{ALIVE};
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t product) { return destroy(product); }

// Without a buffer: how long it must be. With one the host waits for the number of products.
cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t op_a,
                                               cusparseOperation_t op_b, const void* alpha,
                                               cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                               cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t product, size_t* bytes,
                                               void* buffer) {
  DONE(check(handle, op_a, op_b, alpha, a, b, beta, c, compute, product));
  VALID(bytes != nullptr);
  Pieces pieces{static_cast<char*>(buffer)};
  product->begins = pieces.take<long long>(a->rows + 1);
  product->offsets = pieces.take<long long>(a->rows + 1);
  product->counted = product->computed = false;
  if (buffer == nullptr) {
    *bytes = pieces.used;
    return CUSPARSE_STATUS_SUCCESS;
  }
  VALID(*bytes >= pieces.used);
  DONE(for_each(handle, a->rows,
                Count{indices(a->offsets, a->offset, a->base), indices(a->indices, a->index, a->base),
                      indices(b->offsets, b->offset, b->base), product->begins}));
  DONE(to_offsets(handle, product->begins, a->rows));
  DONE(read_back(handle, product->begins + a->rows, &product->products, sizeof(long long)));
  product->counted = true;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t product, int64_t* number) {
  LIVE(product);
  VALID(number != nullptr && product->counted);
  *number = product->products;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpGEMM_estimateMemory(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                                               cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void*,
                                               cusparseSpMatDescr_t, cudaDataType, cusparseSpGEMMAlg_t,
                                               cusparseSpGEMMDescr_t, float, size_t*, void*, size_t*) {
  return not_here("cusparseSpGEMM_estimateMemory", "products in chunks");
}

// The host waits for the number of entries, which stands in c afterwards.
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                        const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                        const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                        cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t product, size_t* bytes,
                                        void* buffer) {
  DONE(check(handle, op_a, op_b, alpha, a, b, beta, c, compute, product));
  VALID(bytes != nullptr && product->counted);
  Pieces pieces{static_cast<char*>(buffer)};
  product->columns = pieces.take<long long>(product->products);
  product->values = pieces.take<char>(product->products * bytes_of(compute));
  if (buffer == nullptr && pieces.used > 0) {
    *bytes = pieces.used;
    return CUSPARSE_STATUS_SUCCESS;
  }
  VALID(*bytes >= pieces.used);
  DONE(for_type("cusparseSpGEMM", compute, [&](auto type) {
    using T = decltype(type);
    return for_each(handle, a->rows,
                    Expand<T>{sparse<T>(a, op_a), sparse<T>(b, op_b), product->begins, product->columns,
                              product->offsets, static_cast<T*>(product->values)});
  }));
  DONE(to_offsets(handle, product->offsets, a->rows));
  long long nnz = 0;
  DONE(read_back(handle, product->offsets + a->rows, &nnz, sizeof nnz));
  c->nnz = nnz;
  product->computed = true;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                     const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                     const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                     cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t product) {
  DONE(check(handle, op_a, op_b, alpha, a, b, beta, c, compute, product));
  VALID(product->computed && c->offsets != nullptr && (c->nnz == 0 || (c->indices != nullptr && c->values != nullptr)));
  return for_type("cusparseSpGEMM", compute, [&](auto type) {
    using T = decltype(type);
    return for_each(handle, c->rows,
                    Copy<T>{product->begins, product->offsets, product->columns, static_cast<T*>(product->values),
                            sparse<T>(c, op_a), c->rows, scalar<T>(handle, alpha), scalar<T>(handle, beta)});
  });
}

}  // extern "C"
