// SPDX-License-Identifier: MIT
// Valhall: one instruction a line, each of one unit; a branch skips as many as its offset says.
#include "listing_parts.hpp"
#include "runtime/refuse.hpp"
#include "tokens/letters.hpp"

namespace clam::mali {
namespace {

// Units as in Mesa's description of the instructions, src/panfrost/compiler/valhall/ISA.xml (25.0).
// Those of fragment and vertex shaders are left out. Mesa 26.1's disassembler has no name for the
// arithmetic shifts to the right, RSHIFT_OR.arithmetic in the listings of its passes.
const UnitTable& units() {
  static const UnitTable table = {
      {Unit::fma,
       "FADD FADD_IMM FADD_LSCALE LDEXP FMA FMA_RSCALE FMA_RSCALE_N FMA_RSCALE_LEFT "
       "FMA_RSCALE_SCALE16 IDP"},
      {Unit::cvt,
       "V2S16_TO_V2F16 S32_TO_F32 V2U16_TO_V2F16 U32_TO_F32 S16_TO_S32 S16_TO_F32 U16_TO_U32 "
       "U16_TO_F32 F32_TO_S32 F32_TO_U32 V2F16_TO_V2S16 V2F16_TO_V2U16 F16_TO_S32 F16_TO_U32 "
       "F16_TO_F32 S8_TO_S32 S8_TO_F32 U8_TO_U32 U8_TO_F32 V2S8_TO_V2S16 V2S8_TO_V2F16 "
       "V2U8_TO_V2U16 V2U8_TO_V2F16 V2F32_TO_V2F16 FROUND MOV CLZ IABS WMASK FLUSH FREXPM FREXPE "
       "FMIN FMAX MKVEC IADD ISUB SEG_ADD SHADDX HADD IADD_IMM CSEL ICMP_OR ICMP_AND ICMP_MULTI "
       "FCMP_OR FCMP_AND"},
      {Unit::sfu,
       "POPCOUNT BITREV NOT_OLD FRCP FRSQ FLOGD FPCLASS FLOG_TABLE FRCP_APPROX FRSQ_APPROX "
       "FSIN_TABLE FCOS_TABLE FSINCOS_OFFSET FEXP_TABLE FEXP FATAN_ASSIST IMUL IMULD CLPER "
       "LSHIFT_AND RSHIFT_AND LSHIFT_OR RSHIFT_OR LSHIFT_XOR RSHIFT_XOR MUX UNNAMED"},
      {Unit::load_store,
       "LOAD STORE LD_BUFFER LD_TEX LD_TEX_IMM LEA_TEX LEA_TEX_IMM LEA_BUFFER LEA_BUF_IMM ST_CVT "
       "ATOM ATOM_RETURN ATOM1_RETURN"},
      {Unit::texture, "TEX_FETCH TEX_SINGLE TEX_GATHER TEX_GRADIENT TEX_DUAL"},
      {Unit::control, "NOP BRANCHZ BARRIER"},
  };
  return table;
}

/// What va_perf.c counts, in its own terms: arithmetic on 64 bits takes a unit twice, and branches
/// and waits are the conversion unit's.
void expect_units(const Cut& cut, const std::vector<std::string_view>& words) {
  double fma = 0, cvt = 0, sfu = 0, load_store = 0, texture = 0;
  for (const std::string_view word : words) {
    const Mnemonic found = units().find(word);
    const double passes = ends_with(found.name, "64") ? 2 : 1;
    if (found.unit == Unit::fma) fma += passes;
    if (found.unit == Unit::sfu) sfu += passes;
    if (found.unit == Unit::cvt || found.name == "NOP" || found.name == "BRANCHZ") cvt += passes;
    if (found.unit == Unit::load_store) load_store += 1;
    if (found.unit == Unit::texture) texture += 1;
  }
  // Operations per clock, which the figures are divided by.
  constexpr double kWide = 64, kSfu = 16, kTexture = 4;
  expect_figure(cut, "fma", fma / kWide);
  expect_figure(cut, "cvt", cvt / kWide);
  expect_figure(cut, "sfu", sfu / kSfu);
  expect_figure(cut, "ls", load_store);
  expect_figure(cut, "t", texture / kTexture);
}

/// Whether a branch is always taken: on zero, of a zero.
bool is_jump(std::string_view row) {
  return row.find(".eq") < row.find(' ') && row.find(" 0x0,") != std::string_view::npos;
}

void read_branch(std::string_view row, int at, int steps, Step& step) {
  constexpr std::string_view kOffset = "offset:";
  const std::size_t offset = row.find(kOffset);
  throw_if(offset == std::string_view::npos, "the branch {} has no offset", in_quotes(row));
  const long long target =
      at + 1LL + leading_int(row.substr(offset + kOffset.size()), "the offset of a branch");
  throw_if(target < 0 || target >= steps, "the branch {} leads out of its listing", in_quotes(row));
  step.target = static_cast<int>(target);
  step.falls = !is_jump(row);
}

}  // namespace

std::vector<Step> valhall_steps(const Cut& cut) {
  const int size = static_cast<int>(cut.rows.size());
  expect_figure(cut, "inst", size);
  std::vector<Step> steps(cut.rows.size());
  std::vector<std::string_view> words;
  for (int at = 0; at < size; ++at) {
    const std::string_view row = nth(cut.rows, at);
    Step& step = nth(steps, at);
    words.push_back(row.substr(0, row.find(' ')));
    const Mnemonic found = units().find(words.back());
    step.counts.issued = 1;
    count_instruction(found, step.counts);
    if (found.name == "BRANCHZ") read_branch(row, at, size, step);
    if (ends_with(words.back(), ".end")) step.falls = false;
  }
  expect_units(cut, words);
  return steps;
}

}  // namespace clam::mali
