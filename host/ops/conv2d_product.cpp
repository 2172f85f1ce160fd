// SPDX-License-Identifier: MIT
// conv2d_product.cpp - conv2d by conv2d_product.cl and, where x is no plane yet, conv2d_move.cl.
#include <limits>
#include <numeric>
#include <tuple>

#include "conv2d_plan.hpp"

namespace clam::conv2d_plan {
namespace {

constexpr int kTile = Conv2d::kTile;

/// In what a product is stored and summed.
struct ProductKind {
  Dtype dtype;
  Acc acc;
  double activation;  ///< activation_instructions
  bool residual;

  std::int64_t weight_size() const { return acc == Acc::f32 ? 4 : 2; }
};

/// What conv2d_product.cl multiplies; its head says what a plane is. Distances are in elements.
struct Product {
  ProductKind kind{};
  int groups = 1, images = 1;  ///< a launch has groups * images products
  int planes = 1, plane = 0;   ///< planes of a group, and from one to the next
  int vectors = 0;             ///< of 4 pixels, that a plane has of y
  int taps = 1, step = 0, turn = 0, phases = 1, wrap = 0;
  int columns = 1;                                   ///< planes that are columns of the filter
  int k = 0, map = 0, width = 0, row = 0, next = 0;  ///< channels of a group; y

  int loose = 0;  ///< 1: a plane is one row of y that is no whole vectors; 2: it has several rows

  /// Vectors of a plane are those of a map of y.
  bool flat() const { return vectors * 4 == map; }
  std::int64_t elements() const { return std::int64_t{groups} * images * planes * plane; }
};

/// Tiles and groups.
struct ProductCut : Tiling {
  int channels = kTile, parts = 1, lx = 16, ly = 4, range = 0;

  /// Tiles of four channels that a group has, as conv2d_product_pack counts them.
  int fours() const { return channels / kTile * ly; }
};

constexpr double kLongActivation = 100;  ///< instructions; shorter ones spare the registers

/// Planes of a trip of the kernel's loop.
int trip_of(Acc acc) { return acc == Acc::f32 ? 8 : acc == Acc::chunk ? kChunk : 16; }

std::string sums_option(Acc acc) {
  return acc == Acc::f32 ? "" : fmt::format(" -DCONV2D_ACC={}", static_cast<int>(acc));
}

/// Planes behind the last whole trip of each part, where the kernel is compiled for their number.
int known_rest(const Product& product, const ProductCut& cut) {
  return product.kind.acc == Acc::chunk ? cut.range % kChunk : 0;
}

bool is_whole(const Product& product, const ProductCut& cut) {
  const int rest = cut.range % trip_of(product.kind.acc) - known_rest(product, cut);
  return product.planes == cut.parts * cut.range && rest == 0;
}

/// What the kernel knows of the planes of a part.
std::string planes_option(const Product& product, const ProductCut& cut) {
  if (!is_whole(product, cut)) return "";
  const int rest = known_rest(product, cut);
  if (rest == 0) return " -DCONV2D_WHOLE=1";
  return fmt::format(" -DCONV2D_WHOLE={} -DCONV2D_REST={}", rest == cut.range ? 2 : 1, rest);
}

/// Planes of a part: as many for each, or whole trips.
int range_of(const Product& product, int parts) {
  const int trip = trip_of(product.kind.acc);
  const bool may_have_rest = product.kind.acc == Acc::chunk && product.planes % parts == 0;
  return may_have_rest ? product.planes / parts : ceil_div(product.planes, trip * parts) * trip;
}

/// From the sums to the outputs of a work-item.
double instructions_of_end(const Product& product, const ProductCut& cut) {
  constexpr double kFinish = 25, kEdge = 45, kPlace = 25, kHandOn = 28, kTake = 9;
  const bool stores_whole = product.flat() || (product.loose > 0 && !product.kind.residual);
  const double finish = kFinish + product.kind.activation + (stores_whole ? 0 : kEdge);
  const double place = product.flat() ? 0 : kPlace;
  if (cut.parts == 1) return place + cut.channels * finish;
  return place + kHandOn * cut.channels / kTile +
         ceil_div(cut.channels, cut.parts) * (finish + kTake * (cut.parts - 1));
}

/// What a work-item hands to the other parts, takes from them, and stores.
double bytes_of_end(const ProductKind& kind, const ProductCut& cut) {
  constexpr double kSum = kTile * sizeof(float);
  const int own = ceil_div(cut.channels, cut.parts);
  const double stored = static_cast<double>(own * kTile * size_of(kind.dtype));
  return cut.parts == 1 ? stored : stored + kSum * (cut.channels + own * cut.parts);
}

Work work_of(const Product& product, const ProductCut& cut, const Cost& cost) {
  constexpr double kTap = 25, kAround = 100, kChunkEnd = 8;
  const int columns = ceil_div(product.vectors, cut.lx);
  const int rows = ceil_div(ceil_div(product.k, cut.channels), cut.ly);
  const int range = std::min(cut.range, product.planes);
  const ProductKind& kind = product.kind;
  const int behind = range % trip_of(kind.acc);
  const double loops = (behind / 4 + behind % 4) * 8;
  const double rest = behind > 0 && is_whole(product, cut) ? cut.channels * kChunkEnd : loops;
  const double element = size_of(kind.dtype);
  const double outputs = 1.0 * product.groups * product.images * product.k * product.map;
  Work work;
  work.group = cut.lx * cut.ly * cut.parts;
  work.items = 1.0 * columns * rows * product.groups * product.images * work.group;
  work.instructions = product.taps * (range * cost.numbers.at(0) + rest + kTap) + kAround +
                      instructions_of_end(product, cut);
  work.bytes = product.taps * range * (cut.channels * kind.weight_size() + kTile * element) +
               bytes_of_end(kind, cut);
  work.dram = (product.elements() + outputs) * element;
  return work;
}

/// Mesa's compilers keep the sums of a large tile in registers, but not beside a long activation,
/// nor where parts have a rest that is not known.
Reason cannot_have(const Product& product, const ProductCut& cut, std::int64_t most_parts) {
  if (cut.parts > most_parts) return fmt::format("a group has no {} work-items", cut.parts);
  if (cut.parts > 1 && cut.range * (cut.parts - 1) >= product.planes) {
    return fmt::format("{} planes leave a part without any", product.planes);
  }
  if (cut.channels == kTile) return {};
  if (most_parts < 2) return "a group of one work-item packs 4 channels";
  const bool spills = cut.parts > 1 && !is_whole(product, cut);
  if (product.kind.activation >= kLongActivation || spills) return "so many sums would spill";
  return {};
}

/// Of what is no int, the largest: no buffer holds so many elements.
int bounded(std::int64_t elements) {
  return static_cast<int>(std::min<std::int64_t>(elements, std::numeric_limits<int>::max()));
}

/// Planes are x: for a 1x1 filter on maps of 4 pixels or more.
Product product_of_x(const Conv2d& conv) {
  Product product;
  product.groups = conv.groups;
  product.images = conv.n;
  product.planes = conv.cg();
  product.plane = product.map = product.width = product.next = conv.h * conv.w;
  product.vectors = product.row = ceil_div(product.map, kTile);
  product.loose = product.map % kTile != 0 ? 1 : 0;
  product.k = conv.kg();
  return product;
}

int loose_rows(const Product& product) { return product.flat() || product.width < kTile ? 0 : 2; }

/// Rows of x, moved by each column of the filter, whose rows are taps.
Product product_of_rows(const Conv2d& conv) {
  Product product;
  product.groups = conv.groups;
  product.images = conv.n;
  product.columns = conv.s;
  product.planes = conv.cg() * conv.s;
  product.taps = conv.r;
  product.phases = conv.stride_h;
  product.row = ceil_div(conv.ow(), kTile);
  const int pitch = product.row * kTile;
  const auto reach = static_cast<int>(Conv2d::reach(conv.r, conv.dilation_h));
  const int lines = ceil_div((conv.oh() - 1) * conv.stride_h + reach, conv.stride_h);
  product.plane = bounded(std::int64_t{product.phases} * lines * pitch);
  product.wrap = pitch - product.plane;
  if (product.taps > 1) {
    product.turn = conv.dilation_h % product.phases;
    product.step = bounded(std::int64_t{conv.dilation_h / product.phases} * pitch +
                           std::int64_t{product.turn} * lines * pitch);
  }
  product.vectors = conv.oh() * product.row;
  product.k = conv.kg();
  product.map = conv.oh() * conv.ow();
  product.width = product.next = conv.ow();
  product.loose = loose_rows(product);
  return product;
}

/// How far planes lie apart where lines of all of them fall into one set of a cache.
constexpr int kSetBytes = 4096;

/// Maps of y, moved by each tap, those of all images side by side. Planes end in a line that nobody
/// reads, where they would be whole kSetBytes.
Product product_of_maps(const Conv2d& conv) {
  Product product;
  product.groups = conv.groups;
  product.columns = conv.r * conv.s;
  product.planes = conv.cg() * product.columns;
  product.map = product.width = conv.oh() * conv.ow();
  product.row = ceil_div(product.map, kTile);
  product.next = conv.k * product.map;
  product.vectors = conv.n * product.row;
  const std::int64_t plane = std::int64_t{product.vectors} * kTile, line = 64 / size_of(conv.dtype);
  product.plane = bounded(plane * size_of(conv.dtype) % kSetBytes == 0 ? plane + line : plane);
  product.k = conv.kg();
  product.loose = loose_rows(product);
  return product;
}

/// Bytes of the packed weights.
std::int64_t packed_bytes(const Product& product, int ly) {
  const std::int64_t rows = product.groups * std::int64_t{round_up(ceil_div(product.k, kTile), ly)};
  return rows * kTile * product.planes * product.taps * product.kind.weight_size();
}

/// Bytes of a plane and of its weights that a group reads, for each of its work-items.
double bytes_of_plane(const ProductKind& kind, const ProductCut& cut) {
  const double bytes = cut.lx * kTile * double(size_of(kind.dtype)) +
                       cut.ly * cut.channels * double(kind.weight_size());
  return bytes / (cut.lx * cut.ly);
}

/// Groups of up to `items` work-items that take the least clocks. A CPU runs the work-items of a
/// group one after another. There, of groups as fast, the one that reads the fewest bytes is taken,
/// and of two such the narrower.
ProductCut with_lanes(ProductCut cut, int items, const Product& product, const Cost& cost,
                      const DeviceInfo& device) {
  const int widest = floor_power_of_two(std::min<std::int64_t>(kGroup, device.max_work_items[0]));
  const int lanes = floor_power_of_two(std::max(items / cut.parts, 1));
  const auto order = [&](const ProductCut& one) {
    const double clocks = one.clocks.predicted;
    if (device.type != "cpu") return std::make_tuple(clocks, 0., 0);
    return std::make_tuple(clocks, bytes_of_plane(product.kind, one), one.lx);
  };
  std::optional<ProductCut> best;
  for (cut.lx = std::min(lanes, widest); cut.lx >= 1; cut.lx /= 2) {
    cut.ly = std::min(lanes / cut.lx, kConvHighest * kTile / cut.channels);
    if (cut.fours() > items) cut.ly = std::max(cut.ly / 2, 1);
    cut.clocks = clocks_of(work_of(product, cut, cost), device);
    if (!best || order(cut) < order(*best)) best = cut;
  }
  return *best;
}

ProductKind kind_of(const Problem& problem, const DeviceInfo& device) {
  return {problem.dtype(), accumulator(problem), activation_instructions(problem, device),
          problem.flag("residual")};
}

/// Their groups have 64 work-items, or as many as are wanted. Clocks are always those of 64. So
/// neither the bits of a sum nor the choice of a variant depend on the size of a group, unless that
/// is smaller than the parts.
std::vector<ProductCut> product_cuts(const Product& product, const Request& request) {
  const DeviceInfo& device = request.device;
  const ProductKind& kind = product.kind;
  const int items = group_items(request);
  const std::int64_t most_parts = std::min<std::int64_t>(items, device.max_work_items[2]);
  std::vector<ProductCut> cuts;
  for (const Cost& cost : costs_of("conv2d_product", kind.dtype, kind.acc, device)) {
    for (const int parts : Conv2d::kProductParts) {
      ProductCut cut{tiling_of(cost, device), cost["CHANNELS"], parts};
      cut.words += fmt::format(",PARTS={}", parts);
      cut.range = range_of(product, parts);
      cut.refused = cannot_have(product, cut, most_parts);
      cut = with_lanes(cut, kGroup, product, cost, device);
      const int own = parts > 1 ? std::min(items, kGroup) : items;
      if (own != kGroup) {
        const Clocks clocks = cut.clocks;
        cut = with_lanes(cut, own, product, cost, device);
        cut.clocks = clocks;
      }
      cuts.push_back(std::move(cut));
    }
  }
  return cuts;
}

Launch product_launch(const Request& request, const Product& product, const ProductCut& cut,
                      const char* planes) {
  const Conv2d conv(request.problem);
  const ProductKind& kind = product.kind;
  const auto flag = [](bool is_set, const char* name) {
    return is_set ? fmt::format(" -DCONV2D_{}=1", name) : std::string();
  };
  const int size = static_cast<int>(size_of(kind.dtype));
  const std::string more =
      fmt::format(" -DCONV2D_PARTS={} -DCONV2D_CHANNELS={}{}{}{}{}{}{}", cut.parts, cut.channels,
                  sums_option(kind.acc), planes_option(product, cut), flag(product.flat(), "FLAT"),
                  product.loose > 0 ? fmt::format(" -DCONV2D_LOOSE={}", product.loose) : "",
                  flag(product.groups > 1, "GROUPED"), split_addresses(request.device));
  return group_launch(
      "conv2d_product.cl", "conv2d_product", options(request, {cut.lx, cut.ly}, more),
      {cut.lx, cut.ly}, product.vectors, ceil_div(product.k, cut.channels),
      std::int64_t{product.groups} * product.images,
      arg_list(planes, "w_packed", buffer_if(conv.bias, "b"), buffer_if(conv.residual, "r"), "y",
               product.groups, product.planes, cut.range, product.plane * size, product.vectors,
               product.taps, product.step * size, product.turn, product.phases, product.wrap * size,
               product.k, product.map, product.width, product.row, product.next),
      cut.parts);
}

// ---- the variants ----

enum class Form { x, rows, maps };

/// The launch that writes the planes: `vectors` of each, and blocks of `each` channels at a column
/// or tap of the filter.
struct Move {
  int each = 1, vectors = 1, lx = 1, ly = 1;
  std::int64_t blocks = 1;
  double clocks = HUGE_VAL;

  double items() const { return 1.0 * round_up(vectors, lx) * double(round_up(blocks, ly)); }
};

/// The planes' form, the cut and all clocks, those of the launch that moves x included.
struct Choice {
  Form form = Form::x;
  Product product;
  ProductCut cut{};
  Move move{};
  double clocks = 0;
};

/// In groups of `items` work-items, of which the fewest have nothing to do.
Move move_of(Form form, const Conv2d& conv, const Product& product, int each, int items) {
  const int vectors = form == Form::rows ? product.plane / kTile : product.row;
  Move move{each, vectors, items, 1, std::int64_t{ceil_div(conv.c, each)} * product.columns};
  for (Move other = move; other.lx >= 8;) {
    other.lx /= 2, other.ly *= 2;
    if (other.items() < move.items()) move = other;
  }
  return move;
}

/// How many channels a work-item moves. By Mesa 25's listings the kernels have 162 to 192
/// instructions around their loop over channels, and 39 to 46 in it.
Move choose_move(Form form, const Conv2d& conv, const Product& product, const Request& request) {
  constexpr double kAround = 200, kChannel = 45;
  const double read = 1.0 * conv.n * conv.c * conv.h * conv.w;
  Move best;
  for (int each = 1; each <= 16 && each < 2 * conv.c; each *= 2) {
    Work work;
    work.items = conv.n * move_of(form, conv, product, each, kGroup).items();
    work.instructions = kAround + std::min(each, conv.c) * kChannel;
    work.dram = (read + static_cast<double>(product.elements())) * size_of(conv.dtype);
    const double clocks = clocks_of(work, request.device).predicted + kLaunchClocks;
    if (clocks >= best.clocks) continue;
    best = move_of(form, conv, product, each, group_items(request));
    best.clocks = clocks;
  }
  return best;
}

/// Whether a processor finds no line of x again, since those of all planes lie in few sets of its
/// second cache, and planes of maps would not. PoCL takes 2 to 4 times as long then. Cores have 8
/// ways or more, and 1024 sets of 64 bytes or more.
bool is_read_slowly(const Product& product, const Conv2d& conv, const DeviceInfo& device) {
  constexpr std::int64_t kWays = 8, kWay = 65536;
  const std::int64_t plane = product.plane * size_of(conv.dtype);
  return device.type == "cpu" && plane % kSetBytes == 0 &&
         product.planes > kWays * (kWay / std::gcd(plane, kWay));
}

constexpr double kSlowReads = 2;  ///< how much longer a product takes then

Product product_of(Form form, const Problem& problem, const DeviceInfo& device) {
  const Conv2d conv(problem);
  Product product = form == Form::x      ? product_of_x(conv)
                    : form == Form::rows ? product_of_rows(conv)
                                         : product_of_maps(conv);
  product.kind = kind_of(problem, device);
  return product;
}

Choice choose_form(Form form, const Request& request) {
  const Conv2d conv(request.problem);
  Choice choice{form, product_of(form, request.problem, request.device)};
  choice.cut = choose(product_cuts(choice.product, request), request);
  choice.clocks = choice.cut.clocks.predicted;
  if (form != Form::x) {
    choice.move = choose_move(form, conv, choice.product, request);
    choice.clocks += choice.move.clocks;
  } else if (is_read_slowly(choice.product, conv, request.device)) {
    choice.clocks *= kSlowReads;
  }
  return choice;
}

/// Planes that are rows; else maps, or x where it is faster, whatever tile is asked for.
template <bool rows>
Form form_of(const Request& request) {
  const Conv2d conv(request.problem);
  if (rows) return Form::rows;
  if (not_pointwise(conv) || conv.h * conv.w < kTile) return Form::maps;
  PlanOptions options = request.options;
  options.tile.clear();
  const Request untiled{request.problem, request.device, options};
  const double maps = choose_form(Form::maps, untiled).clocks;
  return choose_form(Form::x, untiled).clocks <= maps ? Form::x : Form::maps;
}

template <bool rows>
Reason refuses_product(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_read(problem, "nchw")) return reason;
  const Conv2d conv(problem);
  if (rows && conv.r == 1 && conv.s == 1) return "the filter is 1x1";
  if (conv.groups > 1 && conv.cg() == 1 && conv.kg() == 1) return "it is a filter for each channel";
  const Product product = product_of(rows ? Form::rows : Form::maps, problem, device);
  if (Reason reason = too_large("planes", product.elements() * size_of(conv.dtype), device)) {
    return reason;
  }
  return too_large("packed w", packed_bytes(product, kConvHighest), device);
}

/// The launch that writes the planes.
Launch moving_launch(const Request& request, const Choice& choice) {
  const Conv2d conv(request.problem);
  const Product& product = choice.product;
  const bool rows = choice.form == Form::rows;
  const int pitch = product.row, lines = rows ? product.plane / product.phases / pitch / kTile : 1;
  const auto& [each, vectors, lx, ly, blocks, clocks] = choice.move;
  std::vector<Arg> args = arg_list("x", "planes", conv.c, conv.h, conv.w);
  if (rows) {
    append_args(args, conv.s, product.phases, lines, pitch, conv.stride_w, conv.dilation_w);
  } else {
    append_args(args, conv.r, conv.s, conv.ow(), pitch, conv.stride_h, conv.stride_w,
                conv.dilation_h, conv.dilation_w);
  }
  append_args(args, conv.pad_t, conv.pad_l, each);
  if (!rows) append_args(args, product.plane);
  return group_launch("conv2d_move.cl", rows ? "conv2d_move_rows" : "conv2d_move_maps",
                      group_options(conv.dtype, {lx, ly}), {lx, ly}, vectors, blocks, conv.n,
                      std::move(args));
}

/// The launch that packs the weights, and their buffer.
void add_packed_weights(const Product& product, const ProductCut& cut, Plan& plan) {
  const int taps = product.planes * product.taps;
  const int lx = std::max(cut.lx * kTile / cut.channels, 1), ly = cut.fours();
  plan.buffers.push_back(packed_w(packed_bytes(product, cut.fours())));
  plan.pack.push_back(
      group_launch("conv2d_product.cl", "conv2d_product_pack",
                   group_options(product.kind.dtype, {lx, ly}) + sums_option(product.kind.acc),
                   {lx, ly}, taps, ceil_div(product.k, kTile), product.groups,
                   arg_list("w", "w_packed", product.k, product.planes, cut.range, product.taps,
                            product.columns)));
}

template <bool rows>
void plan_product(const Request& request, Plan& plan) {
  const Choice choice = choose_form(form_of<rows>(request), request);
  const Product& product = choice.product;
  add_packed_weights(product, choice.cut, plan);
  const bool moves = choice.form != Form::x;
  if (moves) {
    plan.buffers.push_back(scratch("planes", product.elements() * size_of(product.kind.dtype)));
    plan.launches.push_back(moving_launch(request, choice));
  }
  plan.launches.push_back(product_launch(request, product, choice.cut, moves ? "planes" : "x"));
  plan.clocks = choice.clocks;
}

template <bool rows>
std::vector<ProductCut> cuts_of(const Request& request) {
  const Form form = form_of<rows>(request);
  return product_cuts(product_of(form, request.problem, request.device), request);
}

template <bool rows>
Variant variant(const char* name, const char* about) {
  return {name,
          about,
          refuses_product<rows>,
          planned(plan_product<rows>),
          nullptr,
          tilings(cuts_of<rows>)};
}

}  // namespace

Variant product() {
  return variant<false>("conv2d_product",
                        "any filter, as a product of weights and planes; weights packed once");
}

Variant product_rows() {
  return variant<true>("conv2d_product_rows",
                       "a filter of several taps, whose rows are moved; the same");
}

}  // namespace clam::conv2d_plan
