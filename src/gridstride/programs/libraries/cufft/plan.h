// A plan, how a handle finds it, and the device that a call makes current for a while.
#pragma once
#include "../objects.h"
#include "schedule.h"

#include <memory>
#include <vector>

namespace gs_fft {

struct Plan {
  bool made = false, automatic = true;
  int device = 0;
  Shape shape{};
  size_t bytes = 0;
  void *work = nullptr, *own = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<int> gpus;  // of cufftXtSetGPUs
  void* whole = nullptr;  // on the first of them: where their parts are put together

  bool several() const { return !gpus.empty(); }
};

// Null where the handle is of no plan.
Plan* plan_of(cufftHandle handle);

// Makes a device current, and at its end the one that was; -1 leaves it.
class Current {
 public:
  explicit Current(int device) {
    if (device >= 0 && cudaGetDevice(&before_) == cudaSuccess) cudaSetDevice(device);
  }
  ~Current() {
    if (before_ >= 0) cudaSetDevice(before_);
  }

 private:
  int before_ = -1;
};

}  // namespace gs_fft

#define TOLD() NEED(!gs_library_call(__func__, "cufft"), CUFFT_EXEC_FAILED)
