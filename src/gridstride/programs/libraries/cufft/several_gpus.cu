// One transform whose elements lie on several GPUs. The first of them puts the parts together, transforms, and gives
// them back: what lies where is as with the vendor's, what each GPU does is not.
#include "plan.h"

#include <cufftXt.h>

#include <algorithm>
#include <set>

namespace gs_fft {

namespace {

constexpr int FEWEST_GPUS = 2, MOST_GPUS = 16;

// `rows` rows, of each of which a GPU has `count` of `all` units of so many elements from its `first` on.
struct Part {
  long long rows, all, first, count, unit;
};

// In order: of a batch whole transforms, else a range of the first dimension. After a transform (and before the one
// back) of several dimensions: a range of the second.
bool crossed(const Shape& shape, int format) {
  const bool after = format == CUFFT_XT_FORMAT_INPLACE_SHUFFLED || format == CUFFT_XT_FORMAT_OUTPUT;
  return after && shape.batch == 1 && shape.rank > 1;
}

Part part(const Shape& shape, int format, int gpu, int gpus) {
  long long each = 1;
  for (int d = 0; d < shape.rank; ++d) each *= shape.n[d];
  Part p{1, shape.batch, 0, 0, each};
  if (crossed(shape, format)) {
    p = {shape.n[0], shape.n[1], 0, 0, each / (shape.n[0] * shape.n[1])};
  } else if (shape.batch == 1) {
    p = {1, shape.n[0], 0, 0, each / shape.n[0]};
  }
  const long long more = p.all % gpus;
  p.count = p.all / gpus + (gpu < more);
  p.first = gpu * (p.all / gpus) + std::min<long long>(gpu, more);
  return p;
}

size_t element(const Shape& shape) { return shape.wide() ? sizeof(cufftDoubleComplex) : sizeof(cufftComplex); }

size_t part_bytes(const Shape& shape, int format, int gpu, int gpus) {
  const Part p = part(shape, format, gpu, gpus);
  return size_t(p.rows * p.count * p.unit) * element(shape);
}

void say(cudaLibXtDesc& held, const Shape& shape, cufftXtSubFormat format) {
  held.subFormat = format;
  cudaXtDesc& parts = *held.descriptor;
  for (int gpu = 0; gpu < parts.nGPUs; ++gpu) parts.size[gpu] = part_bytes(shape, format, gpu, parts.nGPUs);
}

// From all parts to one array in order (`gather`), or back; the array is the host's or a device's. A GPU's own work
// is awaited, as its legacy stream is.
cufftResult move(const Plan& plan, const cudaLibXtDesc& held, void* whole, bool gather) {
  const cudaXtDesc& parts = *held.descriptor;
  const size_t size = element(plan.shape);
  for (int gpu = 0; gpu < parts.nGPUs; ++gpu) {
    const Current on(parts.GPUs[gpu]);
    const Part p = part(plan.shape, held.subFormat, gpu, parts.nGPUs);
    char* at = static_cast<char*>(whole) + p.first * p.unit * size;
    const size_t pitch = p.all * p.unit * size, width = p.count * p.unit * size;
    if (width == 0) continue;
    const cudaError_t moved =
        gather ? cudaMemcpy2D(at, pitch, parts.data[gpu], width, width, p.rows, cudaMemcpyDefault)
               : cudaMemcpy2D(parts.data[gpu], width, at, pitch, width, p.rows, cudaMemcpyDefault);
    NEED(moved == cudaSuccess, CUFFT_EXEC_FAILED);
  }
  return CUFFT_SUCCESS;
}

cufftResult put_together(Plan& plan, const cudaLibXtDesc& held) {
  const Current on(plan.device);
  const size_t bytes = size_t(plan.shape.complex_elements()) * element(plan.shape);
  if (plan.whole == nullptr) NEED(cudaMalloc(&plan.whole, bytes) == cudaSuccess, CUFFT_ALLOC_FAILED);
  return move(plan, held, plan.whole, true);
}

bool fits(const Plan* plan, const cudaLibXtDesc* held) {
  if (held == nullptr || held->descriptor == nullptr || held->library != LIB_FORMAT_CUFFT) return false;
  return held->descriptor->nGPUs == int(plan->gpus.size());
}

// What lies where after a transform of what lay as `before` says; memory that is only read or written stays as it is.
cufftXtSubFormat after(int before, int output) {
  if (output == CUFFT_XT_FORMAT_INPUT || output == CUFFT_XT_FORMAT_OUTPUT) return cufftXtSubFormat(output);
  return before == CUFFT_XT_FORMAT_INPLACE ? CUFFT_XT_FORMAT_INPLACE_SHUFFLED : CUFFT_XT_FORMAT_INPLACE;
}

cufftResult execute(cufftHandle handle, cufftType type, cudaLibXtDesc* in, cudaLibXtDesc* out, int direction) {
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr && plan->made && plan->several(), CUFFT_INVALID_PLAN);
  NEED(plan->shape.type == type && fits(plan, in) && fits(plan, out), CUFFT_INVALID_VALUE);
  NEED(direction == CUFFT_FORWARD || direction == CUFFT_INVERSE, CUFFT_INVALID_VALUE);
  NEED(plan->bytes == 0 || plan->work != nullptr, CUFFT_NO_WORKSPACE);
  const cufftResult gathered = put_together(*plan, *in);
  NEED(gathered == CUFFT_SUCCESS, gathered);
  {
    const Current on(plan->device);
    const bool inverse = direction == CUFFT_INVERSE;
    const cufftResult done = transform(plan->shape, plan->whole, plan->whole, plan->work, inverse, plan->stream);
    NEED(done == CUFFT_SUCCESS, done);
    NEED(cudaStreamSynchronize(plan->stream) == cudaSuccess, CUFFT_EXEC_FAILED);
  }
  say(*out, plan->shape, after(in->subFormat, out->subFormat));
  return move(*plan, *out, plan->whole, false);
}

}  // namespace
}  // namespace gs_fft

using namespace gs_fft;

extern "C" {

cufftResult cufftXtSetGPUs(cufftHandle handle, int count, int* gpus) {
  TOLD();
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr && !plan->made, CUFFT_INVALID_PLAN);
  NEED(gpus != nullptr && count >= FEWEST_GPUS && count <= MOST_GPUS, CUFFT_INVALID_VALUE);
  int there = 0;
  NEED(cudaGetDeviceCount(&there) == cudaSuccess, CUFFT_SETUP_FAILED);
  for (int i = 0; i < count; ++i) NEED(gpus[i] >= 0 && gpus[i] < there, CUFFT_INVALID_DEVICE);
  NEED(int(std::set<int>(gpus, gpus + count).size()) == count, CUFFT_INVALID_DEVICE);
  plan->gpus.assign(gpus, gpus + count);
  return CUFFT_SUCCESS;
}

cufftResult cufftXtMalloc(cufftHandle handle, cudaLibXtDesc** held, cufftXtSubFormat format) {
  TOLD();
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr && plan->made && plan->several(), CUFFT_INVALID_PLAN);
  NEED(held != nullptr && format >= CUFFT_XT_FORMAT_INPUT && format <= CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED,
       CUFFT_INVALID_VALUE);
  auto made = std::make_unique<cudaLibXtDesc>();
  auto parts = std::make_unique<cudaXtDesc>();
  *parts = {};
  parts->version = CUDA_XT_DESCRIPTOR_VERSION;
  parts->nGPUs = int(plan->gpus.size());
  *made = {CUDA_XT_DESCRIPTOR_VERSION, parts.get(), LIB_FORMAT_CUFFT, format, nullptr};
  for (int i = 0; i < parts->nGPUs; ++i) {
    const Current on(parts->GPUs[i] = plan->gpus[i]);
    const size_t most = std::max(part_bytes(plan->shape, CUFFT_XT_FORMAT_INPLACE, i, parts->nGPUs),
                                 part_bytes(plan->shape, CUFFT_XT_FORMAT_INPLACE_SHUFFLED, i, parts->nGPUs));
    if (most == 0 || cudaMalloc(&parts->data[i], most) == cudaSuccess) continue;
    while (i > 0) cudaFree(parts->data[--i]);
    return CUFFT_ALLOC_FAILED;
  }
  say(*made, plan->shape, format);
  parts.release();
  *held = made.release();
  return CUFFT_SUCCESS;
}

cufftResult cufftXtFree(cudaLibXtDesc* held) {
  TOLD();
  NEED(held != nullptr && held->library == LIB_FORMAT_CUFFT, CUFFT_INVALID_VALUE);
  for (int gpu = 0; gpu < held->descriptor->nGPUs; ++gpu) cudaFree(held->descriptor->data[gpu]);
  delete held->descriptor;
  delete held;
  return CUFFT_SUCCESS;
}

cufftResult cufftXtMemcpy(cufftHandle handle, void* to, void* from, cufftXtCopyType type) {
  TOLD();
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr && plan->made && plan->several(), CUFFT_INVALID_PLAN);
  NEED(to != nullptr && from != nullptr, CUFFT_INVALID_VALUE);
  auto *target = static_cast<cudaLibXtDesc*>(to), *source = static_cast<cudaLibXtDesc*>(from);
  switch (type) {
    case CUFFT_COPY_HOST_TO_DEVICE:
      return fits(plan, target) ? move(*plan, *target, from, false) : CUFFT_INVALID_VALUE;
    case CUFFT_COPY_DEVICE_TO_HOST:
      return fits(plan, source) ? move(*plan, *source, to, true) : CUFFT_INVALID_VALUE;
    case CUFFT_COPY_DEVICE_TO_DEVICE: {  // which is how elements are put in order
      NEED(fits(plan, target) && fits(plan, source), CUFFT_INVALID_VALUE);
      const cufftResult gathered = put_together(*plan, *source);
      NEED(gathered == CUFFT_SUCCESS, gathered);
      say(*target, plan->shape, CUFFT_XT_FORMAT_INPLACE);
      return move(*plan, *target, plan->whole, false);
    }
    default:
      return CUFFT_INVALID_VALUE;
  }
}

cufftResult cufftXtExecDescriptorC2C(cufftHandle plan, cudaLibXtDesc* in, cudaLibXtDesc* out, int direction) {
  TOLD();
  return execute(plan, CUFFT_C2C, in, out, direction);
}
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle plan, cudaLibXtDesc* in, cudaLibXtDesc* out, int direction) {
  TOLD();
  return execute(plan, CUFFT_Z2Z, in, out, direction);
}

}  // extern "C"
