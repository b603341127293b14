// Calls of cuSPARSE, one a line: TYPE INDEX BASE MODE NAME arguments; arrays lie in files of the folder given, named by
// the line's number, and results are left there (test_cusparse.py).
#include <cusparse.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using std::string;

static string folder;

#define TRY(call) \
  do { \
    if (cusparseStatus_t status_ = (call); status_ != CUSPARSE_STATUS_SUCCESS) return status_; \
  } while (0)

// An array in device memory, from its file or of so many bytes.
struct Array {
  size_t bytes = 0;
  void* at = nullptr;
  explicit Array(size_t n) : bytes(n) { cudaMalloc(&at, bytes); }
  explicit Array(const string& name) {
    std::ifstream file(folder + "/" + name, std::ios::binary);
    std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
    bytes = data.size();
    cudaMalloc(&at, bytes);
    if (bytes) cudaMemcpy(at, data.data(), bytes, cudaMemcpyHostToDevice);
  }
  ~Array() { cudaFree(at); }
  void save(const string& name) const {
    std::vector<char> data(bytes);
    cudaMemcpy(data.data(), at, bytes, cudaMemcpyDeviceToHost);
    std::ofstream(folder + "/" + name, std::ios::binary).write(data.data(), bytes);
  }
};

struct Call {
  cusparseHandle_t handle;
  string number, type, mode, name;
  int index, base;
  std::istringstream words;
  std::map<string, std::unique_ptr<Array>> arrays;
  std::vector<char> factors;  // alpha and beta, on the host
  std::unique_ptr<Array> on_device;

  Call(cusparseHandle_t handle, const string& number, const string& line)
      : handle(handle), number(number), words(line) {
    words >> type >> index >> base >> mode >> name;
    on_device = std::make_unique<Array>(number + "_factors");
    factors.resize(on_device->bytes);
    cudaMemcpy(factors.data(), on_device->at, factors.size(), cudaMemcpyDeviceToHost);
    cusparseSetPointerMode(handle, mode == "device" ? CUSPARSE_POINTER_MODE_DEVICE : CUSPARSE_POINTER_MODE_HOST);
  }
  long long n() { long long value = 0; words >> value; return value; }
  string word() { string value; words >> value; return value; }
  cusparseOperation_t op() { return cusparseOperation_t(string("NTC").find(word())); }
  cusparseOrder_t order() { return word() == "row" ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL; }
  Array& array(const string& what) {
    auto& found = arrays[what];
    if (!found) found = std::make_unique<Array>(number + "_" + what);
    return *found;
  }
  Array& made(const string& what, size_t bytes) { return *(arrays[what] = std::make_unique<Array>(bytes)); }
  cudaDataType data() const {
    return type == "S" ? CUDA_R_32F : type == "D" ? CUDA_R_64F : type == "C" ? CUDA_C_32F : CUDA_C_64F;
  }
  size_t width() const { return type == "S" ? 4 : type == "Z" ? 16 : 8; }
  const void* factor(int i) const {
    const size_t from = i * width();
    return mode == "device" ? static_cast<char*>(on_device->at) + from : factors.data() + from;
  }
  cusparseIndexType_t index_type() const { return index == 64 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I; }
  cusparseIndexBase_t index_base() const { return base ? CUSPARSE_INDEX_BASE_ONE : CUSPARSE_INDEX_BASE_ZERO; }

  // FORMAT rows columns nnz, with arrays offsets, indices and values behind the prefix.
  cusparseSpMatDescr_t matrix(const string& prefix = "") {
    const string format = word();
    const long long rows = n(), columns = n(), nnz = n();
    void *o = array(prefix + "offsets").at, *i = array(prefix + "indices").at, *v = array(prefix + "values").at;
    cusparseSpMatDescr_t made = nullptr;
    if (format == "coo")
      cusparseCreateCoo(&made, rows, columns, nnz, o, i, v, index_type(), index_base(), data());
    else
      (format == "csr" ? cusparseCreateCsr : cusparseCreateCsc)(&made, rows, columns, nnz, o, i, v, index_type(),
                                                                index_type(), index_base(), data());
    return made;
  }
  // rows columns leading ORDER
  cusparseDnMatDescr_t dense(const string& what) {
    const long long rows = n(), columns = n(), leading = n();
    cusparseDnMatDescr_t made = nullptr;
    cusparseCreateDnMat(&made, rows, columns, leading, array(what).at, data(), order());
    return made;
  }
  cusparseDnVecDescr_t vector(const string& what) {
    cusparseDnVecDescr_t made = nullptr;
    cusparseCreateDnVec(&made, array(what).bytes / width(), array(what).at, data());
    return made;
  }
  cusparseSpVecDescr_t sparse_vector(long long size) {
    cusparseSpVecDescr_t made = nullptr;
    cusparseCreateSpVec(&made, size, array("values").bytes / width(), array("indices").at, array("values").at,
                        index_type(), index_base(), data());
    return made;
  }
};

static void triangle(cusparseSpMatDescr_t a, const string& which, const string& kind) {
  cusparseFillMode_t fill = which == "upper" ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = kind == "unit" ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
  cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill);
  cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal);
}

static cusparseStatus_t spmv(Call& c) {
  const cusparseOperation_t op = c.op();
  cusparseSpMatDescr_t a = c.matrix();
  cusparseDnVecDescr_t x = c.vector("x"), y = c.vector("z");
  size_t bytes = 0;
  TRY(cusparseSpMV_bufferSize(c.handle, op, c.factor(0), a, x, c.factor(1), y, c.data(), CUSPARSE_SPMV_ALG_DEFAULT,
                              &bytes));
  Array buffer(bytes);
  TRY(cusparseSpMV_preprocess(c.handle, op, c.factor(0), a, x, c.factor(1), y, c.data(), CUSPARSE_SPMV_ALG_DEFAULT,
                              buffer.at));
  TRY(cusparseSpMV(c.handle, op, c.factor(0), a, x, c.factor(1), y, c.data(), CUSPARSE_SPMV_ALG_DEFAULT, buffer.at));
  TRY(cusparseDestroyDnVec(x));
  TRY(cusparseDestroyDnVec(y));
  return cusparseDestroySpMat(a);
}

// OP OP matrix, dense b, dense c, how many, from one to the next
static cusparseStatus_t spmm(Call& c) {
  const cusparseOperation_t op_a = c.op(), op_b = c.op();
  cusparseSpMatDescr_t a = c.matrix();
  cusparseDnMatDescr_t b = c.dense("x"), out = c.dense("z");
  const int count = int(c.n());
  if (count > 1) {
    TRY(cusparseDnMatSetStridedBatch(b, count, c.array("x").bytes / c.width() / count));
    TRY(cusparseDnMatSetStridedBatch(out, count, c.array("z").bytes / c.width() / count));
    TRY(cusparseCsrSetStridedBatch(a, count, 0, 0));
  }
  size_t bytes = 0;
  TRY(cusparseSpMM_bufferSize(c.handle, op_a, op_b, c.factor(0), a, b, c.factor(1), out, c.data(),
                              CUSPARSE_SPMM_ALG_DEFAULT, &bytes));
  Array buffer(bytes);
  return cusparseSpMM(c.handle, op_a, op_b, c.factor(0), a, b, c.factor(1), out, c.data(), CUSPARSE_SPMM_ALG_DEFAULT,
                      buffer.at);
}

static cusparseStatus_t sddmm(Call& c) {
  const cusparseOperation_t op_a = c.op(), op_b = c.op();
  cusparseSpMatDescr_t out = c.matrix();
  cusparseDnMatDescr_t a = c.dense("x"), b = c.dense("y");
  size_t bytes = 0;
  TRY(cusparseSDDMM_bufferSize(c.handle, op_a, op_b, c.factor(0), a, b, c.factor(1), out, c.data(),
                               CUSPARSE_SDDMM_ALG_DEFAULT, &bytes));
  Array buffer(bytes);
  return cusparseSDDMM(c.handle, op_a, op_b, c.factor(0), a, b, c.factor(1), out, c.data(), CUSPARSE_SDDMM_ALG_DEFAULT,
                       buffer.at);
}

// OP FILL DIAGONAL UPDATE matrix: an update replaces the values, or the diagonal, after the analysis.
static cusparseStatus_t spsv(Call& c) {
  const cusparseOperation_t op = c.op();
  const string fill = c.word(), diagonal = c.word(), update = c.word();
  cusparseSpMatDescr_t a = c.matrix();
  triangle(a, fill, diagonal);
  cusparseDnVecDescr_t x = c.vector("x"), y = c.vector("z");
  cusparseSpSVDescr_t solve;
  TRY(cusparseSpSV_createDescr(&solve));
  size_t bytes = 0;
  TRY(cusparseSpSV_bufferSize(c.handle, op, c.factor(0), a, x, y, c.data(), CUSPARSE_SPSV_ALG_DEFAULT, solve, &bytes));
  Array buffer(bytes);
  TRY(cusparseSpSV_analysis(c.handle, op, c.factor(0), a, x, y, c.data(), CUSPARSE_SPSV_ALG_DEFAULT, solve, buffer.at));
  if (update != "none")
    TRY(cusparseSpSV_updateMatrix(c.handle, solve, c.array("y").at,
                                  update == "all" ? CUSPARSE_SPSV_UPDATE_GENERAL : CUSPARSE_SPSV_UPDATE_DIAGONAL));
  TRY(cusparseSpSV_solve(c.handle, op, c.factor(0), a, x, y, c.data(), CUSPARSE_SPSV_ALG_DEFAULT, solve));
  return cusparseSpSV_destroyDescr(solve);
}

// OP OP FILL DIAGONAL matrix, dense b, dense c
static cusparseStatus_t spsm(Call& c) {
  const cusparseOperation_t op_a = c.op(), op_b = c.op();
  const string fill = c.word(), diagonal = c.word();
  cusparseSpMatDescr_t a = c.matrix();
  cusparseDnMatDescr_t b = c.dense("x"), out = c.dense("z");
  triangle(a, fill, diagonal);
  cusparseSpSMDescr_t solve;
  TRY(cusparseSpSM_createDescr(&solve));
  size_t bytes = 0;
  TRY(cusparseSpSM_bufferSize(c.handle, op_a, op_b, c.factor(0), a, b, out, c.data(), CUSPARSE_SPSM_ALG_DEFAULT, solve,
                              &bytes));
  Array buffer(bytes);
  TRY(cusparseSpSM_analysis(c.handle, op_a, op_b, c.factor(0), a, b, out, c.data(), CUSPARSE_SPSM_ALG_DEFAULT, solve,
                            buffer.at));
  TRY(cusparseSpSM_solve(c.handle, op_a, op_b, c.factor(0), a, b, out, c.data(), CUSPARSE_SPSM_ALG_DEFAULT, solve));
  return cusparseSpSM_destroyDescr(solve);
}

// Two matrices; leaves c_offsets, c_indices and c_values.
static cusparseStatus_t spgemm(Call& c) {
  const auto N = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto way = CUSPARSE_SPGEMM_DEFAULT;
  cusparseSpMatDescr_t a = c.matrix(), b = c.matrix("b_"), out;
  int64_t rows, columns, nnz, inner;
  TRY(cusparseSpMatGetSize(a, &rows, &inner, &nnz));
  TRY(cusparseSpMatGetSize(b, &inner, &columns, &nnz));
  Array& offsets = c.made("c_offsets", (rows + 1) * c.index / 8);
  TRY(cusparseCreateCsr(&out, rows, columns, 0, offsets.at, nullptr, nullptr, c.index_type(), c.index_type(),
                        c.index_base(), c.data()));
  cusparseSpGEMMDescr_t product;
  TRY(cusparseSpGEMM_createDescr(&product));
  const void *alpha = c.factor(0), *beta = c.factor(1);
  const cudaDataType t = c.data();
  size_t bytes1 = 0, bytes2 = 0;
  TRY(cusparseSpGEMM_workEstimation(c.handle, N, N, alpha, a, b, beta, out, t, way, product, &bytes1, nullptr));
  Array buffer1(bytes1);
  TRY(cusparseSpGEMM_workEstimation(c.handle, N, N, alpha, a, b, beta, out, t, way, product, &bytes1, buffer1.at));
  TRY(cusparseSpGEMM_compute(c.handle, N, N, alpha, a, b, beta, out, t, way, product, &bytes2, nullptr));
  Array buffer2(bytes2);
  TRY(cusparseSpGEMM_compute(c.handle, N, N, alpha, a, b, beta, out, t, way, product, &bytes2, buffer2.at));
  TRY(cusparseSpMatGetSize(out, &rows, &columns, &nnz));
  Array &indices = c.made("c_indices", nnz * c.index / 8), &values = c.made("c_values", nnz * c.width());
  TRY(cusparseCsrSetPointers(out, offsets.at, indices.at, values.at));
  TRY(cusparseSpGEMM_copy(c.handle, N, N, alpha, a, b, beta, out, t, way, product));
  return cusparseSpGEMM_destroyDescr(product);
}

#include "cusparse_conversions.h"

static const std::map<string, std::function<cusparseStatus_t(Call&)>> CALLS = {
    {"spmv", spmv}, {"spmm", spmm}, {"sddmm", sddmm}, {"spsv", spsv}, {"spsm", spsm}, {"spgemm", spgemm},
    {"to_dense", to_dense}, {"to_sparse", to_sparse}, {"gather", gather}, {"scatter", scatter}, {"axpby", axpby},
    {"rot", rot}, {"spvv", spvv}, {"csr2coo", csr2coo}, {"coo2csr", coo2csr}, {"csr2csc", csr2csc},
    {"coosort", coosort}, {"csrsort", csrsort}, {"ilu", typed}, {"ic", typed}, {"gtsv2", typed},
    {"nopivot", typed}, {"strided", typed},
};

int main(int argc, char** argv) {
  folder = argv[1];
  cusparseHandle_t handle;
  cusparseCreate(&handle);
  string line;
  for (int number = 0; std::getline(std::cin, line); ++number) {
    Call call(handle, std::to_string(number), line);
    const cusparseStatus_t status = CALLS.at(call.name)(call);
    for (const auto& [name, array] : call.arrays) array->save(call.number + "_" + name + "_out");
    printf("%s\n", cusparseGetErrorName(status));
  }
  return cusparseDestroy(handle);
}
