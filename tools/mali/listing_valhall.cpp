// SPDX-License-Identifier: MIT
// Valhall: one instruction a line, each of one unit; a branch skips as many as its offset says.
#include <fmt/core.h>

#include "clam/error.hpp"
#include "listing_parts.hpp"
#include "tokens/letters.hpp"

namespace clam::mali {
namespace {

// Units as in Mesa's description of the instructions, src/panfrost/compiler/valhall/ISA.xml (25.0).
// Those of fragment and vertex shaders are left out. Mesa 26.1's disassembler has no name for the
// arithmetic shifts to the right, RSHIFT_OR.arithmetic in the listings of its passes.
const UnitTable& units() {
  static const UnitTable table = {
      {Unit::fma,
       "FADD.f32,v2f16 FADD_IMM.f32,v2f16 FADD_LSCALE.f32 LDEXP.f32,v2f16 FMA.f32,v2f16 "
       "FMA_RSCALE.f32 FMA_RSCALE_N.f32 FMA_RSCALE_LEFT.f32 FMA_RSCALE_SCALE16.f32 IDP.v4s8,v4u8"},
      {Unit::cvt,
       "V2S16_TO_V2F16 S32_TO_F32 V2U16_TO_V2F16 U32_TO_F32 S16_TO_S32 S16_TO_F32 U16_TO_U32 "
       "U16_TO_F32 F32_TO_S32 F32_TO_U32 V2F16_TO_V2S16 V2F16_TO_V2U16 F16_TO_S32 F16_TO_U32 "
       "F16_TO_F32 S8_TO_S32 S8_TO_F32 U8_TO_U32 U8_TO_F32 V2S8_TO_V2S16 V2S8_TO_V2F16 "
       "V2U8_TO_V2U16 V2U8_TO_V2F16 V2F32_TO_V2F16 FROUND.f32,v2f16 MOV.i32 CLZ.u32,v2u16,v4u8 "
       "IABS.s32,v2s16,v4s8 WMASK FLUSH.f32,v2f16 FREXPM.f32,v2f16 FREXPE.f32,v2f16 "
       "FMIN.f32,v2f16 FMAX.f32,v2f16 MKVEC.v2i16,v2i8 IADD.u32,v2u16,v4u8,s32,v2s16,v4s8,u64,s64 "
       "ISUB.u32,v2u16,v4u8,s32,v2s16,v4s8,u64,s64 SEG_ADD.u64 SHADDX.u64,s64 "
       "HADD.u32,v2u16,v4u8,s32,v2s16,v4s8 IADD_IMM.i32,v2i16,v4i8 "
       "CSEL.f32,v2f16,u32,v2u16,s32,v2s16 ICMP_OR.u32,v2u16,v4u8,s32,v2s16,v4s8 "
       "ICMP_AND.u32,v2u16,v4u8,s32,v2s16,v4s8 ICMP_MULTI.u32,s32 FCMP_OR.f32,v2f16 "
       "FCMP_AND.f32,v2f16"},
      {Unit::sfu,
       "POPCOUNT.i32 BITREV.i32 NOT_OLD.i32,i64 FRCP.f32,f16 FRSQ.f32,f16 FLOGD.f32 "
       "FPCLASS.f32,f16 FLOG_TABLE.f32 FRCP_APPROX.f32 FRSQ_APPROX.f32 FSIN_TABLE.u6 "
       "FCOS_TABLE.u6 FSINCOS_OFFSET.u6 FEXP_TABLE.u4 FEXP.f32 FATAN_ASSIST.f32 "
       "IMUL.i32,v2i16,v4i8,s32,v2s16,v4s8 IMULD.u64 CLPER.i32,v2u16,v4u8,s32,v2s16,v4s8,u64,s64 "
       "LSHIFT_AND.i32,v2i16,v4i8,i64 RSHIFT_AND.i32,v2i16,v4i8,i64 LSHIFT_OR.i32,v2i16,v4i8,i64 "
       "RSHIFT_OR.i32,v2i16,v4i8,i64 LSHIFT_XOR.i32,v2i16,v4i8,i64 RSHIFT_XOR.i32,v2i16,v4i8,i64 "
       "MUX.i32,v2i16,v4i8 UNNAMED"},
      {Unit::load_store,
       "LOAD.i8,i16,i24,i32,i48,i64,i96,i128 STORE.i8,i16,i24,i32,i48,i64,i96,i128 "
       "LD_BUFFER.i8,i16,i24,i32,i48,i64,i96,i128 LD_TEX LD_TEX_IMM LEA_TEX LEA_TEX_IMM "
       "LEA_BUFFER LEA_BUF_IMM ST_CVT ATOM.i32,i64 ATOM_RETURN.i32,i64 ATOM1_RETURN.i32,i64"},
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
  if (offset == std::string_view::npos)
    throw BadArgument(fmt::format("the branch {} has no offset", in_quotes(row)));
  const long long target =
      at + 1LL + leading_int(row.substr(offset + kOffset.size()), "the offset of a branch");
  if (target < 0 || target >= steps)
    throw BadArgument(fmt::format("the branch {} leads out of its listing", in_quotes(row)));
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
