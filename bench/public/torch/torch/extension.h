// As much of PyTorch's C++ interface as launchers of public kernels use, over managed memory: bench/public_kernels.py
// compiles them against it and calls what PYBIND11_MODULE names. Written for that; no part of PyTorch.
#pragma once
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>

#include <algorithm>
#include <cassert>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace c10 {
enum class ScalarType : int { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16, Float8_e4m3fn, Float8_e5m2 };
enum class DeviceType : int { CPU, CUDA };
struct Device {
  DeviceType kind = DeviceType::CUDA;
  Device(DeviceType k = DeviceType::CUDA, int = 0) : kind(k) {}
  bool is_cuda() const { return kind == DeviceType::CUDA; }
  int index() const { return 0; }
};
namespace cuda {
struct CUDAGuard { template <class T> explicit CUDAGuard(T) {} };
using OptionalCUDAGuard = CUDAGuard;
}  // namespace cuda
}  // namespace c10

namespace at {
using c10::ScalarType;
namespace cuda {
struct CUDAStream { operator cudaStream_t() const { return nullptr; } cudaStream_t stream() const { return nullptr; } };
inline CUDAStream getCurrentCUDAStream(int = 0) { return {}; }
}  // namespace cuda
}  // namespace at

namespace torch {
using c10::ScalarType;
using Dtype = ScalarType;
using Device = c10::Device;
constexpr auto kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char,
               kShort = ScalarType::Short, kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int,
               kLong = ScalarType::Long, kInt64 = ScalarType::Long, kHalf = ScalarType::Half,
               kFloat16 = ScalarType::Half, kFloat = ScalarType::Float, kFloat32 = ScalarType::Float,
               kDouble = ScalarType::Double, kFloat64 = ScalarType::Double, kBool = ScalarType::Bool,
               kBFloat16 = ScalarType::BFloat16, kFloat8_e4m3fn = ScalarType::Float8_e4m3fn, kFloat8_e5m2 = ScalarType::Float8_e5m2;
constexpr auto kCUDA = c10::DeviceType::CUDA, kCPU = c10::DeviceType::CPU;

inline int64_t bytes_of(ScalarType type) {
  static const int64_t sizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 1, 2, 1, 1};
  return sizes[static_cast<int>(type)];
}

struct TensorOptions {
  ScalarType type = kFloat32;
  Device where;
  TensorOptions() = default;
  TensorOptions(ScalarType t) : type(t) {}
  ScalarType dtype() const { return type; }
  Device device() const { return where; }
  TensorOptions dtype(ScalarType t) const { auto o = *this; o.type = t; return o; }
  TensorOptions device(Device d, int = 0) const { auto o = *this; o.where = d; return o; }
  TensorOptions device(c10::DeviceType d, int = 0) const { auto o = *this; o.where = Device(d); return o; }
  TensorOptions requires_grad(bool) const { return *this; }
};
inline std::ostream& operator<<(std::ostream& out, const TensorOptions& o) {
  return out << "dtype " << static_cast<int>(o.type);
}

template <class T> struct type_of;
template <> struct type_of<float> { static constexpr auto value = kFloat32; };
template <> struct type_of<double> { static constexpr auto value = kDouble; };
template <> struct type_of<int> { static constexpr auto value = kInt32; };
template <> struct type_of<int64_t> { static constexpr auto value = kInt64; };

struct Scalar {
  double value;
  template <class T> T to() const { return static_cast<T>(value); }
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(std::vector<int64_t> sizes, TensorOptions options) : sizes_(std::move(sizes)), options_(options) {
    void* data = nullptr;
    if (cudaMallocManaged(&data, std::max<int64_t>(1, numel()) * bytes_of(options.type)) != cudaSuccess)
      throw std::runtime_error("out of memory");
    data_ = std::shared_ptr<void>(data, [](void* p) { cudaFree(p); });
  }
  bool defined() const { return data_ != nullptr; }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t ndimension() const { return dim(); }
  int64_t size(int64_t d) const { return sizes_.at(d < 0 ? d + dim() : d); }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t stride(int64_t d) const {
    int64_t s = 1;
    for (int64_t i = (d < 0 ? d + dim() : d) + 1; i < dim(); ++i) s *= sizes_[i];
    return s;
  }
  int64_t numel() const { int64_t n = 1; for (auto s : sizes_) n *= s; return n; }
  int64_t element_size() const { return bytes_of(options_.type); }
  TensorOptions options() const { return options_; }
  ScalarType dtype() const { return options_.type; }
  ScalarType scalar_type() const { return options_.type; }
  Device device() const { return options_.where; }
  bool is_cuda() const { return options_.where.is_cuda(); }
  bool is_contiguous() const { return true; }
  Tensor contiguous() const { return *this; }
  Tensor to(Device d) const { cudaDeviceSynchronize(); Tensor t = *this; t.options_.where = d; return t; }
  Tensor to(c10::DeviceType d) const { return to(Device(d)); }
  Tensor cpu() const { return to(Device(c10::DeviceType::CPU)); }
  void* data_ptr() const { return data_.get(); }
  template <class T> T* data_ptr() const { return static_cast<T*>(data_.get()); }
  template <class T> T item() const { cudaDeviceSynchronize(); return *data_ptr<T>(); }
  Scalar item() const { return {options_.type == kFloat32 ? item<float>() : item<int>()}; }
  const char* toString() const { return "Tensor"; }
  std::tuple<Tensor, Tensor> sort(bool stable, int64_t d, bool descending) const;
  Tensor index_select(int64_t d, const Tensor& rows) const;
  template <class T, int N> T* accessor() const { static_assert(N == 1); return data_ptr<T>(); }

 private:
  std::vector<int64_t> sizes_;
  TensorOptions options_;
  std::shared_ptr<void> data_;
};

inline Tensor empty(std::vector<int64_t> sizes, TensorOptions o = {}) { return Tensor(std::move(sizes), o); }
inline Tensor zeros(std::vector<int64_t> sizes, TensorOptions o = {}) {
  Tensor t(std::move(sizes), o);
  std::memset(t.data_ptr(), 0, t.numel() * t.element_size());
  return t;
}
inline Tensor zeros_like(const Tensor& t) { return zeros(t.sizes(), t.options()); }
inline Tensor empty_like(const Tensor& t) { return empty(t.sizes(), t.options()); }
template <class T> Tensor tensor(const std::vector<T>& values, TensorOptions o = {}) {
  Tensor t({static_cast<int64_t>(values.size())}, o);
  for (size_t i = 0; i < values.size(); ++i) {
    if (o.type == kInt32) t.data_ptr<int>()[i] = static_cast<int>(values[i]);
    else if (o.type == kInt64) t.data_ptr<int64_t>()[i] = static_cast<int64_t>(values[i]);
    else t.data_ptr<float>()[i] = static_cast<float>(values[i]);
  }
  return t;
}
inline std::tuple<Tensor, Tensor> max(const Tensor& t, int) {  // of one dimension of int32
  Tensor most({1}, TensorOptions(t.dtype())), where({1}, TensorOptions(kInt64));
  const int* begin = t.data_ptr<int>();
  const int* found = std::max_element(begin, begin + t.numel());
  *most.data_ptr<int>() = *found;
  *where.data_ptr<int64_t>() = found - begin;
  return {most, where};
}
inline std::tuple<Tensor, Tensor> Tensor::sort(bool, int64_t, bool descending) const {  // of one dimension of float32
  std::vector<int64_t> order(numel());
  for (int64_t i = 0; i < numel(); ++i) order[i] = i;
  const float* x = data_ptr<float>();
  std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) { return descending ? x[a] > x[b] : x[a] < x[b]; });
  Tensor where = tensor(order, TensorOptions(kInt64)), sorted = empty(sizes(), options());
  for (int64_t i = 0; i < numel(); ++i) sorted.data_ptr<float>()[i] = x[order[i]];
  return {sorted, where};
}
inline Tensor Tensor::index_select(int64_t, const Tensor& rows) const {  // of the first dimension
  std::vector<int64_t> all = sizes();
  all[0] = rows.numel();
  Tensor found = empty(all, options());
  const int64_t bytes = stride(0) * element_size();
  for (int64_t i = 0; i < all[0]; ++i)
    std::memcpy(static_cast<char*>(found.data_ptr()) + i * bytes,
                static_cast<const char*>(data_ptr()) + rows.data_ptr<int64_t>()[i] * bytes, bytes);
  return found;
}
}  // namespace torch
namespace at { using torch::Tensor; using torch::kHalf; using torch::kFloat; using torch::kBFloat16; }

#define TORCH_CHECK(condition, ...) \
  do { if (!(condition)) throw std::runtime_error("TORCH_CHECK: " #condition); } while (0)
#define C10_CUDA_CHECK(call) \
  do { auto e_ = (call); if (e_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e_)); } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

namespace pybind11 {
struct Call {  // one line of the order: name, then arguments
  std::istringstream words;
  std::vector<std::pair<torch::Tensor, std::string>> tensors;  // and the files that they came from
  std::vector<torch::Tensor> returned;

  torch::Tensor take_tensor() {
    std::string kind, path;
    int type, dims;
    words >> kind;
    if (kind == "N") return {};
    if (kind != "T") throw std::runtime_error("a tensor was expected, not " + kind);
    words >> type >> dims;
    std::vector<int64_t> sizes(dims);
    for (auto& each : sizes) words >> each;
    words >> path;
    torch::Tensor t(sizes, torch::TensorOptions(static_cast<c10::ScalarType>(type)));
    std::ifstream(path, std::ios::binary).read(static_cast<char*>(t.data_ptr()), t.numel() * t.element_size());
    tensors.push_back({t, path});
    return t;
  }
  template <class A> std::decay_t<A> take() {
    using T = std::decay_t<A>;
    if constexpr (std::is_same_v<T, torch::Tensor>) {
      return take_tensor();
    } else if constexpr (std::is_same_v<T, std::optional<torch::Tensor>>) {
      torch::Tensor t = take_tensor();
      return t.defined() ? std::optional<torch::Tensor>(t) : std::nullopt;
    } else {
      std::string kind;
      T value{};
      words >> kind >> value;
      if (kind != "V") throw std::runtime_error("a value was expected, not " + kind);
      return value;
    }
  }
  void give(const torch::Tensor& t) { returned.push_back(t); }
  template <class... T> void give(const std::tuple<T...>& all) {
    std::apply([this](const auto&... each) { (give(each), ...); }, all);
  }
  void give(const std::vector<torch::Tensor>& all) { for (const auto& t : all) give(t); }
};

struct arg {
  explicit arg(const char*) {}
  arg& none(bool) { return *this; }
};

class module_ {
 public:
  template <class R, class... A, class... More> module_& def(const char* name, R (*f)(A...), More&&...) {
    functions[name] = [f](Call& call) {
      std::tuple<std::decay_t<A>...> given{call.take<A>()...};
      if constexpr (std::is_void_v<R>) std::apply(f, given);
      else call.give(std::apply(f, given));
    };
    return *this;
  }
  std::map<std::string, std::function<void(Call&)>> functions;
};
}  // namespace pybind11
namespace py = pybind11;

void bind_everything(pybind11::module_& m);
#define TORCH_EXTENSION_NAME extension
#ifdef BOUND_ELSEWHERE  // one file alone of several that their own binding names
#define PYBIND11_MODULE(name, m) [[maybe_unused]] static void bind_all_files(pybind11::module_& m)
#else
#define PYBIND11_MODULE(name, m) void bind_everything(pybind11::module_& m)
#endif
