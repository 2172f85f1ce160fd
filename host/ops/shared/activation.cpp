// SPDX-License-Identifier: MIT
#include "activation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "clam/error.hpp"
#include "op.hpp"
#include "runtime/number_text.hpp"

namespace clam {
namespace {

struct OwnNumbers {
  OwnNumber alpha, beta;
};

/// ONNX's defaults.
OwnNumbers own_numbers(Activation act) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (act == Activation::clip) return {-kInfinity, kInfinity};
  if (act == Activation::leaky_relu) return {0.01f, {}};
  if (act == Activation::hard_sigmoid) return {0.2f, 0.5f};
  return {};
}

}  // namespace

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names{
      "none", "relu", "relu6",      "silu", "gelu",       "gelu_tanh",   "sigmoid",
      "tanh", "exp",  "hard_swish", "clip", "leaky_relu", "hard_sigmoid"};
  return names;
}

Activation parse_activation(std::string_view word) {
  const std::vector<std::string>& names = activation_names();
  const auto found = std::find(names.begin(), names.end(), word);
  throw_if(found == names.end(), "unknown activation '{}'; clam knows {}", word.substr(0, 60),
           fmt::join(names, " "));
  return static_cast<Activation>(found - names.begin());
}

Act::Act(const Problem& problem) : kind(parse_activation(problem.choice("act"))) {
  const OwnNumbers own = own_numbers(kind);
  alpha = static_cast<double>(number_or(problem, "act_alpha", own.alpha));
  beta = static_cast<double>(number_or(problem, "act_beta", own.beta));
  scale = static_cast<double>(problem.number("act_scale"));
  shift = static_cast<double>(problem.number("act_shift"));
}

std::vector<Field> with_activation(std::vector<Field> fields, std::string_view before) {
  const auto at = std::find_if(fields.begin(), fields.end(),
                               [&](const Field& field) { return field.name == before; });
  fields.insert(
      at,
      {choice("act", "activation", activation_names(), "none"),
       number("act_alpha",
              "slope of leaky_relu below 0 (0.01) or of hard_sigmoid (0.2); least of clip (-inf)",
              kOwnNumber),
       number("act_beta", "hard_sigmoid of 0 (0.5); most of clip (inf)", kOwnNumber),
       number("act_scale", "factor of what the activation gives", "1"),
       number("act_shift", "added to that", "0")});
  return fields;
}

void check_act(const Problem& problem, Schema::Values& values) {
  const Activation act = parse_activation(problem.choice("act"));
  const OwnNumbers own = own_numbers(act);
  check_number(problem, values, "act_alpha", "act", own.alpha);
  check_number(problem, values, "act_beta", "act", own.beta);
  check_finite(problem, {"act_scale", "act_shift"});
  if (act == Activation::clip) check_clip(problem, "act_alpha", "act_beta");
}

std::map<std::string, std::string> act_words(const Problem& problem) {
  std::map<std::string, std::string> words{{"act", problem.choice("act")}};
  for (const char* field : {"act_alpha", "act_beta", "act_scale", "act_shift"}) {
    const float number = problem.number(field);
    if (!std::isnan(number)) words[field] = number_text(number);
  }
  return words;
}

float number_or(const Problem& problem, std::string_view field, OwnNumber own) {
  const float number = problem.number(field);
  return std::isnan(number) ? own.value_or(0) : number;
}

void check_number(const Problem& problem, Schema::Values& values, const std::string& field,
                  std::string_view chooser, OwnNumber own) {
  const float number = problem.number(field);
  if (std::isnan(number)) return;
  const std::string& function = problem.choice(chooser);
  bad_field_if(!own, problem, field, "but {}={} takes no such number", chooser, function);
  if (std::isinf(number) && !std::isinf(*own)) bad_field(problem, field, "needs a finite number");
  if (number == *own) values[field] = kOwnNumber;
}

std::string number_option(std::string_view name, const Problem& problem, std::string_view field,
                          OwnNumber own) {
  if (!own) return "";
  return fmt::format(" -DCLAM_ACT_{}={}", name, float_literal(number_or(problem, field, own)));
}

void check_clip(const Problem& problem, std::string_view least, std::string_view most) {
  const float low = problem.number(least), high = problem.number(most);
  bad_field_if(low > high, problem, least, "is over {}={}", most, number_text(high));
  if (low > 0 && std::isinf(low)) bad_field(problem, least, "needs a number below inf");
  if (high < 0 && std::isinf(high)) bad_field(problem, most, "needs a number above -inf");
}

bool takes_exp(const Problem& problem) {
  const Activation act = parse_activation(problem.choice("act"));
  return act == Activation::silu || act == Activation::sigmoid || act == Activation::gelu ||
         act == Activation::gelu_tanh;
}

bool takes_native(const Problem& problem, const DeviceInfo& device) {
  constexpr double kMostUlp = 4;  // the bounds of activations allow no more
  return takes_exp(problem) && device.native_exp2_ulp > 0 && device.native_exp2_ulp <= kMostUlp;
}

std::string act_options(const Problem& problem, std::string_view define, const DeviceInfo& device) {
  const Act act(problem);
  if (act.is_none()) return "";
  const std::string& name = problem.choice("act");
  const OwnNumbers own = own_numbers(act.kind);
  std::string options = fmt::format(" -D{}={}", define, act.is_scaled() ? "scaled" : name);
  options += number_option("ALPHA", problem, "act_alpha", own.alpha);
  options += number_option("BETA", problem, "act_beta", own.beta);
  if (act.is_scaled()) {
    options += fmt::format(" -DCLAM_ACT_OF={}", name);
    options += number_option("SCALE", problem, "act_scale", 1.0f);
    options += number_option("SHIFT", problem, "act_shift", 0.0f);
  }
  return options + (takes_native(problem, device) ? " -DCLAM_NATIVE" : "");
}

}  // namespace clam
