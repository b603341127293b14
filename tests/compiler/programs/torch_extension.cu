#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <vector>
#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)
template <typename scalar_t>
__global__ void add_kernel(const scalar_t* __restrict__ a, const scalar_t* b, scalar_t* c, size_t n) { size_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }
__global__ void plain(const float* a, float* c, int n) { int i = threadIdx.x; if (i < n) c[i] = fmaxf(a[i], -INFINITY); }
torch::Tensor add(torch::Tensor a, torch::Tensor b) {
  CHECK_INPUT(a);
  auto c = torch::empty_like(a);
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "add", ([&] { add_kernel<scalar_t><<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(a.data_ptr<scalar_t>(), b.data_ptr<scalar_t>(), c.data_ptr<scalar_t>(), a.numel()); }));
  return c;
}
std::vector<at::Tensor> two(at::Tensor a) { return {a, a}; }
TORCH_LIBRARY(my, m) { m.def("add(Tensor a, Tensor b) -> Tensor"); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("add", &add, "add");
}
