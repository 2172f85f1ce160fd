// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <limits>

#include "libraries.hpp"
#include "product.hpp"

namespace clam::peers {
namespace {

// The C interface of BLAS, cblas.h.
constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

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
    const auto word = [](const Matrix& m) { return m.transposed ? kTranspose : kNoTranspose; };
    const auto number = [](std::size_t value) { return static_cast<int>(value); };
    const Product& p = product_;
    for (std::size_t i = 0; i < p.batch; ++i) {
      sgemm_(kRowMajor, word(p.a), word(p.b), number(p.m), number(p.n), number(p.k), p.alpha,
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
