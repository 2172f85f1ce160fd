// SPDX-License-Identifier: MIT
// Bifrost: clauses of tuples, a tuple a line of the FMA slot ("*") and one of the ADD slot ("+").
// A branch ends its clause and names the clause that it leads to, or nothing: the end.
#include <fmt/core.h>

#include <algorithm>

#include "clam/error.hpp"
#include "listing_parts.hpp"
#include "tokens/letters.hpp"

namespace clam::mali {
namespace {

// The instructions that Mesa's disassembler prints (25.0), each with its slot; those of fragment
// and vertex shaders are left out. In the ADD slot, those that look values up are called sfu.
const UnitTable& units() {
  static const UnitTable table = {
      {Unit::fma,
       "*ARSHIFT.i32,v2i16,v4i8 *ARSHIFT_DOUBLE.i32 *ATOM_C.i32,i64 *ATOM_C1.i32,i64 "
       "*ATOM_C1_RETURN.i32,i64 *ATOM_C_RETURN.i32,i64 *ATOM_POST.i32,i64 *ATOM_PRE.i64 "
       "*BITREV.i32 *CLZ.u32,v2u16,v4u8 *CSEL.f32,i32,s32,u32,v2f16,v2i16,v2s16,v2u16 *CUBEFACE1 "
       "*DTSEL_IMM *F16_TO_F32 *FADD.f32,v2f16 *FADD_LSCALE.f32 *FCMP.f32,v2f16 "
       "*FLSHIFT_DOUBLE.i32 *FMA.f32,v2f16 *FMA_RSCALE.f32,v2f16 *FMUL_CSLICE *FMUL_SLICE.f32 "
       "*FREXPE.f32,v2f16 *FREXPM.f32,v2f16 *FROUND.f32,v2f16 *FRSHIFT_DOUBLE.i32 *IADDC.i32 "
       "*IDP.v4i8 *IMUL.i32,v2i16,v4i8 *IMULD *ISUBB.i32 *LROT_DOUBLE.i32 "
       "*LSHIFT_AND.i32,v2i16,v4i8 *LSHIFT_DOUBLE.i32 *LSHIFT_OR.i32,v2i16,v4i8 "
       "*LSHIFT_XOR.i32,v2i16,v4i8 *MKVEC.v2i16,v4i8 *MOV.i32 *POPCOUNT.i32 *QUIET.f32,v2f16 "
       "*RROT_DOUBLE.i32 *RSHIFT_AND.i32,v2i16,v4i8 *RSHIFT_DOUBLE.i32 *RSHIFT_OR.i32,v2i16,v4i8 "
       "*RSHIFT_XOR.i32,v2i16,v4i8 *S16_TO_S32 *S8_TO_S32 *SEG_ADD *SEG_SUB *SHADDXL.i64,s32,u32 "
       "*U16_TO_U32 *U8_TO_U32 *V2F32_TO_V2F16 *VN_ASST1.f16,f32"},
      {Unit::cvt,
       "+CLPER.i32 +CLPER_OLD.i32 +CUBEFACE2 +CUBE_SSEL +CUBE_TSEL +F16_TO_F32 +F16_TO_S32 "
       "+F16_TO_U32 +F32_TO_S32 +F32_TO_U32 +FADD.f32,v2f16 +FADD_RSCALE.f32 +FCMP.f32,v2f16 "
       "+FMAX.f32,v2f16 +FMIN.f32,v2f16 +FPCLASS.f16,f32 +FREXPE.f32,v2f16 +FREXPM.f32,v2f16 "
       "+FROUND.f32,v2f16 +HADD.s32,u32,v2s16,v2u16,v4s8,v4u8 +IABS.s32,v2s16,v4s8 "
       "+IADD.s32,u32,v2s16,v2u16,v4s8,v4u8 +ICMP.i32,s32,u32,v2i16,v2s16,v2u16,v4i8,v4s8,v4u8 "
       "+ICMPF.i32 +ICMPI.i32,s32,u32 +ICMPM.i32 +ILOGB.f32,v2f16 +IMOV_FMA "
       "+ISUB.s32,u32,v2s16,v2u16,v4s8,v4u8 +LDEXP.f32,v2f16 +LOGB.f32,v2f16 +MKVEC.v2i16 "
       "+MOV.i32 +MUX.i32,v2i16,v4i8 +QUIET.f32,v2f16 +S16_TO_F32 +S16_TO_S32 +S32_TO_F32 "
       "+S8_TO_F32 +S8_TO_S32 +SEG_ADD +SEG_SUB +SHADDXH.i32 +SHIFT_DOUBLE.i32 +SWZ.v2i16,v4i8 "
       "+U16_TO_F32 +U16_TO_U32 +U32_TO_F32 +U8_TO_F32 +U8_TO_U32 +V2F16_TO_V2S16 +V2F16_TO_V2U16 "
       "+V2F32_TO_V2F16 +V2S16_TO_V2F16 +V2S8_TO_V2F16 +V2S8_TO_V2S16 +V2U16_TO_V2F16 "
       "+V2U8_TO_V2F16 +V2U8_TO_V2U16 +VN_ASST2.f32,v2f16 +WMASK"},
      {Unit::sfu,
       "+FATAN_ASSIST.f16,f32 +FATAN_TABLE.f16,f32 +FCOS_TABLE.u6 +FEXP.f32 +FEXP_TABLE.u4 "
       "+FLOGD.f32 +FLOG_TABLE.f32 +FPOW_SC_APPLY +FPOW_SC_DET.f16,f32 +FRCBRT_APPROX_A.f32 "
       "+FRCBRT_APPROX_B.f32 +FRCBRT_APPROX_C.f32 +FRCP.f16,f32 +FRCP_APPROX.f32 +FRSQ.f16,f32 "
       "+FRSQ_APPROX.f32 +FSINCOS_OFFSET.u6 +FSIN_TABLE.u6"},
      {Unit::load_store,
       "+ACMPSTORE.i32,i64 +ACMPXCHG.i32,i64 +ATOM_CX +AXCHG.i32,i64 +LD_ATTR +LD_ATTR_IMM "
       "+LD_ATTR_TEX +LEA_ATTR +LEA_ATTR_IMM +LEA_ATTR_TEX +LEA_TEX +LEA_TEX_IMM "
       "+LOAD.i128,i16,i24,i32,i48,i64,i8,i96 +STORE.i128,i16,i24,i32,i48,i64,i8,i96 +ST_CVT"},
      {Unit::texture, "+TEXC +TEXS_2D.f16,f32 +TEXS_CUBE.f16,f32"},
      {Unit::control,
       "+JUMP +BRANCHZ.i16,u16,s16,f16,i32,u32,s32,f32 +BRANCH.i16,u16,s16,f16,i32,u32,s32,f32 "
       "+BARRIER"},
      {Unit::none, "*NOP +NOP"},
  };
  return table;
}

constexpr std::string_view kClause = "clause_";

/// The number of a clause, as its label and the branches to it write it.
int clause_number(std::string_view name) {
  return leading_int(name.substr(kClause.size()), "the number of a clause");
}

struct Clause {
  int number = 0;
  bool is_last = false;     ///< the kernel ends behind it
  std::string_view branch;  ///< the row of its branch, if any
  Counts counts;
};

class Reader {
 public:
  explicit Reader(const Cut& cut) : cut_(cut) {
    for (const std::string_view row : cut.rows) read(row);
    if (slots_ % 2 != 0) fail("an FMA slot without its ADD slot");
  }

  const std::vector<Clause>& clauses() const { return clauses_; }
  double instructions() const { return instructions_; }

 private:
  void read(std::string_view row) {
    if (starts_with(row, kClause)) return begin_clause(row);
    if (clauses_.empty()) fail("no clause before its first row");
    if (row[0] == '*' || row[0] == '+') return read_slot(row);
    if (!starts_with(row, "ds(")) fail(fmt::format("the row {}", in_quotes(row)));
    clauses_.back().is_last = fmt::format("{} ", row).find(" eos ") != std::string::npos;
  }

  void begin_clause(std::string_view row) {
    const int number = clause_number(row);
    if (slots_ % 2 != 0) fail("an FMA slot without its ADD slot");
    if (number != 0 && (clauses_.empty() || number <= clauses_.back().number))
      fail("clauses out of order");
    clauses_.emplace_back().number = number;
  }

  void read_slot(std::string_view row) {
    Clause& clause = clauses_.back();
    const bool fma_slot = slots_++ % 2 == 0;
    if ((row[0] == '*') != fma_slot) fail("tuples whose slots are out of order");
    if (!clause.branch.empty()) fail("a branch that does not end its clause");
    if (fma_slot) clause.counts.issued += 1;
    const std::string_view word = row.substr(0, row.find(' '));
    Mnemonic found = units().find(word);
    if (found.unit != Unit::none) instructions_ += 1;
    if (found.unit == Unit::control && found.name != "+BARRIER") clause.branch = row;
    found.name.remove_prefix(1);  // the slot
    count_instruction(found, clause.counts);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw BadArgument(fmt::format("kernel '{}': its listing has {}", cut_.kernel, what));
  }

  const Cut& cut_;
  std::vector<Clause> clauses_;
  std::size_t slots_ = 0;
  double instructions_ = 0;
};

/// The last operand of a row, without the comment that gives a constant as a float.
std::string_view last_operand(std::string_view row) {
  row = row.substr(0, row.find(" /*"));
  return row.substr(row.rfind(' ') + 1);
}

/// A branch by zero ends the kernel.
bool is_zero(std::string_view operand) {
  return operand == "0x00000000" || operand == "#0" || operand == "#0.x" || operand == "#0.y";
}

int target_of(std::string_view branch, const std::vector<Clause>& clauses) {
  const std::string_view operand = last_operand(branch);
  if (is_zero(operand)) return static_cast<int>(clauses.size());
  if (!starts_with(operand, kClause))
    throw BadArgument(fmt::format("the branch {} names no clause", in_quotes(branch)));
  const int number = clause_number(operand);
  const auto target =
      std::lower_bound(clauses.begin(), clauses.end(), number,
                       [](const Clause& clause, int other) { return clause.number < other; });
  if (target == clauses.end() || target->number != number)
    throw BadArgument(fmt::format("the branch {} leads out of its listing", in_quotes(branch)));
  return static_cast<int>(target - clauses.begin());
}

}  // namespace

std::vector<Step> bifrost_steps(const Cut& cut) {
  const Reader reader(cut);
  std::vector<Step> steps;
  Counts whole;
  for (const Clause& clause : reader.clauses()) {
    Step& step = steps.emplace_back();
    step.counts = clause.counts;
    whole += clause.counts;
    if (!clause.branch.empty()) step.target = target_of(clause.branch, reader.clauses());
    step.falls = !clause.is_last && !starts_with(clause.branch, "+JUMP");
  }
  constexpr double kTexture = 2;  // fetches per clock, as the figure is divided by
  expect_figure(cut, "inst", reader.instructions());
  expect_figure(cut, "tuples", whole.issued);
  expect_figure(cut, "clauses", static_cast<double>(steps.size()));
  expect_figure(cut, "ldst", whole.load_store);
  expect_figure(cut, "texture", whole.texture / kTexture);
  return steps;
}

}  // namespace clam::mali
