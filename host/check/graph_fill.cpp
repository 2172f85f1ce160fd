// SPDX-License-Identifier: MIT
// graph_fill.cpp - inputs made up: random numbers, and what a detector predicts.
//
// ssd_anchors, ssd_scores and ssd_offsets go together: 6132 anchors of six maps over an image of
// 512 pixels, laid out as GluonCV's ssd_512_mobilenet1.0_voc has them; and predictions that find
// some 30 objects an image, each by the anchors that overlap it well. two_images makes descriptors
// and places of key points in two images of one scene.
#include "graph_fill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/ops/shared/proof.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam {
namespace {

// ---- random numbers ----

bool any_shape(const Shape&) { return true; }

/// Element i becomes value(random, i).
template <typename Value>
void draw(std::uint64_t own, HostTensor& tensor, const Value& value) {
  Random random(own);
  fill_tensor(tensor, random, value);
}

void normals(std::uint64_t own, std::uint64_t, HostTensor& tensor) { draw(own, tensor, normal); }

void uniform(std::uint64_t own, std::uint64_t, HostTensor& tensor) {
  draw(own, tensor, [](Random& random, std::int64_t) { return random.uniform(); });
}

void ones(std::uint64_t own, std::uint64_t, HostTensor& tensor) {
  draw(own, tensor, [](Random&, std::int64_t) { return 1; });
}

/// Weights [k, ...] after which a ReLU leaves the mean square of its inputs as it was: He et al.,
/// arXiv 1502.01852, formula 10.
void he(std::uint64_t own, std::uint64_t, HostTensor& tensor) {
  const double products = tensor.size() / tensor.shape()[0];
  const double deviation = std::sqrt(2 / products);
  draw(own, tensor, [&](Random& random, std::int64_t) { return deviation * random.normal(); });
}

// ---- key points of two images ----

bool is_of_two_images(const Shape& shape) { return shape.size() == 2 && shape[0] % 2 == 0; }

/// For each key point of the second image that of the first which shows the same thing; -1, one in
/// four, where none does. A shuffle of its own for every seed.
std::vector<std::int64_t> partners(std::int64_t points, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int64_t> order(points);
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    std::swap(order[i], order[random.integer(0, static_cast<int>(i))]);
  }
  for (std::size_t i = 3; i < order.size(); i += 4) order[i] = -1;
  return order;
}

/// The first half N(0,1); in the second, what shows the same thing has the same numbers and noise
/// of kNoise, and N(0,1) as deviation together.
void two_images(std::uint64_t own, std::uint64_t shared, HostTensor& tensor) {
  constexpr double kNoise = 0.5;
  const std::int64_t points = tensor.shape()[0] / 2, d = tensor.shape()[1];
  const std::vector<std::int64_t> order = partners(points, shared);
  Random random(own);
  for (std::int64_t i = 0; i < points * d; ++i) tensor.set(i, random.normal());
  for (std::int64_t i = 0; i < points * d; ++i) {
    const std::int64_t partner = order[i / d];
    const double fresh = random.normal();
    const double same = partner < 0 ? 0 : tensor.get(partner * d + i % d);
    const double noise = partner < 0 ? 1 : kNoise;
    tensor.set(points * d + i, std::sqrt(1 - noise * noise) * same + noise * fresh);
  }
}

// ---- a detector's predictions ----

constexpr std::int64_t kSide = 512, kAnchors = 6132;
constexpr std::int64_t kHeads = 25;  ///< of an anchor: 21 classes and 4 offsets
constexpr double kBackground = 8;    ///< by how much its score stands over the others

/// Centre and size, in pixels.
struct Box {
  double x, y, w, h;
};

/// Anchors of a map: at each place one of the map's size, one between it and the next map's, and
/// one for each further ratio of width to height.
void add_map(int map, std::vector<Box>& anchors) {
  constexpr double kSizes[] = {51.2, 102.4, 189.4, 276.4, 363.52, 450.6, 492};
  const std::vector<double> ratios =
      map >= 1 && map <= 3 ? std::vector<double>{2, 0.5, 3, 1.0 / 3} : std::vector<double>{2, 0.5};
  const int side = 32 >> map, step = 512 / side;
  const double size = kSizes[map], between = std::sqrt(size * kSizes[map + 1]);
  for (int place = 0; place < side * side; ++place) {
    const double x = (place % side + 0.5) * step, y = (place / side + 0.5) * step;
    anchors.push_back({x, y, size, size});
    anchors.push_back({x, y, between, between});
    for (const double ratio : ratios) {
      anchors.push_back({x, y, size * std::sqrt(ratio), size / std::sqrt(ratio)});
    }
  }
}

const std::vector<Box>& ssd_boxes() {
  static const std::vector<Box> anchors = [] {
    std::vector<Box> made;
    for (int map = 0; map < 6; ++map) add_map(map, made);
    return made;
  }();
  return anchors;
}

double overlap(const Box& a, const Box& b) {
  const auto shared = [](double x, double w, double other, double wide) {
    return std::max(0.0,
                    std::min(x + w / 2, other + wide / 2) - std::max(x - w / 2, other - wide / 2));
  };
  const double inter = shared(a.x, a.w, b.x, b.w) * shared(a.y, a.h, b.y, b.h);
  return inter / (a.w * a.h + b.w * b.h - inter);
}

/// An image's objects, their classes in [0, 1), and of each anchor the object that it overlaps
/// best.
struct Scene {
  struct Match {
    std::size_t object;
    double overlap;
    bool found() const { return overlap > 0.45; }
  };
  std::vector<Box> objects;
  std::vector<double> classes;
  std::vector<Match> matches;

  Scene(std::uint64_t seed, std::int64_t image) {
    constexpr int kObjects = 30;
    Random random(seed * 0x2545F491 + static_cast<std::uint64_t>(image));
    for (int i = 0; i < kObjects; ++i) {
      const double size = 40 * std::pow(7, random.uniform());  // 40 to 280
      const double stretch = std::pow(2, random.uniform() - 0.5);
      objects.push_back(
          {512 * random.uniform(), 512 * random.uniform(), size * stretch, size / stretch});
      classes.push_back(random.uniform());
    }
    for (const Box& anchor : ssd_boxes()) {
      Match best{0, 0};
      for (std::size_t i = 0; i < objects.size(); ++i) {
        const double here = overlap(anchor, objects[i]);
        if (here > best.overlap) best = {i, here};
      }
      matches.push_back(best);
    }
  }
};

bool is_of_anchors(const Shape& shape) {
  return shape.size() == 3 && shape[1] == kAnchors && shape[2] == 4;
}

bool is_of_classes(const Shape& shape) {
  return shape.size() == 3 && shape[1] == kAnchors && shape[2] > 1;
}

bool is_image(const Shape& shape) {
  return shape.size() == 4 && shape[2] == kSide && shape[3] == kSide;
}

bool is_of_heads(const Shape& shape) { return shape.size() == 1 && shape[0] % kHeads == 0; }

void ssd_anchors(std::uint64_t, std::uint64_t, HostTensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size() / 4; ++i) {
    const Box& box = ssd_boxes()[i % kAnchors];
    const double values[] = {box.x, box.y, box.w, box.h};
    for (int j = 0; j < 4; ++j) tensor.set(4 * i + j, values[j]);
  }
}

/// Calls visit(row, scene, anchor) for each anchor of each image; rows go on through all images.
template <typename Visit>
void for_each_anchor(std::uint64_t shared, std::int64_t images, const Visit& visit) {
  std::int64_t row = 0;
  for (std::int64_t image = 0; image < images; ++image) {
    const Scene scene(shared, image);
    for (std::size_t anchor = 0; anchor < scene.matches.size(); ++anchor) {
      visit(row++, scene, anchor);
    }
  }
}

/// The background stands over the noise of the other classes; where an anchor overlaps an object,
/// the object's class stands over that, the more the better they overlap.
void ssd_scores(std::uint64_t own, std::uint64_t shared, HostTensor& tensor) {
  const std::int64_t classes = tensor.shape()[2];
  Random random(own);
  for_each_anchor(shared, tensor.shape()[0], [&](auto row, const Scene& scene, auto anchor) {
    const Scene::Match& match = scene.matches[anchor];
    const double drawn = scene.classes[match.object];
    const std::int64_t wanted = 1 + static_cast<std::int64_t>(drawn * (classes - 1));
    for (std::int64_t c = 0; c < classes; ++c) {
      double score = random.normal() + (c == 0 ? kBackground : 0);
      if (match.found() && c == wanted) score += 2 + 12 * match.overlap;
      tensor.set(row * classes + c, score);
    }
  });
}

/// The objects as rectangles of one value in each colour, the later over the earlier, and noise. A
/// network of random weights averages plain noise away; the objects reach its last maps.
void ssd_image(std::uint64_t own, std::uint64_t shared, HostTensor& tensor) {
  const std::int64_t colours = tensor.shape()[1], pixels = kSide * kSide;
  Random random(own);
  for (std::int64_t plane = 0; plane < tensor.shape()[0] * colours; ++plane) {
    std::vector<double> values(pixels);
    const Scene scene(shared, plane / colours);
    for (const Box& box : scene.objects) {
      const double value = 2 * random.uniform() - 1;
      for (std::int64_t i = 0; i < pixels; ++i) {
        const bool inside =
            std::fabs(i % kSide - box.x) < box.w / 2 && std::fabs(i / kSide - box.y) < box.h / 2;
        if (inside) values[i] = value;
      }
    }
    for (std::int64_t i = 0; i < pixels; ++i) {
      tensor.set(plane * pixels + i, values[i] + 0.1 * random.normal());
    }
  }
}

/// Of heads whose channels are the 21 classes and the 4 offsets of one anchor after another.
void ssd_bias(std::uint64_t own, std::uint64_t, HostTensor& tensor) {
  draw(own, tensor, [](Random& random, std::int64_t i) {
    return 0.5 * random.normal() + (i % kHeads == 0 ? kBackground : 0);
  });
}

/// Offsets as training encodes them (variances .1 .1 .2 .2), with noise; small where nothing is.
void ssd_offsets(std::uint64_t own, std::uint64_t shared, HostTensor& tensor) {
  Random random(own);
  for_each_anchor(shared, tensor.shape()[0], [&](auto row, const Scene& scene, auto anchor) {
    const Scene::Match& match = scene.matches[anchor];
    const Box &from = ssd_boxes()[anchor], &to = scene.objects[match.object];
    const double exact[] = {(to.x - from.x) / from.w / 0.1, (to.y - from.y) / from.h / 0.1,
                            std::log(to.w / from.w) / 0.2, std::log(to.h / from.h) / 0.2};
    for (int j = 0; j < 4; ++j) {
      const double noise = 0.3 * random.normal();
      tensor.set(4 * row + j, noise + (match.found() ? exact[j] : 0));
    }
  });
}

/// FNV-1a: the same on every machine.
std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xCBF29CE484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return value;
}

}  // namespace

const std::vector<Fill>& all_fills() {
  static const std::vector<Fill> fills = {
      {"normal", "", any_shape, normals},   // N(0,1)
      {"uniform", "", any_shape, uniform},  // from 0 to 1
      {"ones", "", any_shape, ones},
      {"he", "", any_shape, he},  // N(0, 2 / products of a row)
      // Rows of key points: N(0,1), and three of four in the second image are of the first.
      {"two_images", "rows of two images, [2*n,d]", is_of_two_images, two_images},
      // Some 30 objects over nothing, in pixels.
      {"ssd_image", "batch x colours x 512 x 512", is_image, ssd_image},
      // The 6132 anchors of SSD 512, centre and size in pixels.
      {"ssd_anchors", "batch x 6132 x 4", is_of_anchors, ssd_anchors},
      // Class scores of these anchors: some 30 objects, else background.
      {"ssd_scores", "batch x 6132 x classes", is_of_classes, ssd_scores},
      // Of heads with 21 classes and 4 offsets an anchor: background nearly everywhere.
      {"ssd_bias", "a multiple of 25 channels", is_of_heads, ssd_bias},
      // Their offsets to the boxes of the objects.
      {"ssd_offsets", "batch x 6132 x 4", is_of_anchors, ssd_offsets}};
  return fills;
}

void check_fill(const std::string& graph, const std::string& name, const std::string& wanted,
                const Shape& shape) {
  const Fill* fill = find_by_name(all_fills(), wanted);
  throw_if(!fill, "{}: tensor '{}': unknown fill {}; there is {}", graph, name, in_quotes(wanted),
           fmt::join(names_of(all_fills()), " "));
  throw_if(!fill->fits(shape), "{}: tensor '{}': {} needs {}, not {}", graph, name, fill->name,
           fill->needs, to_string(shape));
}

void make_up(HostTensor& values, const std::string& name, const std::string& fill, double scale,
             std::uint64_t seed) {
  find_by_name(all_fills(), fill)->fill(seed ^ hash(name), seed, values);
  if (scale == 1) return;
  for (std::int64_t i = 0; i < values.size(); ++i) values.set(i, scale * values.get(i));
}

}  // namespace clam
