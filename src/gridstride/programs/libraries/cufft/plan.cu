// Plans: made, asked for their size, executed and given back.
#include "plan.h"

#include <mutex>

namespace gs_fft {

namespace {

// A handle is a number, the place in this list plus 1; a destroyed plan's is not given again.
std::vector<std::unique_ptr<Plan>> plans;
std::mutex plans_lock;

}  // namespace

Plan* plan_of(cufftHandle handle) {
  std::lock_guard<std::mutex> held(plans_lock);
  return handle > 0 && size_t(handle) <= plans.size() ? plans[handle - 1].get() : nullptr;
}

namespace {

bool is_type(cufftType type) {
  return type == CUFFT_C2C || type == CUFFT_R2C || type == CUFFT_C2R || type == CUFFT_Z2Z || type == CUFFT_D2Z ||
         type == CUFFT_Z2D;
}

// Of the two sides' types and the arithmetic's; halves have none.
cufftType type_of(cudaDataType in, cudaDataType out, cudaDataType execution) {
  const bool wide = execution == CUDA_C_64F;
  const cudaDataType real = wide ? CUDA_R_64F : CUDA_R_32F, complex = wide ? CUDA_C_64F : CUDA_C_32F;
  if (execution != complex) return cufftType(0);
  if (in == complex && out == complex) return wide ? CUFFT_Z2Z : CUFFT_C2C;
  if (in == real && out == complex) return wide ? CUFFT_D2Z : CUFFT_R2C;
  return in == complex && out == real ? (wide ? CUFFT_Z2D : CUFFT_C2R) : cufftType(0);
}

template <class Int>
struct Given {
  const Int *n, *inembed;
  Int istride, idist;
  const Int* onembed;
  Int ostride, odist;
};

// Rows of `embed[d]` elements hold the n[d] that are meant, along all dimensions but the first.
template <class Int>
bool embedded(int rank, const Int* embed, Int stride, Int batch, Layout& layout) {
  long long step = stride;
  for (int d = rank - 1; d >= 0; --d) {
    layout.step[d] = step;
    if (d > 0 && embed[d] < 1) return false;
    step *= embed[d];
  }
  layout.batch = batch;
  return stride >= 1;
}

template <class Int>
cufftResult describe(int rank, const Given<Int>& given, cufftType type, Int batch, Shape& shape) {
  NEED(rank >= 1 && rank <= MOST_DIMENSIONS && given.n != nullptr && is_type(type), CUFFT_INVALID_VALUE);
  shape = {};
  shape.type = type, shape.rank = rank, shape.batch = batch;
  NEED(batch >= 1, CUFFT_INVALID_SIZE);
  for (int d = 0; d < rank; ++d) {
    NEED(given.n[d] >= 1, CUFFT_INVALID_SIZE);
    shape.n[d] = given.n[d];
  }
  shape.given = given.inembed != nullptr && given.onembed != nullptr;
  if (shape.given)
    NEED(embedded(rank, given.inembed, given.istride, given.idist, shape.in) &&
             embedded(rank, given.onembed, given.ostride, given.odist, shape.out),
         CUFFT_INVALID_VALUE);
  return schedule(shape) ? CUFFT_SUCCESS : CUFFT_INVALID_SIZE;
}

template <class Int>
cufftResult size(int rank, const Given<Int>& given, cufftType type, Int batch, size_t* bytes) {
  Shape shape;
  NEED(bytes != nullptr, CUFFT_INVALID_VALUE);
  const cufftResult result = describe(rank, given, type, batch, shape);
  if (result == CUFFT_SUCCESS) *bytes = work_bytes(shape);
  return result;
}

template <class Int>
cufftResult size_with(cufftHandle handle, int rank, const Given<Int>& given, cufftType type, Int batch, size_t* bytes) {
  NEED(plan_of(handle) != nullptr, CUFFT_INVALID_PLAN);
  return size(rank, given, type, batch, bytes);
}

cufftResult allocate(Plan& plan) {
  if (plan.bytes == 0 || plan.work != nullptr) return CUFFT_SUCCESS;
  NEED(cudaMalloc(&plan.own, plan.bytes) == cudaSuccess, CUFFT_ALLOC_FAILED);
  plan.work = plan.own;
  return CUFFT_SUCCESS;
}

template <class Int>
cufftResult make(cufftHandle handle, int rank, const Given<Int>& given, cufftType type, Int batch, size_t* bytes) {
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr && !plan->made, CUFFT_INVALID_PLAN);
  NEED(bytes != nullptr, CUFFT_INVALID_VALUE);
  const Current first(plan->several() ? plan->gpus[0] : -1);
  NEED(cudaGetDevice(&plan->device) == cudaSuccess, CUFFT_SETUP_FAILED);
  const cufftResult result = describe(rank, given, type, batch, plan->shape);
  NEED(result == CUFFT_SUCCESS, result);
  const bool simple = !plan->shape.given && !plan->shape.from_real() && !plan->shape.to_real();
  NEED(!plan->several() || simple, CUFFT_NOT_IMPLEMENTED);
  for (size_t gpu = 1; gpu < plan->gpus.size(); ++gpu) bytes[gpu] = 0;  // the first transforms for all of them
  *bytes = plan->bytes = work_bytes(plan->shape);
  if (plan->automatic) NEED(allocate(*plan) == CUFFT_SUCCESS, CUFFT_ALLOC_FAILED);
  plan->made = true;
  return CUFFT_SUCCESS;
}

cufftResult create(cufftHandle* handle) {
  NEED(handle != nullptr, CUFFT_INVALID_VALUE);
  std::lock_guard<std::mutex> held(plans_lock);
  plans.push_back(std::make_unique<Plan>());
  *handle = cufftHandle(plans.size());
  gs_object(GS_OBJECT_FFT, 1);
  return CUFFT_SUCCESS;
}

template <class Int>
cufftResult create_and_make(cufftHandle* handle, int rank, const Given<Int>& given, cufftType type, Int batch) {
  size_t bytes;
  const cufftResult created = create(handle);
  NEED(created == CUFFT_SUCCESS, created);
  const cufftResult made = make(*handle, rank, given, type, batch, &bytes);
  if (made != CUFFT_SUCCESS) cufftDestroy(*handle);
  return made;
}

Given<int> basic(const int* n) { return {n, nullptr, 0, 0, nullptr, 0, 0}; }

cufftResult execute(cufftHandle handle, cufftType type, const void* in, void* out, int direction) {
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr && plan->made && !plan->several(), CUFFT_INVALID_PLAN);
  NEED(plan->shape.type == type && in != nullptr && out != nullptr, CUFFT_INVALID_VALUE);
  NEED(direction == CUFFT_FORWARD || direction == CUFFT_INVERSE, CUFFT_INVALID_VALUE);
  NEED(plan->bytes == 0 || plan->work != nullptr, CUFFT_NO_WORKSPACE);
  int device = 0;
  NEED(cudaGetDevice(&device) == cudaSuccess && device == plan->device, CUFFT_INVALID_DEVICE);
  return transform(plan->shape, in, out, plan->work, direction == CUFFT_INVERSE, plan->stream);
}

}  // namespace
}  // namespace gs_fft

using namespace gs_fft;

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  TOLD();
  return create(handle);
}

cufftResult cufftDestroy(cufftHandle handle) {
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr, CUFFT_INVALID_PLAN);
  if (plan->own != nullptr) cudaFree(plan->own);
  if (plan->whole != nullptr) cudaFree(plan->whole);
  std::lock_guard<std::mutex> held(plans_lock);
  plans[handle - 1].reset();
  gs_object(GS_OBJECT_FFT, -1);
  return CUFFT_SUCCESS;
}

// Four forms of each: `first` stands before the sizes in the declaration, `passed` in the call, and so at the end.
#define SHAPES(Name, function, first, passed, last, passed_last) \
  cufftResult Name##1d(first int nx, cufftType type, int batch last) { \
    TOLD(); \
    const int n[] = {nx}; \
    return function(passed 1, basic(n), type, batch passed_last); \
  } \
  cufftResult Name##2d(first int nx, int ny, cufftType type last) { \
    TOLD(); \
    const int n[] = {nx, ny}; \
    return function(passed 2, basic(n), type, 1 passed_last); \
  } \
  cufftResult Name##3d(first int nx, int ny, int nz, cufftType type last) { \
    TOLD(); \
    const int n[] = {nx, ny, nz}; \
    return function(passed 3, basic(n), type, 1 passed_last); \
  }
#define MANY(Name, Int, function, first, passed, last, passed_last) \
  cufftResult Name(first int rank, Int* n, Int* inembed, Int istride, Int idist, Int* onembed, Int ostride, \
                   Int odist, cufftType type, Int batch last) { \
    TOLD(); \
    const Given<Int> given{n, inembed, istride, idist, onembed, ostride, odist}; \
    return function(passed rank, given, type, batch passed_last); \
  }
#define COMMA ,
#define BYTES COMMA size_t* bytes
SHAPES(cufftPlan, create_and_make, cufftHandle* plan COMMA, plan COMMA, , )
MANY(cufftPlanMany, int, create_and_make, cufftHandle* plan COMMA, plan COMMA, , )
SHAPES(cufftMakePlan, make, cufftHandle plan COMMA, plan COMMA, BYTES, COMMA bytes)
MANY(cufftMakePlanMany, int, make, cufftHandle plan COMMA, plan COMMA, BYTES, COMMA bytes)
MANY(cufftMakePlanMany64, long long, make, cufftHandle plan COMMA, plan COMMA, BYTES, COMMA bytes)
SHAPES(cufftEstimate, size, , , BYTES, COMMA bytes)
MANY(cufftEstimateMany, int, size, , , BYTES, COMMA bytes)
SHAPES(cufftGetSize, size_with, cufftHandle plan COMMA, plan COMMA, BYTES, COMMA bytes)
MANY(cufftGetSizeMany, int, size_with, cufftHandle plan COMMA, plan COMMA, BYTES, COMMA bytes)
MANY(cufftGetSizeMany64, long long, size_with, cufftHandle plan COMMA, plan COMMA, BYTES, COMMA bytes)

// The same, with the types of the two sides and of the arithmetic named.
#define TYPED(Name, function) \
  cufftResult Name(cufftHandle plan, int rank, long long* n, long long* inembed, long long istride, long long idist, \
                   cudaDataType in, long long* onembed, long long ostride, long long odist, cudaDataType out, \
                   long long batch, size_t* bytes, cudaDataType execution) { \
    TOLD(); \
    const cufftType type = type_of(in, out, execution); \
    NEED(is_type(type), CUFFT_INVALID_TYPE); \
    const Given<long long> given{n, inembed, istride, idist, onembed, ostride, odist}; \
    return function(plan, rank, given, type, batch, bytes); \
  }
TYPED(cufftXtMakePlanMany, make)
TYPED(cufftXtGetSizeMany, size_with)

cufftResult cufftGetSize(cufftHandle handle, size_t* bytes) {
  TOLD();
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr, CUFFT_INVALID_PLAN);
  NEED(bytes != nullptr, CUFFT_INVALID_VALUE);
  *bytes = plan->bytes;
  return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int automatic) {
  TOLD();
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr && !plan->made, CUFFT_INVALID_PLAN);
  plan->automatic = automatic != 0;
  return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void* work) {
  TOLD();
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr, CUFFT_INVALID_PLAN);
  if (plan->own != nullptr) cudaFree(plan->own);
  plan->own = nullptr;
  plan->work = work;
  return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  TOLD();
  Plan* plan = plan_of(handle);
  NEED(plan != nullptr && !plan->several(), CUFFT_INVALID_PLAN);
  plan->stream = stream;
  return CUFFT_SUCCESS;
}

cufftResult cufftGetVersion(int* version) {
  NEED(version != nullptr, CUFFT_INVALID_VALUE);
  *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}

cufftResult cufftGetProperty(libraryPropertyType type, int* value) {
  NEED(value != nullptr && type >= MAJOR_VERSION && type <= PATCH_LEVEL, CUFFT_INVALID_VALUE);
  *value = type == MAJOR_VERSION ? CUFFT_VER_MAJOR : type == MINOR_VERSION ? CUFFT_VER_MINOR : CUFFT_VER_PATCH;
  return CUFFT_SUCCESS;
}

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex* in, cufftComplex* out, int direction) {
  TOLD();
  return execute(plan, CUFFT_C2C, in, out, direction);
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal* in, cufftComplex* out) {
  TOLD();
  return execute(plan, CUFFT_R2C, in, out, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex* in, cufftReal* out) {
  TOLD();
  return execute(plan, CUFFT_C2R, in, out, CUFFT_INVERSE);
}
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
  TOLD();
  return execute(plan, CUFFT_Z2Z, in, out, direction);
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal* in, cufftDoubleComplex* out) {
  TOLD();
  return execute(plan, CUFFT_D2Z, in, out, CUFFT_FORWARD);
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex* in, cufftDoubleReal* out) {
  TOLD();
  return execute(plan, CUFFT_Z2D, in, out, CUFFT_INVERSE);
}

}  // extern "C"
