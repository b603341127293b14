// From one format to another.
#include "sort.h"

namespace gs_sparse {
namespace {

struct RowIndices {
  Indices offsets, rows;
  __device__ void operator()(long long r) const {
    for (long long k = offsets[r]; k < offsets[r + 1]; ++k) rows.set(k, r);
  }
};

template <class T>
struct Zero {
  Dense<T> b;
  long long rows, columns;
  bool rows_first;
  __device__ void operator()(long long i) const {
    *b.to(rows_first ? i % rows : i / columns, rows_first ? i / rows : i % columns) = T{};
  }
};

template <class T>
struct Spread {
  Sparse<T> a;
  Dense<T> b;
  __device__ void operator()(long long item) const {
    const long long major = a.major_at(item), end = a.end(item);
    for (long long k = a.begin(item); k < end; ++k) {
      const long long minor = a.minors[k];
      *b.to(a.flipped ? minor : major, a.flipped ? major : minor) = a.values[k];
    }
  }
};

// A major of the sparse matrix to be, in the dense one.
template <class T>
struct Counted {
  Dense<T> a;
  long long minors;
  bool flipped;
  long long* counts;
  __device__ void operator()(long long major) const {
    long long count = 0;
    for (long long minor = 0; minor < minors; ++minor)
      count += !zero(flipped ? a(minor, major) : a(major, minor));
    counts[major] = count;
  }
};

struct Copied {
  const long long* from;
  Indices to;
  __device__ void operator()(long long i) const { to.set(i, from[i]); }
};

template <class T>
struct Filled {
  Dense<T> a;
  long long minors;
  const long long* begins;
  Sparse<T> b;
  __device__ void operator()(long long major) const {
    long long k = begins[major];
    for (long long minor = 0; minor < minors; ++minor) {
      const T value = b.flipped ? a(minor, major) : a(major, minor);
      if (zero(value)) continue;
      if (b.coordinates) b.offsets.set(k, major);
      b.minors.set(k, minor);
      b.values[k++] = value;
    }
  }
};

template <class T>
struct Transposed {
  const int *order, *rows;
  const T* from;
  T* values;
  int* indices;
  int base;
  __device__ void operator()(long long i) const {
    const int entry = order[i];
    indices[i] = rows[entry] + base;
    if (values != nullptr) values[i] = from[entry];
  }
};

// The sorted columns, of which the offsets are made.
struct Columns {
  const int *order, *from;
  int* to;
  __device__ void operator()(long long i) const { to[i] = from[order[i]]; }
};

template <class A, class B>
cusparseStatus_t check(const char* function, cusparseHandle_t handle, const A* a, const B* b) {
  LIVE(handle);
  LIVE(a);
  LIVE(b);
  VALID(a->rows == b->rows && a->columns == b->columns);
  if (a->batch != 1 || b->batch != 1) return not_here(function, "batches");
  return a->type == b->type ? CUSPARSE_STATUS_SUCCESS : not_here(function, "matrices of different types");
}

// How many majors the sparse matrix has: of coordinates its rows, as they are sorted by them.
int64_t majors_of(cusparseConstSpMatDescr_t b) { return b->format == CUSPARSE_FORMAT_CSC ? b->columns : b->rows; }
int64_t minors_of(cusparseConstSpMatDescr_t b) { return b->format == CUSPARSE_FORMAT_CSC ? b->rows : b->columns; }

struct TransposeMemory {
  int *order, *other, *rows, *columns;
  size_t bytes;
};

TransposeMemory transpose_memory(int nnz, void* buffer) {
  Pieces pieces{static_cast<char*>(buffer)};
  TransposeMemory made{pieces.take<int>(nnz), pieces.take<int>(nnz), pieces.take<int>(nnz), pieces.take<int>(nnz), 0};
  made.bytes = pieces.used;
  return made;
}

// Only how many bytes a value has counts here.
template <class T>
cusparseStatus_t transpose(cusparseHandle_t handle, const Transposed<T>& body, int nnz) {
  return for_each(handle, nnz, body);
}

}  // namespace
}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* offsets, int nnz, int rows, int* row_indices,
                                  cusparseIndexBase_t base) {
  LIVE(handle);
  VALID(nnz >= 0 && rows >= 0 && is_base(base) && offsets != nullptr && (nnz == 0 || row_indices != nullptr));
  return for_each(handle, rows, RowIndices{indices(offsets, CUSPARSE_INDEX_32I, base), {row_indices, false, base}});
}

cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* row_indices, int nnz, int rows, int* offsets,
                                  cusparseIndexBase_t base) {
  LIVE(handle);
  VALID(nnz >= 0 && rows >= 0 && is_base(base) && offsets != nullptr && (nnz == 0 || row_indices != nullptr));
  return for_each(handle, rows + 1LL,
                  RowOffsets{indices(row_indices, CUSPARSE_INDEX_32I, base), nnz, {offsets, false, base}});
}

cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int m, int n, int nnz, const void*, const int*,
                                               const int*, void*, int*, int*, cudaDataType, cusparseAction_t,
                                               cusparseIndexBase_t base, cusparseCsr2CscAlg_t, size_t* bytes) {
  LIVE(handle);
  VALID(m >= 0 && n >= 0 && nnz >= 0 && is_base(base) && bytes != nullptr);
  *bytes = transpose_memory(nnz, nullptr).bytes;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nnz, const void* csr_values,
                                    const int* csr_offsets, const int* csr_indices, void* csc_values, int* csc_offsets,
                                    int* csc_indices, cudaDataType type, cusparseAction_t action,
                                    cusparseIndexBase_t base, cusparseCsr2CscAlg_t, void* buffer) {
  LIVE(handle);
  VALID(m >= 0 && n >= 0 && nnz >= 0 && is_base(base) && csr_offsets != nullptr && csc_offsets != nullptr);
  VALID(nnz == 0 || (csr_indices != nullptr && csc_indices != nullptr && buffer != nullptr));
  VALID(nnz == 0 || action != CUSPARSE_ACTION_NUMERIC || (csr_values != nullptr && csc_values != nullptr));
  const TransposeMemory memory = transpose_memory(nnz, buffer);
  int* order = memory.order;
  DONE(for_each(handle, m, RowIndices{indices(csr_offsets, CUSPARSE_INDEX_32I, base), {memory.rows, false, 0}}));
  if (nnz > 0) DONE(sorted(handle, {csr_indices, nullptr}, nnz, memory.order, memory.other, &order));
  DONE(for_each(handle, nnz, Columns{order, csr_indices, memory.columns}));
  DONE(for_each(handle, n + 1LL, RowOffsets{{memory.columns, false, base}, nnz, {csc_offsets, false, base}}));
  return for_type("cusparseCsr2cscEx2", type, [&](auto value) {
    using T = decltype(value);
    T* values = action == CUSPARSE_ACTION_NUMERIC ? static_cast<T*>(csc_values) : nullptr;
    return transpose(handle, Transposed<T>{order, memory.rows, static_cast<const T*>(csr_values), values, csc_indices,
                                           int(base)}, nnz);
  });
}

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                  cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t, size_t* bytes) {
  DONE(check("cusparseSparseToDense", handle, a, b));
  VALID(bytes != nullptr);
  *bytes = 0;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                                       cusparseSparseToDenseAlg_t, void*) {
  DONE(check("cusparseSparseToDense", handle, a, b));
  return for_type("cusparseSparseToDense", a->type, [&](auto type) {
    using T = decltype(type);
    const Sparse<T> from = sparse<T>(a, CUSPARSE_OPERATION_NON_TRANSPOSE);
    DONE(for_each(handle, b->rows * b->columns,
                  Zero<T>{dense<T>(b), b->rows, b->columns, b->order == CUSPARSE_ORDER_COL}));
    return for_each(handle, from.majors, Spread<T>{from, dense<T>(b)});
  });
}

cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                  cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, size_t* bytes) {
  DONE(check("cusparseDenseToSparse", handle, a, b));
  VALID(bytes != nullptr);
  *bytes = size_t(majors_of(b) + 1) * sizeof(long long);
  return CUSPARSE_STATUS_SUCCESS;
}

// The host waits here: how many entries there are stands in b afterwards.
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, void* buffer) {
  DONE(check("cusparseDenseToSparse", handle, a, b));
  VALID(buffer != nullptr);
  long long *counts = static_cast<long long*>(buffer), nnz = 0;
  const int64_t majors = majors_of(b);
  DONE(for_type("cusparseDenseToSparse", a->type, [&](auto type) {
    using T = decltype(type);
    return for_each(handle, majors, Counted<T>{dense<T>(a), minors_of(b), b->format == CUSPARSE_FORMAT_CSC, counts});
  }));
  DONE(to_offsets(handle, counts, majors));
  if (b->format != CUSPARSE_FORMAT_COO && b->offsets != nullptr)
    DONE(for_each(handle, majors + 1, Copied{counts, indices(b->offsets, b->offset, b->base)}));
  DONE(read_back(handle, counts + majors, &nnz, sizeof nnz));
  b->nnz = nnz;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                               cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, void* buffer) {
  DONE(check("cusparseDenseToSparse", handle, a, b));
  VALID(buffer != nullptr && b->offsets != nullptr);
  VALID(b->nnz == 0 || (b->indices != nullptr && b->values != nullptr));
  const long long* begins = static_cast<long long*>(buffer);
  if (b->format != CUSPARSE_FORMAT_COO)
    DONE(for_each(handle, majors_of(b) + 1, Copied{begins, indices(b->offsets, b->offset, b->base)}));
  return for_type("cusparseDenseToSparse", a->type, [&](auto type) {
    using T = decltype(type);
    const Sparse<T> to = sparse<T>(b, CUSPARSE_OPERATION_NON_TRANSPOSE);
    return for_each(handle, majors_of(b), Filled<T>{dense<T>(a), minors_of(b), begins, to});
  });
}

}  // extern "C"
