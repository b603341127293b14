// What every op here needs: sizes of tensors, checks that name the argument, the launch on PyTorch's stream.

#pragma once

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <tuple>
#include <vector>

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

namespace extension {

using torch::headeronly::ScalarType;
using torch::headeronly::toString;
using torch::stable::Tensor;
using Sizes = std::vector<int64_t>;

// A call of an op as PyTorch makes it: what is given and what is returned lie on one stack.
using Boxed = void(StableIValue* stack, uint64_t given, uint64_t returned);

// Whether it ran; if not, what the exception said. Nothing is thrown out of here.
template <Boxed* op>
__attribute__((noinline)) bool ran(StableIValue* stack, uint64_t given, uint64_t returned, char* words,
                                   size_t room) noexcept
{
    try {
        op(stack, given, returned);
        return true;
    } catch (const std::exception& error) {
        std::snprintf(words, room, "%s", error.what());
        return false;
    }
}

// The op as it is registered. An error is thrown by PyTorch's own library, and no frame that it passes has to look at it:
// this library may have been built with another C++ runtime, and neither catches what the other throws.
template <Boxed* op>
void guarded(StableIValue* stack, uint64_t given, uint64_t returned)
{
    char words[2048];
    if (!ran<op>(stack, given, returned, words, sizeof words))
        aoti_torch_check(false, "guarded", __FILE__, __LINE__, words);
}

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Axes in front of a tensor's last `axes - 1`, multiplied: they count as its first.
inline int64_t leading(const Tensor& x, int64_t axes)
{
    int64_t size = 1;
    for (int64_t i = 0; i <= x.dim() - axes; ++i) size *= x.size(i);
    return size;
}

// The sizes of those axes, with `rest` behind them.
inline Sizes behind(const Tensor& x, int64_t axes, const Sizes& rest)
{
    Sizes sizes;
    for (int64_t i = 0; i <= x.dim() - axes; ++i) sizes.push_back(x.size(i));
    sizes.insert(sizes.end(), rest.begin(), rest.end());
    return sizes;
}

inline std::string text(const Sizes& sizes)
{
    std::string all = "[";
    for (size_t i = 0; i < sizes.size(); ++i) all += (i ? ", " : "") + std::to_string(sizes[i]);
    return all + "]";
}

inline void expect(const char* op, const char* name, const Tensor& x, ScalarType dtype, const Tensor& first)
{
    STD_TORCH_CHECK(x.is_cuda(), op, ": ", name, " is not on a GPU");
    STD_TORCH_CHECK(x.get_device_index() == first.get_device_index(), op, ": ", name, " is on another GPU");
    STD_TORCH_CHECK(x.scalar_type() == dtype, op, ": ", name, " is ", toString(x.scalar_type()), ", not ", toString(dtype));
    STD_TORCH_CHECK(x.is_contiguous(), op, ": ", name, " is not contiguous");
}

inline void expect_axes(const char* op, const char* name, const Tensor& x, int64_t least)
{
    STD_TORCH_CHECK(x.dim() >= least, op, ": ", name, " has ", x.dim(), " axes, ", least, " are needed");
}

inline void expect_shape(const char* op, const char* name, const Tensor& x, const Sizes& own)
{
    const int64_t axes = own.size();
    Sizes has = {leading(x, axes)};
    for (int64_t i = x.dim() - axes + 1; i < x.dim(); ++i) has.push_back(x.size(i));
    STD_TORCH_CHECK(has == own, op, ": ", name, " is ", text(has), ", not ", text(own));
}

// An output that no launch writes.
inline void expect_empty(const char* op, const char* name, const Tensor& made)
{
    STD_TORCH_CHECK(made.numel() == 0, op, ": for these sizes no block is launched, and nothing would write ", name);
}

inline int as_int(const char* op, const char* name, int64_t value)
{
    STD_TORCH_CHECK(INT_MIN <= value && value <= INT_MAX, op, ": ", name, " = ", value, " is beyond an int");
    return static_cast<int>(value);
}

inline int64_t attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    cudaDeviceGetAttribute(&value, which, device);
    return value;
}

// PyTorch's current stream. Its function is looked up when it is wanted: what was built beside a PyTorch without CUDA
// serves one with it, and loads where there is none.
inline cudaStream_t current_stream(const char* op, int device)
{
    using Function = AOTITorchError (*)(int32_t, void**);
    static const auto function = [] {
        void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
        return library ? reinterpret_cast<Function>(dlsym(library, "aoti_torch_get_current_cuda_stream")) : nullptr;
    }();
    void* stream = nullptr;
    STD_TORCH_CHECK(function != nullptr, op, ": this PyTorch has no CUDA");
    STD_TORCH_CHECK(function(device, &stream) == 0, op, ": PyTorch has no stream for GPU ", device);
    return static_cast<cudaStream_t>(stream);
}

inline void launch(const char* op, const void* kernel, dim3 grid, dim3 block, size_t shared, void** arguments,
                   bool cooperative, int device)
{
    const cudaStream_t stream = current_stream(op, device);
    cudaError_t error = cudaSuccess;
    if (shared > 48 * 1024)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    if (error == cudaSuccess)
        error = cooperative
            ? cudaLaunchCooperativeKernel(kernel, grid, block, arguments, shared, stream)
            : cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
    STD_TORCH_CHECK(error == cudaSuccess, op, ": ", cudaGetErrorString(error));
}

}  // namespace extension
