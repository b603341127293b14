// Calls of cuBLAS by name: a line of stdin is one call, its arrays lie in files, and so does what it leaves.
#include <cublas_v2.h>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using std::string;

static string folder;

static std::vector<char> bytes_of(const string& name) {
  std::ifstream file(folder + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// An array in device memory, from its file; nothing where there is no file.
struct Array {
  size_t bytes = 0;
  void* at = nullptr;
  explicit Array(const string& name) {
    std::vector<char> data = bytes_of(name);
    bytes = data.size();
    if (bytes == 0) return;
    cudaMalloc(&at, bytes);
    cudaMemcpy(at, data.data(), bytes, cudaMemcpyHostToDevice);
  }
  ~Array() { cudaFree(at); }
  template <class T>
  T* of() { return static_cast<T*>(at); }
  void save(const string& name) {
    std::vector<char> data(bytes);
    cudaMemcpy(data.data(), at, bytes, cudaMemcpyDeviceToHost);
    std::ofstream(folder + "/" + name, std::ios::binary).write(data.data(), bytes);
  }
};

struct Call {
  cublasHandle_t handle;
  std::istringstream words;
  Array x, y, z, factors;
  Call(cublasHandle_t handle, const string& number, const string& line)
      : handle(handle), words(line), x(number + "_x"), y(number + "_y"), z(number + "_z"),
        factors(number + "_factors") {}
  int number() { int n; words >> n; return n; }
  cublasOperation_t op() {
    string word;
    words >> word;
    return word == "N" ? CUBLAS_OP_N : word == "T" ? CUBLAS_OP_T : CUBLAS_OP_C;
  }
};

// A list in device memory of where the matrices of a batch begin, from the first or from the last.
template <class T>
struct List {
  T** at = nullptr;
  List(T* first, long long stride, int count, bool backwards) {
    std::vector<T*> each;
    for (int i = 0; i < count; ++i) each.push_back(first + stride * (backwards ? count - 1 - i : i));
    cudaMalloc(&at, count * sizeof(T*));
    cudaMemcpy(at, each.data(), count * sizeof(T*), cudaMemcpyHostToDevice);
  }
  ~List() { cudaFree(at); }
};

#define REAL(P, T) \
  static cublasStatus_t call_##P(Call& c, const string& name, const T* alpha, const T* beta, T* result) { \
    T *x = c.x.of<T>(), *y = c.y.of<T>(), *z = c.z.of<T>(); \
    int n[10], count = 0; \
    cublasOperation_t ta = CUBLAS_OP_N, tb = CUBLAS_OP_N; \
    if (name == "gemm" || name == "strided" || name == "batched" || name == "geam") \
      ta = c.op(), tb = c.op(); \
    if (name == "gemv") ta = c.op(); \
    while (count < 10 && c.words >> n[count]) ++count; \
    if (name == "gemm") \
      return cublas##P##gemm(c.handle, ta, tb, n[0], n[1], n[2], alpha, x, n[3], y, n[4], beta, z, n[5]); \
    if (name == "strided") \
      return cublas##P##gemmStridedBatched(c.handle, ta, tb, n[0], n[1], n[2], alpha, x, n[3], n[6], y, n[4], n[7], \
                                           beta, z, n[5], n[8], n[9]); \
    if (name == "batched") { \
      List<T> a(x, n[6], n[9], true), b(y, n[7], n[9], false), d(z, n[8], n[9], false); \
      return cublas##P##gemmBatched(c.handle, ta, tb, n[0], n[1], n[2], alpha, a.at, n[3], b.at, n[4], beta, d.at, \
                                    n[5], n[9]); \
    } \
    if (name == "geam") \
      return cublas##P##geam(c.handle, ta, tb, n[0], n[1], alpha, x, n[2], beta, y, n[3], z, n[4]); \
    if (name == "gemv") return cublas##P##gemv(c.handle, ta, n[0], n[1], alpha, x, n[2], y, n[3], beta, z, n[4]); \
    if (name == "ger") return cublas##P##ger(c.handle, n[0], n[1], alpha, x, n[2], y, n[3], z, n[4]); \
    if (name == "axpy") return cublas##P##axpy(c.handle, n[0], alpha, x, n[1], z, n[2]); \
    if (name == "scal") return cublas##P##scal(c.handle, n[0], alpha, z, n[1]); \
    if (name == "copy") return cublas##P##copy(c.handle, n[0], x, n[1], z, n[2]); \
    if (name == "swap") return cublas##P##swap(c.handle, n[0], x, n[1], z, n[2]); \
    if (name == "dot") return cublas##P##dot(c.handle, n[0], x, n[1], y, n[2], result); \
    if (name == "nrm2") return cublas##P##nrm2(c.handle, n[0], x, n[1], result); \
    if (name == "asum") return cublas##P##asum(c.handle, n[0], x, n[1], result); \
    return CUBLAS_STATUS_NOT_SUPPORTED; \
  }
REAL(S, float)
REAL(D, double)

template <class T>
static cublasStatus_t scaled(Call& c, const string& name, bool on_device,
                             cublasStatus_t (*call)(Call&, const string&, const T*, const T*, T*)) {
  std::vector<T> host(3);
  if (c.factors.bytes) cudaMemcpy(host.data(), c.factors.at, c.factors.bytes, cudaMemcpyDeviceToHost);
  T* device;
  cudaMalloc(&device, 3 * sizeof(T));
  cudaMemcpy(device, host.data(), 3 * sizeof(T), cudaMemcpyHostToDevice);
  T* at = on_device ? device : host.data();
  cublasStatus_t status = call(c, name, at, at + 1, at + 2);
  if (on_device) cudaMemcpy(host.data(), device, 3 * sizeof(T), cudaMemcpyDeviceToHost);
  cudaFree(device);
  if (name == "dot" || name == "nrm2" || name == "asum") printf("%.17g ", double(host[2]));
  return status;
}

static cudaDataType type_of(const string& word) {
  return word == "half" ? CUDA_R_16F : word == "bf16" ? CUDA_R_16BF : word == "float" ? CUDA_R_32F : CUDA_R_64F;
}

// half_float TA TB m n k lda ldb ldc, of a batch also the strides and how many: in GemmEx, with the types of the name
static cublasStatus_t mixed(Call& c, const string& name) {
  const size_t between = name.find('_');
  const cudaDataType in = type_of(name.substr(0, between)), out = type_of(name.substr(between + 1));
  const bool wide = in == CUDA_R_64F;
  char factors[2 * sizeof(double)];
  cudaMemcpy(factors, c.factors.at, c.factors.bytes, cudaMemcpyDeviceToHost);
  const void *alpha = factors, *beta = factors + (wide ? sizeof(double) : sizeof(float));
  const cublasComputeType_t compute = wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
  const cublasOperation_t ta = c.op(), tb = c.op();
  int n[10], count = 0;
  while (count < 10 && c.words >> n[count]) ++count;
  if (count == 10)
    return cublasGemmStridedBatchedEx(c.handle, ta, tb, n[0], n[1], n[2], alpha, c.x.at, in, n[3], n[6], c.y.at, in,
                                      n[4], n[7], beta, c.z.at, out, n[5], n[8], n[9], compute, CUBLAS_GEMM_DEFAULT);
  return cublasGemmEx(c.handle, ta, tb, n[0], n[1], n[2], alpha, c.x.at, in, n[3], c.y.at, in, n[4], beta, c.z.at, out,
                      n[5], compute, CUBLAS_GEMM_DEFAULT);
}

static cublasStatus_t half_gemm(Call& c) {
  float factors[2];
  cudaMemcpy(factors, c.factors.at, sizeof factors, cudaMemcpyDeviceToHost);
  const __half alpha = __float2half(factors[0]), beta = __float2half(factors[1]);
  const cublasOperation_t ta = c.op(), tb = c.op();
  int n[6];
  for (int& each : n) each = c.number();
  return cublasHgemm(c.handle, ta, tb, n[0], n[1], n[2], &alpha, c.x.of<__half>(), n[3], c.y.of<__half>(), n[4], &beta,
                     c.z.of<__half>(), n[5]);
}

// set_vector BYTES n incx incy, set_matrix BYTES rows columns lda ldb: from the host's x to the device's z; get_: from
// the device's x to the host's z.
static cublasStatus_t copied(Call& c, const string& name, bool in_stream) {
  const bool to_device = name.substr(0, 3) == "set", vector = name.substr(4) == "vector";
  const int bytes = c.number();
  int n[4], count = 0;
  while (count < 4 && c.words >> n[count]) ++count;
  Array& there = to_device ? c.x : c.z;
  std::vector<char> host(there.bytes);
  cudaMemcpy(host.data(), there.at, there.bytes, cudaMemcpyDeviceToHost);
  const void* from = to_device ? host.data() : c.x.at;
  void* to = to_device ? c.z.at : host.data();
  cudaStream_t stream = nullptr;
  if (in_stream) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cublasStatus_t status;
  if (vector && !in_stream)
    status = (to_device ? cublasSetVector : cublasGetVector)(n[0], bytes, from, n[1], to, n[2]);
  else if (vector)
    status = (to_device ? cublasSetVectorAsync : cublasGetVectorAsync)(n[0], bytes, from, n[1], to, n[2], stream);
  else if (!in_stream)
    status = (to_device ? cublasSetMatrix : cublasGetMatrix)(n[0], n[1], bytes, from, n[2], to, n[3]);
  else
    status = (to_device ? cublasSetMatrixAsync : cublasGetMatrixAsync)(n[0], n[1], bytes, from, n[2], to, n[3], stream);
  if (in_stream) {
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
  if (!to_device) cudaMemcpy(c.z.at, host.data(), host.size(), cudaMemcpyHostToDevice);
  return status;
}

static cublasStatus_t extreme(Call& c, const string& name) {
  int result = -1, n = c.number(), step = c.number();
  cublasStatus_t status = name == "isamax"   ? cublasIsamax(c.handle, n, c.x.of<float>(), step, &result)
                          : name == "isamin" ? cublasIsamin(c.handle, n, c.x.of<float>(), step, &result)
                          : name == "idamax" ? cublasIdamax(c.handle, n, c.x.of<double>(), step, &result)
                                             : cublasIdamin(c.handle, n, c.x.of<double>(), step, &result);
  printf("%d ", result);
  return status;
}

int main(int argc, char** argv) {
  folder = argv[1];
  cublasHandle_t handle;
  cublasCreate(&handle);
  string line;
  for (int number = 0; std::getline(std::cin, line); ++number) {
    std::istringstream start(line);
    string type, mode, name, rest;
    start >> type >> mode >> name;
    std::getline(start, rest);
    Call call(handle, std::to_string(number), rest);
    const bool on_device = mode == "device";
    cublasSetPointerMode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
    cublasStatus_t status = type == "S"   ? scaled<float>(call, name, on_device, call_S)
                            : type == "D" ? scaled<double>(call, name, on_device, call_D)
                            : type == "I" ? extreme(call, name)
                            : type == "H" ? half_gemm(call)
                            : type == "C" ? copied(call, name, mode == "stream")
                                          : mixed(call, name);
    if (call.z.bytes) call.z.save(std::to_string(number) + "_out");
    printf("%s\n", cublasGetStatusName(status));
  }
  return cublasDestroy(handle);
}
