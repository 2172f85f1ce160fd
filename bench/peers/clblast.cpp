// SPDX-License-Identifier: MIT
#include <fmt/core.h>

#include "libraries.hpp"
#include "ops/conv2d_problem.hpp"
#include "product.hpp"

// After clam's headers, which say which version of OpenCL the headers speak.
#include <clblast.h>

namespace clam::peers {
namespace {

using clblast::StatusCode;

constexpr auto kRowMajor = clblast::Layout::kRowMajor;

clblast::Transpose transpose(const Matrix& matrix) {
  return matrix.transposed ? clblast::Transpose::kYes : clblast::Transpose::kNo;
}

class ClBlastSide : public Side {
 public:
  explicit ClBlastSide(Task& task)
      : Side("CLBlast", task.plain),
        task_(task),
        product_(product_of(task.problem)),
        y_(task.runtime, *task.trial.plan().tensor(task.output)),
        queue_(task.runtime.queue()()) {}

 private:
  void call() override {
    const StatusCode status = !product_             ? convolve()
                              : product_->batch > 1 ? multiply_stack(*product_)
                                                    : multiply(*product_);
    if (status == StatusCode::kSuccess) return;
    throw DeviceError(fmt::format("CLBlast: {} ended with status {}",
                                  clblast_routine(task_.problem), static_cast<int>(status)));
  }
  void wait() override { task_.runtime.queue().finish(); }
  void poison(int turn) override { y_.poison(turn); }
  Tensors outputs() override { return {{task_.output, y_.download()}}; }
  Reason trespass() const override { return y_.trespass(); }

  cl_mem buffer(const std::string& tensor) const { return task_.trial.bindings().at(tensor)(); }

  StatusCode multiply(const Product& p) {
    return clblast::Gemm<float>(kRowMajor, transpose(p.a), transpose(p.b), p.m, p.n, p.k, p.alpha,
                                buffer(p.a.tensor), p.a.offset, p.a.ld, buffer(p.b.tensor),
                                p.b.offset, p.b.ld, 0.0f, y_.buffer()(), p.c.offset, p.c.ld,
                                &queue_);
  }
  StatusCode multiply_stack(const Product& p) {
    return clblast::GemmStridedBatched<float>(
        kRowMajor, transpose(p.a), transpose(p.b), p.m, p.n, p.k, p.alpha, buffer(p.a.tensor),
        p.a.offset, p.a.ld, p.a.stride, buffer(p.b.tensor), p.b.offset, p.b.ld, p.b.stride, 0.0f,
        y_.buffer()(), p.c.offset, p.c.ld, p.c.stride, p.batch, &queue_);
  }
  StatusCode convolve() {
    const Conv2d conv(task_.problem);
    const auto size = [](int value) { return static_cast<std::size_t>(value); };
    return clblast::Convgemm<float>(
        clblast::KernelMode::kCrossCorrelation, size(conv.c), size(conv.h), size(conv.w),
        size(conv.r), size(conv.s), size(conv.pad_t), size(conv.pad_l), size(conv.stride_h),
        size(conv.stride_w), size(conv.dilation_h), size(conv.dilation_w), size(conv.k),
        size(conv.n), buffer("x"), 0, buffer("w"), 0, y_.buffer()(), 0, &queue_);
  }

  Task& task_;
  std::optional<Product> product_;
  GuardedBuffer y_;
  cl_command_queue queue_;
};

}  // namespace

Reason clblast_lacks(const Problem& problem) {
  const bool product = product_of(problem).has_value();
  if (!product && problem.schema().name != "conv2d")
    return fmt::format("CLBlast has no {}", problem.schema().name);
  if (problem.dtype() != Dtype::f32) return "peers are compared in f32";
  if (product) return {};
  const Conv2d conv(problem);
  if (conv.groups > 1) return "CLBlast has no depthwise or grouped convolution";
  if (conv.nhwc) return "CLBlast's Convgemm takes layout=nchw only";
  if (conv.pad_t != conv.pad_b || conv.pad_l != conv.pad_r) {
    return "CLBlast's Convgemm pads opposite sides alike";
  }
  return {};
}

std::string clblast_routine(const Problem& problem) {
  const std::optional<Product> product = product_of(problem);
  return !product ? "Convgemm" : product->batch > 1 ? "GemmStridedBatched" : "Gemm";
}

std::unique_ptr<Side> make_clblast(Task& task) { return std::make_unique<ClBlastSide>(task); }

}  // namespace clam::peers
