// SPDX-License-Identifier: MIT
// activation.hpp - the words for activations, and their numbers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clam/device.hpp"
#include "clam/problem.hpp"

namespace clam {

enum class Activation {
  none,
  relu,
  relu6,
  silu,
  gelu,
  gelu_tanh,
  sigmoid,
  tanh,
  exp,
  hard_swish,
  clip,
  leaky_relu,
  hard_sigmoid
};

/// scale * kind(z) + shift; alpha and beta are numbers of the kind.
struct Act {
  Activation kind = Activation::none;
  double alpha = 0, beta = 0, scale = 1, shift = 0;

  Act(Activation kind) : kind(kind) {}
  /// By the problem's words.
  explicit Act(const Problem& problem);

  bool is_scaled() const { return scale != 1 || shift != 0; }
  /// Its result is its argument.
  bool is_none() const { return kind == Activation::none && !is_scaled(); }
};

/// The words of a Problem line, in the order of the enumeration.
const std::vector<std::string>& activation_names();
/// Throws BadArgument for a word that is no activation.
Activation parse_activation(std::string_view word);

/// `fields` and those of an activation, in front of the field `before`, or else at the end. An op
/// that has them calls check_act.
std::vector<Field> with_activation(std::vector<Field> fields, std::string_view before = {});
/// Throws BadArgument for a number that the activation does not take.
void check_act(const Problem& problem, Schema::Values& values);
/// The words again, for a problem of another op.
std::map<std::string, std::string> act_words(const Problem& problem);

/// What a function takes for a number that is not given; nothing: it takes none.
using OwnNumber = std::optional<float>;
/// The number of a field whose default is kOwnNumber.
constexpr const char* kOwnNumber = "default";
float number_or(const Problem& problem, std::string_view field, OwnNumber own);
/// Throws BadArgument where the function of the field `chooser` does not take the number that is
/// given, and leaves out one that is its own.
void check_number(const Problem& problem, Schema::Values& values, const std::string& field,
                  std::string_view chooser, OwnNumber own);
/// " -DCLAM_ACT_NAME=0.2f", the field's number; empty where the function takes none.
std::string number_option(std::string_view name, const Problem& problem, std::string_view field,
                          OwnNumber own);
/// Throws BadArgument where the least of a clip is over its most.
void check_clip(const Problem& problem, std::string_view least, std::string_view most);

/// Whether kernels take the problem's `act` from exp, and so from native_exp2 where that is good.
bool takes_exp(const Problem& problem);
/// Whether they take native_exp2 on the device.
bool takes_native(const Problem& problem, const DeviceInfo& device);
/// " -DDEFINE=silu -DCLAM_NATIVE": the problem's `act`, its numbers, and how it is computed; empty
/// without one.
std::string act_options(const Problem& problem, std::string_view define, const DeviceInfo& device);

}  // namespace clam
