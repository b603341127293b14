// Calls of cuFFT: a line of stdin is one transform, its input lies in a file, and so does what it leaves.
//
// KIND DIRECTION PLACE RANK n... BATCH, and where the layout is not the default: inembed... istride idist onembed...
// ostride odist. PLACE is "apart", "same" for in place, or "given" for a work area of the program's own.
#include <cufft.h>
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

static void* on_device(const std::vector<char>& data) {
  void* at = nullptr;
  cudaMalloc(&at, data.size());
  cudaMemcpy(at, data.data(), data.size(), cudaMemcpyHostToDevice);
  return at;
}

static cufftType type_of(const string& kind) {
  return kind == "C2C" ? CUFFT_C2C : kind == "R2C" ? CUFFT_R2C : kind == "C2R" ? CUFFT_C2R
       : kind == "Z2Z" ? CUFFT_Z2Z : kind == "D2Z" ? CUFFT_D2Z : CUFFT_Z2D;
}

struct Words {
  std::istringstream words;
  int number() { int n = 0; words >> n; return n; }
  std::vector<int> numbers(int count) {
    std::vector<int> all;
    for (int i = 0; i < count; ++i) all.push_back(number());
    return all;
  }
};

static cufftResult plan_of(Words& w, cufftType type, cufftHandle* plan) {
  const int rank = w.number();
  std::vector<int> n = w.numbers(rank);
  const int batch = w.number();
  if (w.words >> std::ws && !w.words.eof()) {
    std::vector<int> in = w.numbers(rank), in_steps = w.numbers(2), out = w.numbers(rank), out_steps = w.numbers(2);
    return cufftPlanMany(plan, rank, n.data(), in.data(), in_steps[0], in_steps[1], out.data(), out_steps[0],
                         out_steps[1], type, batch);
  }
  if (rank == 1) return cufftPlan1d(plan, n[0], type, batch);
  if (batch > 1) return cufftPlanMany(plan, rank, n.data(), nullptr, 1, 0, nullptr, 1, 0, type, batch);
  return rank == 2 ? cufftPlan2d(plan, n[0], n[1], type) : cufftPlan3d(plan, n[0], n[1], n[2], type);
}

static cufftResult execute(cufftHandle plan, cufftType type, void* in, void* out, int direction) {
  using C = cufftComplex*;
  using Z = cufftDoubleComplex*;
  switch (type) {
    case CUFFT_C2C: return cufftExecC2C(plan, C(in), C(out), direction);
    case CUFFT_R2C: return cufftExecR2C(plan, static_cast<float*>(in), C(out));
    case CUFFT_C2R: return cufftExecC2R(plan, C(in), static_cast<float*>(out));
    case CUFFT_Z2Z: return cufftExecZ2Z(plan, Z(in), Z(out), direction);
    case CUFFT_D2Z: return cufftExecD2Z(plan, static_cast<double*>(in), Z(out));
    default: return cufftExecZ2D(plan, Z(in), static_cast<double*>(out));
  }
}

int main(int, char** argv) {
  folder = argv[1];
  string line;
  for (int number = 0; std::getline(std::cin, line); ++number) {
    Words w{std::istringstream(line)};
    string kind, direction, place;
    w.words >> kind >> direction >> place;
    const cufftType type = type_of(kind);
    std::vector<char> left = bytes_of(std::to_string(number) + "_out");
    void* in = on_device(bytes_of(std::to_string(number) + "_in"));
    void* out = place == "same" ? in : on_device(left);
    void* work = nullptr;
    cufftHandle plan;
    cufftResult result = plan_of(w, type, &plan);
    if (place == "given") {
      size_t bytes = 0;
      cufftGetSize(plan, &bytes);
      cudaMalloc(&work, bytes);
      cufftSetWorkArea(plan, work);
    }
    if (result == CUFFT_SUCCESS)
      result = execute(plan, type, in, out, direction == "forward" ? CUFFT_FORWARD : CUFFT_INVERSE);
    cudaMemcpy(left.data(), out, left.size(), cudaMemcpyDeviceToHost);
    std::ofstream(folder + "/" + std::to_string(number) + "_result", std::ios::binary).write(left.data(), left.size());
    printf("%d\n", result);
    cufftDestroy(plan);
    cudaFree(work);
    if (out != in) cudaFree(out);
    cudaFree(in);
  }
}
