// Calls what a binding names: `program ORDER`, one call a line: the name, then "T type dims… file" or "V value" for
// each argument. Each tensor is written to its file with ".out" behind it, what is returned to ORDER.call.number.
#include <torch/extension.h>

static void write(const torch::Tensor& t, const std::string& path) {
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(t.data_ptr()), t.numel() * t.element_size());
}

int main(int, char** argv) {
  pybind11::module_ module;
  bind_everything(module);
  std::ifstream order(argv[1]);
  std::string line;
  for (int number = 0; std::getline(order, line); ++number) {
    pybind11::Call call;
    call.words.str(line);
    std::string name, said = "ok";
    call.words >> name;
    try {
      auto found = module.functions.find(name);
      if (found == module.functions.end()) throw std::runtime_error("there is no such function");
      found->second(call);
      cudaError_t last = cudaGetLastError(), end = cudaDeviceSynchronize();
      if (end == cudaSuccess) end = last;
      if (end != cudaSuccess) throw std::runtime_error(cudaGetErrorString(end));
      for (const auto& each : call.tensors) write(each.first, each.second + ".out");
      for (size_t i = 0; i < call.returned.size(); ++i)
        write(call.returned[i], std::string(argv[1]) + "." + std::to_string(number) + "." + std::to_string(i));
    } catch (const std::exception& error) {
      said = error.what();
    }
    std::printf("CALL %d %s: %s\n", number, name.c_str(), said.c_str());
    std::fflush(stdout);
  }
}
