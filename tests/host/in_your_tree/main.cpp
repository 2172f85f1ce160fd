// SPDX-License-Identifier: MIT
// main.cpp - a host that lends clam its context and queue: softmax of one row.
#include <cmath>
#include <cstdio>
#include <vector>

#include "clam/clam.hpp"

namespace {

bool is_softmax(const std::vector<float>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += std::exp(static_cast<double>(i));
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!(std::fabs(y[i] - std::exp(static_cast<double>(i)) / sum) < 1e-6)) return false;
  }
  return true;
}

void run() {
  const cl::Context context(clam::select_device("").device);
  const cl::CommandQueue queue(context);
  clam::Runtime runtime(context, queue);
  const auto problem = clam::Problem::parse("softmax shape=1x4 dtype=f32");
  clam::Executable softmax = runtime.prepare(problem);

  const std::vector<float> x{0, 1, 2, 3};
  std::vector<float> y(x.size());
  const std::size_t bytes = x.size() * sizeof(float);
  const cl::Buffer source(context, CL_MEM_READ_ONLY, bytes),
      result(context, CL_MEM_WRITE_ONLY, bytes);
  queue.enqueueWriteBuffer(source, CL_TRUE, 0, bytes, x.data());
  runtime.enqueue(softmax, {{"src", source}, {"dst", result}});
  runtime.finish();
  queue.enqueueReadBuffer(result, CL_TRUE, 0, bytes, y.data());
  std::puts(is_softmax(y) ? "right" : "wrong");
}

}  // namespace

int main() {
  try {
    run();
  } catch (const clam::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
