// SPDX-License-Identifier: MIT
#include "libraries.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>

#include "clam/op.hpp"
#include "ops/conv2d_problem.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

// After clam's headers, which say which version of OpenCL the headers speak.
#include <clblast.h>

namespace clam::peers {
namespace {

// ---- the matrix product that a problem is

/// A stack of row-major matrices in the buffer of a tensor, in elements.
struct Matrix {
  std::string tensor;
  std::size_t offset = 0, ld = 0;
  std::size_t stride = 0;   ///< from an item to the next; 0: one matrix for all
  bool transposed = false;  ///< as it lies there
};

/// c = alpha a b for every item; a is m x k, b is k x n.
struct Product {
  std::size_t batch = 1, m = 0, n = 0, k = 0;
  float alpha = 1;
  Matrix a, b, c;
};

std::size_t extent(const Problem& problem, const char* name) {
  return static_cast<std::size_t>(problem.integer(name));
}

/// Of a tensor of two axes, or of three with the items first.
Matrix matrix(const Problem& problem, const std::string& tensor, bool transposed = false) {
  const std::vector<TensorSpec> specs = problem.tensors();
  const TensorSpec& spec = *find_by_name(specs, tensor);
  const std::size_t axes = spec.shape.size();
  const std::int64_t columns = spec.shape[axes - 1], rows = spec.shape[axes - 2];
  const std::int64_t ld = spec.strides.empty() ? columns : spec.strides[axes - 2];
  std::int64_t stride = 0;
  if (axes == 3 && spec.shape[0] > 1) stride = spec.strides.empty() ? rows * ld : spec.strides[0];
  return {tensor, static_cast<std::size_t>(spec.offset), static_cast<std::size_t>(ld),
          static_cast<std::size_t>(stride), transposed};
}

Product product(const Problem& problem, std::size_t batch, float alpha, Matrix a, Matrix b,
                Matrix c) {
  return {batch, extent(problem, "m"), extent(problem, "n"), extent(problem, "k"),
          alpha, std::move(a),         std::move(b),         std::move(c)};
}

std::optional<Product> of_dense(const Problem& problem) {
  if (problem.integer("k2") > 0) return std::nullopt;
  return product(problem, 1, problem.number("alpha"), matrix(problem, "x"),
                 matrix(problem, "w", problem.integer("trans_w") == 1), matrix(problem, "y"));
}

Product of_batch_matmul(const Problem& problem) {
  return product(problem, extent(problem, "batch"), problem.number("scale"),
                 matrix(problem, "a", problem.integer("ta") == 1),
                 matrix(problem, "b", problem.integer("tb") == 1), matrix(problem, "c"));
}

/// Channels by channels times channels by pixels, an image an item; with the channels last, all
/// pixels by channels times channels by channels.
std::optional<Product> of_conv2d(const Problem& problem) {
  const Conv2d conv(problem);
  const bool single = conv.r == 1 && conv.s == 1 && conv.groups == 1 && conv.stride_h == 1 &&
                      conv.stride_w == 1 && conv.oh() == conv.h && conv.ow() == conv.w;
  if (!single) return std::nullopt;
  const std::size_t images = extent(problem, "n"), from = extent(problem, "c");
  const std::size_t to = extent(problem, "k"), pixels = extent(problem, "h") * extent(problem, "w");
  if (conv.nhwc) {
    const Matrix x{"x", 0, from}, w{"w", 0, from, 0, true}, y{"y", 0, to};
    return Product{1, images * pixels, to, from, 1, x, w, y};
  }
  const Matrix w{"w", 0, from}, x{"x", 0, pixels, from * pixels}, y{"y", 0, pixels, to * pixels};
  return Product{images, to, pixels, from, 1, w, x, y};
}

/// Of dense with one source, batch_matmul, and the convolution of single pixels; else nothing.
std::optional<Product> product_of(const Problem& problem) {
  const std::string& op = problem.schema().name;
  if (op == "dense") return of_dense(problem);
  if (op == "batch_matmul") return of_batch_matmul(problem);
  if (op == "conv2d") return of_conv2d(problem);
  return std::nullopt;
}

// ---- CLBlast

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

// ---- OpenBLAS

// The C interface of BLAS, cblas.h.
constexpr int kBlasRowMajor = 101, kBlasNoTranspose = 111, kBlasTranspose = 112;

template <typename Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

/// A tensor in host memory as its buffer on the device has it; between strided rows there is NaN.
std::vector<float> image(const TensorSpec& spec, const HostTensor& tensor) {
  std::vector<float> floats(static_cast<std::size_t>(spec.span()),
                            std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    floats[static_cast<std::size_t>(spec.position(i))] = static_cast<float>(tensor.get(i));
  }
  return floats;
}

class OpenBlasSide : public Side {
 public:
  OpenBlasSide(Task& task, const OpenBlas& library, Product product)
      : Side("OpenBLAS", task.plain),
        task_(task),
        sgemm_(library.sgemm),
        product_(std::move(product)),
        a_(image(spec(product_.a), task.inputs.at(product_.a.tensor))),
        b_(image(spec(product_.b), task.inputs.at(product_.b.tensor))),
        c_(static_cast<std::size_t>(spec(product_.c).span())) {}

 private:
  void call() override {
    const auto word = [](const Matrix& m) {
      return m.transposed ? kBlasTranspose : kBlasNoTranspose;
    };
    const auto number = [](std::size_t value) { return static_cast<int>(value); };
    const Product& p = product_;
    for (std::size_t i = 0; i < p.batch; ++i) {
      sgemm_(kBlasRowMajor, word(p.a), word(p.b), number(p.m), number(p.n), number(p.k), p.alpha,
             a_.data() + p.a.offset + i * p.a.stride, number(p.a.ld),
             b_.data() + p.b.offset + i * p.b.stride, number(p.b.ld), 0.0f,
             c_.data() + p.c.offset + i * p.c.stride, number(p.c.ld));
    }
  }
  void wait() override {}
  void poison(int turn) override {
    const std::uint32_t bits = poison_bits(Dtype::f32, turn);
    for (float& value : c_) std::memcpy(&value, &bits, sizeof(value));
  }
  Tensors outputs() override {
    const TensorSpec& c = spec(product_.c);
    HostTensor tensor(Dtype::f32, c.shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, &c_[static_cast<std::size_t>(c.position(i))], sizeof(bits));
      tensor.set_bits(i, bits);
    }
    return {{task_.output, std::move(tensor)}};
  }
  Reason trespass() const override { return {}; }

  const TensorSpec& spec(const Matrix& matrix) const {
    return *task_.trial.plan().tensor(matrix.tensor);
  }

  Task& task_;
  OpenBlas::Sgemm sgemm_;
  Product product_;
  std::vector<float> a_, b_, c_;
};

}  // namespace

Problem bare(Problem problem) {
  static const std::set<std::string> kExtras = {"bias", "residual", "act", "mask"};
  for (const Field& field : problem.schema().fields) {
    if (kExtras.count(field.name)) problem = problem.with(field.name, field.fallback);
  }
  return problem;
}

Reason clblast_lacks(const Problem& problem) {
  const bool product = product_of(problem).has_value();
  if (!product && problem.schema().name != "conv2d")
    return fmt::format("CLBlast has no {}", problem.schema().name);
  if (problem.dtype() != Dtype::f32) return "peers are compared in f32";
  if (product) return {};
  const Conv2d conv(problem);
  if (conv.groups > 1) return "CLBlast has no depthwise or grouped convolution";
  if (conv.nhwc) return "CLBlast's Convgemm takes layout=nchw only";
  return reason_if(conv.pad_t != conv.pad_b || conv.pad_l != conv.pad_r,
                   "CLBlast's Convgemm pads opposite sides alike");
}

std::string clblast_routine(const Problem& problem) {
  const std::optional<Product> product = product_of(problem);
  return !product ? "Convgemm" : product->batch > 1 ? "GemmStridedBatched" : "Gemm";
}

std::unique_ptr<Side> make_clblast(Task& task) { return std::make_unique<ClBlastSide>(task); }

std::optional<OpenBlas> OpenBlas::load() {
  // Its threads spin for 2^26 ticks after a call, in the others' turn; 2^20, a fraction of a
  // millisecond, still spans two calls of its own turn. What the person set stays.
  ::setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);
  void* library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  OpenBlas blas;
  blas.sgemm = symbol<Sgemm>(library, "cblas_sgemm");
  const auto config = symbol<const char* (*)()>(library, "openblas_get_config");
  const auto threads = symbol<int (*)()>(library, "openblas_get_num_threads");
  if (!blas.sgemm || !config || !threads) return std::nullopt;
  blas.about = fmt::format("{}; {} threads", config(), threads());
  return blas;
}

std::unique_ptr<Side> make_openblas(Task& task, const OpenBlas& library) {
  std::optional<Product> product = product_of(task.problem);
  if (!product) return nullptr;
  return std::make_unique<OpenBlasSide>(task, library, *std::move(product));
}

}  // namespace clam::peers
