// SPDX-License-Identifier: MIT
#include "clam/tensor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "check/npy.hpp"
#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

TEST(tensor, half_is_rounded_once_to_nearest_even) {
  EXPECT_EQ(round_to_half(2049), 2048);
  EXPECT_EQ(round_to_half(2051), 2052);
  // Just over a tie: through float it would become the tie and round down.
  EXPECT_EQ(round_to_half(2049 + 1e-9), 2050);
  EXPECT_EQ(round_to_half(-2049 - 1e-9), -2050);
  EXPECT_EQ(round_to_half(65519.999), 65504);
  EXPECT_TRUE(std::isinf(round_to_half(65520)));
  EXPECT_EQ(round_to_half(std::ldexp(1.0, -24)), std::ldexp(1.0, -24));
  EXPECT_EQ(round_to_half(std::ldexp(1.0, -25)), 0);
  EXPECT_EQ(round_to_half(std::ldexp(1.0, -25) * 1.0000001), std::ldexp(1.0, -24));
  EXPECT_TRUE(std::isnan(round_to_half(std::nan(""))));
}

TEST(tensor, every_half_survives_get_and_set) {
  HostTensor tensor(Dtype::f16, {1});
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    tensor.set_bits(0, bits);
    const double value = tensor.get(0);
    tensor.set(0, value);
    if (!std::isnan(value)) {
      ASSERT_EQ(tensor.bits(0), bits);
    }
  }
}

TEST(tensor, strided_positions_and_span) {
  TensorSpec spec{"x", TensorSpec::Role::input, Dtype::f32, {3, 2}, {10, 1}, 4};
  EXPECT_EQ(spec.span(), 4 + 2 * 10 + 1 + 1);
  EXPECT_EQ(spec.position(0), 4);
  EXPECT_EQ(spec.position(5), 25);
  EXPECT_FALSE(spec.is_dense());
  const nlohmann::json json = spec;
  EXPECT_EQ(json.get<TensorSpec>(), spec);
}

TEST(tensor, shapes_that_cannot_be_are_refused) {
  EXPECT_THROWS_SAYING(count({3, 0}), BadArgument, "extent under 1");
  EXPECT_THROWS_SAYING(count({65536, 65536}), BadArgument, "over 2147483647 elements");
}

class npy : public testing::Test {
 protected:
  std::string save(const std::string& bytes) {
    const std::string path = folder_.file("a.npy");
    write_file(path, bytes);
    return path;
  }
  std::string good() {
    HostTensor tensor(Dtype::f32, {2, 3});
    write_npy(folder_.file("good.npy"), tensor);
    return read_file(folder_.file("good.npy"));
  }
  std::string with(const std::string& from, const std::string& to) {
    std::string bytes = good();
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos);
    return save(bytes.replace(at, from.size(), to));
  }
  test::TemporaryFolder folder_;
};

TEST_F(npy, every_dtype_round_trips_bit_for_bit) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::i32}) {
    HostTensor tensor(dtype, {2, 3, 5});
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      tensor.set_bits(i, 0x7FC1u * static_cast<std::uint32_t>(i));
    write_npy(folder_.file("t.npy"), tensor);
    EXPECT_EQ(read_npy(folder_.file("t.npy")), tensor) << name(dtype);
    EXPECT_EQ(read_file(folder_.file("t.npy")).find("\n") % 64, 63u);
  }
}

TEST_F(npy, doubles_and_longs_are_narrowed) {
  std::string bytes = good();
  bytes.replace(bytes.find("<f4"), 3, "<f8");
  const double values[] = {0.1, 1e300, -2, 3, 4, std::nan("")};
  bytes.resize(bytes.size() - 24);
  bytes.append(reinterpret_cast<const char*>(values), sizeof values);
  const HostTensor tensor = read_npy(save(bytes));
  EXPECT_EQ(tensor.dtype(), Dtype::f32);
  EXPECT_EQ(tensor.get(0), static_cast<double>(0.1f));
  EXPECT_TRUE(std::isinf(tensor.get(1)));
}

TEST_F(npy, damaged_files_are_refused_in_one_sentence) {
  EXPECT_THROWS_SAYING(read_npy(folder_.file("nosuch.npy")), BadArgument, "No such file");
  EXPECT_THROWS_SAYING(read_npy(folder_.path()), BadArgument, "it is a folder");
  EXPECT_THROWS_SAYING(read_npy(save("")), BadArgument, "does not start as one");
  EXPECT_THROWS_SAYING(read_npy(save("PK\x03\x04 something else")), BadArgument,
                       "does not start as one");
  EXPECT_THROWS_SAYING(read_npy(save(good().substr(0, 40))), BadArgument, "header is cut short");
  EXPECT_THROWS_SAYING(read_npy(save(good().substr(0, good().size() - 1))), BadArgument,
                       "shape 2x3 needs 24 bytes of data, it has 23");
  EXPECT_THROWS_SAYING(read_npy(save(good() + "x")), BadArgument, "it has 25");
  EXPECT_THROWS_SAYING(read_npy(with("False", "True ")), BadArgument, "Fortran order");
  EXPECT_THROWS_SAYING(read_npy(with("<f4", ">f4")), BadArgument, "element type '>f4'");
  EXPECT_THROWS_SAYING(read_npy(with("(2,3,)", "(2,0,)")), BadArgument, "an extent is 0");
  EXPECT_THROWS_SAYING(read_npy(with("'shape'", "'shap_'")), BadArgument, "no 'shape'");
  EXPECT_THROWS_SAYING(read_npy(with("(2,3,)", "(2,x,)")), BadArgument, "its 'shape' is damaged");
  EXPECT_THROWS_SAYING(read_npy(with("(2,3,)", "[2,3,]")), BadArgument, "its 'shape' is damaged");
  EXPECT_THROWS_SAYING(read_npy(with("'<f4'", "\"<f4\"")), BadArgument,
                       "its element type is none of");
  EXPECT_THROWS_SAYING(read_npy(with("False", "Maybe")), BadArgument, "'fortran_order' is damaged");
}

TEST_F(npy, long_damaged_headers_are_refused) {
  const auto file = [&](const std::string& dictionary) {
    std::string header = std::string("\x93NUMPY\x01", 7) + '\0';
    header += static_cast<char>(dictionary.size() & 255);
    header += static_cast<char>(dictionary.size() >> 8);
    return save(header + dictionary);
  };
  const std::string rest = ", 'fortran_order': False, 'shape': (2,), }";
  EXPECT_THROWS_SAYING(read_npy(file("{'descr': '" + std::string(60000, 'f') + "'" + rest)),
                       BadArgument, "none of <f4");
  EXPECT_THROWS_SAYING(read_npy(file("{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                                     std::string(60000, ' ') + "), }")),
                       BadArgument, "needs 4 bytes of data");
  std::string extents;
  for (int i = 0; i < 20000; ++i) extents += "1,";
  EXPECT_THROWS_SAYING(
      read_npy(file("{'descr': '<f4', 'fortran_order': False, 'shape': (" + extents + "), }")),
      BadArgument, "its 'shape' is damaged");
  EXPECT_THROWS_SAYING(read_npy(file(std::string(60000, '\''))), BadArgument, "no 'descr'");
}

TEST_F(npy, a_failed_write_leaves_the_old_file) {
  HostTensor tensor(Dtype::f32, {4});
  EXPECT_THROWS_SAYING(write_npy("/dev/full", tensor), IoError, "No space left on device");
  EXPECT_THROWS_SAYING(write_npy(folder_.file("no/such/folder.npy"), tensor), IoError,
                       "cannot write");
  EXPECT_THROWS_SAYING(write_npy(folder_.path(), tensor), IoError, "Is a directory");
}

}  // namespace
}  // namespace clam
