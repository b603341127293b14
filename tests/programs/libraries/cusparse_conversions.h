// Of cusparse_calls.cu: formats, vectors, orders, and functions with a type in their name.
#pragma once

static cusparseStatus_t to_dense(Call& c) {
  cusparseSpMatDescr_t a = c.matrix();
  cusparseDnMatDescr_t b = c.dense("z");
  size_t bytes = 0;
  TRY(cusparseSparseToDense_bufferSize(c.handle, a, b, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &bytes));
  Array buffer(bytes);
  return cusparseSparseToDense(c.handle, a, b, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, buffer.at);
}

// matrix (without entries), dense
static cusparseStatus_t to_sparse(Call& c) {
  const auto way = CUSPARSE_DENSETOSPARSE_ALG_DEFAULT;
  cusparseSpMatDescr_t b = c.matrix();
  cusparseDnMatDescr_t a = c.dense("x");
  size_t bytes = 0;
  TRY(cusparseDenseToSparse_bufferSize(c.handle, a, b, way, &bytes));
  Array buffer(bytes);
  TRY(cusparseDenseToSparse_analysis(c.handle, a, b, way, buffer.at));
  int64_t rows, columns, nnz;
  cusparseFormat_t format;
  TRY(cusparseSpMatGetSize(b, &rows, &columns, &nnz));
  TRY(cusparseSpMatGetFormat(b, &format));
  Array &indices = c.made("indices", nnz * c.index / 8), &values = c.made("values", nnz * c.width());
  if (format == CUSPARSE_FORMAT_COO) c.made("offsets", nnz * c.index / 8);
  const auto set = format == CUSPARSE_FORMAT_COO   ? cusparseCooSetPointers
                   : format == CUSPARSE_FORMAT_CSR ? cusparseCsrSetPointers
                                                   : cusparseCscSetPointers;
  TRY(set(b, c.array("offsets").at, indices.at, values.at));
  return cusparseDenseToSparse_convert(c.handle, a, b, way, buffer.at);
}

static cusparseStatus_t gather(Call& c) {
  cusparseSpVecDescr_t x = c.sparse_vector(c.n());
  return cusparseGather(c.handle, c.vector("z"), x);
}

static cusparseStatus_t scatter(Call& c) { return cusparseScatter(c.handle, c.sparse_vector(c.n()), c.vector("z")); }

static cusparseStatus_t axpby(Call& c) {
  return cusparseAxpby(c.handle, c.factor(0), c.sparse_vector(c.n()), c.factor(1), c.vector("z"));
}

static cusparseStatus_t rot(Call& c) {
  return cusparseRot(c.handle, c.factor(0), c.factor(1), c.sparse_vector(c.n()), c.vector("z"));
}

// The result lies where the first factor did.
static cusparseStatus_t spvv(Call& c) {
  const cusparseOperation_t op = c.op();
  cusparseSpVecDescr_t x = c.sparse_vector(c.n());
  cusparseDnVecDescr_t y = c.vector("x");
  void* result = const_cast<void*>(c.factor(0));
  size_t bytes = 0;
  TRY(cusparseSpVV_bufferSize(c.handle, op, x, y, result, c.data(), &bytes));
  Array buffer(bytes);
  TRY(cusparseSpVV(c.handle, op, x, y, result, c.data(), buffer.at));
  cudaMemcpy(c.made("z", c.width()).at, result, c.width(), cudaMemcpyDefault);
  return CUSPARSE_STATUS_SUCCESS;
}

static int* ints(Call& c, const char* name) { return static_cast<int*>(c.array(name).at); }

static cusparseStatus_t csr2coo(Call& c) {
  const int rows = int(c.n()), nnz = int(c.n());
  return cusparseXcsr2coo(c.handle, ints(c, "offsets"), nnz, rows, ints(c, "z"), c.index_base());
}

static cusparseStatus_t coo2csr(Call& c) {
  const int rows = int(c.n()), nnz = int(c.n());
  return cusparseXcoo2csr(c.handle, ints(c, "offsets"), nnz, rows, ints(c, "z"), c.index_base());
}

// rows columns nnz; leaves c_offsets, c_indices and c_values
static cusparseStatus_t csr2csc(Call& c) {
  const int m = int(c.n()), n = int(c.n()), nnz = int(c.n());
  const auto action = CUSPARSE_ACTION_NUMERIC;
  int *to = static_cast<int*>(c.made("c_offsets", (n + 1) * sizeof(int)).at),
      *rows = static_cast<int*>(c.made("c_indices", nnz * sizeof(int)).at);
  void *values = c.made("c_values", nnz * c.width()).at, *from = c.array("values").at;
  size_t bytes = 0;
  TRY(cusparseCsr2cscEx2_bufferSize(c.handle, m, n, nnz, from, ints(c, "offsets"), ints(c, "indices"), values, to, rows,
                                    c.data(), action, c.index_base(), CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes));
  Array buffer(bytes);
  return cusparseCsr2cscEx2(c.handle, m, n, nnz, from, ints(c, "offsets"), ints(c, "indices"), values, to, rows,
                            c.data(), action, c.index_base(), CUSPARSE_CSR2CSC_ALG_DEFAULT, buffer.at);
}

// row or column, m n nnz; z is the permutation
static cusparseStatus_t coosort(Call& c) {
  const bool by_row = c.word() == "row";
  const int m = int(c.n()), n = int(c.n()), nnz = int(c.n());
  int *rows = ints(c, "offsets"), *columns = ints(c, "indices");
  int* permutation = static_cast<int*>(c.made("z", nnz * sizeof(int)).at);
  size_t bytes = 0;
  TRY(cusparseXcoosort_bufferSizeExt(c.handle, m, n, nnz, rows, columns, &bytes));
  Array buffer(bytes);
  TRY(cusparseCreateIdentityPermutation(c.handle, nnz, permutation));
  return (by_row ? cusparseXcoosortByRow : cusparseXcoosortByColumn)(c.handle, m, n, nnz, rows, columns, permutation,
                                                                     buffer.at);
}

static cusparseMatDescr_t descriptor(const Call& c) {
  cusparseMatDescr_t made;
  cusparseCreateMatDescr(&made);
  cusparseSetMatIndexBase(made, c.index_base());
  return made;
}

// csr or csc, m n nnz
static cusparseStatus_t csrsort(Call& c) {
  const bool rows = c.word() == "csr";
  const int m = int(c.n()), n = int(c.n()), nnz = int(c.n());
  int* permutation = static_cast<int*>(c.made("z", nnz * sizeof(int)).at);
  size_t bytes = 0;
  TRY((rows ? cusparseXcsrsort_bufferSizeExt : cusparseXcscsort_bufferSizeExt)(c.handle, m, n, nnz, ints(c, "offsets"),
                                                                               ints(c, "indices"), &bytes));
  Array buffer(bytes);
  TRY(cusparseCreateIdentityPermutation(c.handle, nnz, permutation));
  return (rows ? cusparseXcsrsort : cusparseXcscsort)(c.handle, m, n, nnz, descriptor(c), ints(c, "offsets"),
                                                      ints(c, "indices"), permutation, buffer.at);
}

// m nnz, the matrix's values in z; a zero pivot's place is printed.
#define FACTORS(F, P, T) \
  static cusparseStatus_t F##_##P(Call& c) { \
    const int m = int(c.n()), nnz = int(c.n()); \
    T* values = static_cast<T*>(c.array("z").at); \
    csr##F##02Info_t info; \
    TRY(cusparseCreateCsr##F##02Info(&info)); \
    cusparseMatDescr_t matrix = descriptor(c); \
    int bytes = 0, pivot = -9, *o = ints(c, "offsets"), *i = ints(c, "indices"); \
    TRY(cusparse##P##csr##F##02_bufferSize(c.handle, m, nnz, matrix, values, o, i, info, &bytes)); \
    Array buffer(bytes); \
    const auto policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL; \
    TRY(cusparse##P##csr##F##02_analysis(c.handle, m, nnz, matrix, values, o, i, info, policy, buffer.at)); \
    TRY(cusparse##P##csr##F##02(c.handle, m, nnz, matrix, values, o, i, info, policy, buffer.at)); \
    const cusparseStatus_t status = cusparseXcsr##F##02_zeroPivot(c.handle, info, &pivot); \
    printf("%d ", pivot); \
    return status; \
  }
// m n ldb (or the stride)
#define SYSTEMS(P, T) \
  static cusparseStatus_t systems_##P(Call& c) { \
    const int m = int(c.n()), n = int(c.n()), step = int(c.n()); \
    const auto part = [&](const char* name) { return static_cast<T*>(c.array(name).at); }; \
    T *l = part("offsets"), *d = part("x"), *u = part("y"), *b = part("z"); \
    const auto size = c.name == "gtsv2"     ? cusparse##P##gtsv2_bufferSizeExt \
                      : c.name == "nopivot" ? cusparse##P##gtsv2_nopivot_bufferSizeExt : nullptr; \
    size_t bytes = 0; \
    TRY(size ? size(c.handle, m, n, l, d, u, b, step, &bytes) \
             : cusparse##P##gtsv2StridedBatch_bufferSizeExt(c.handle, m, l, d, u, b, n, step, &bytes)); \
    Array buffer(bytes); \
    if (!size) return cusparse##P##gtsv2StridedBatch(c.handle, m, l, d, u, b, n, step, buffer.at); \
    return (c.name == "gtsv2" ? cusparse##P##gtsv2 : cusparse##P##gtsv2_nopivot)(c.handle, m, n, l, d, u, b, step, \
                                                                                 buffer.at); \
  }
#define TYPE(P, T) FACTORS(ilu, P, T) FACTORS(ic, P, T) SYSTEMS(P, T)
TYPE(S, float)
TYPE(D, double)
TYPE(C, cuComplex)
TYPE(Z, cuDoubleComplex)

static cusparseStatus_t typed(Call& c) {
  using Function = cusparseStatus_t (*)(Call&);
  static const std::map<string, std::vector<Function>> functions = {
      {"S", {ilu_S, ic_S, systems_S}}, {"D", {ilu_D, ic_D, systems_D}},
      {"C", {ilu_C, ic_C, systems_C}}, {"Z", {ilu_Z, ic_Z, systems_Z}}};
  return functions.at(c.type)[c.name == "ilu" ? 0 : c.name == "ic" ? 1 : 2](c);
}
