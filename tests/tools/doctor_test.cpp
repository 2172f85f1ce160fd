// SPDX-License-Identifier: MIT
// clam doctor on 14 made-up boards, each as it should be and with each of its parts broken: it says
// what is wrong and what to type. The boards are as real images were seen; none of them is a real
// one.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "c_compiler.hpp"
#include "made_up_machine.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

const std::string
    kDevices = "/sys/devices/platform/",
    kVendors = "/etc/OpenCL/vendors/", kFirmware = "/lib/firmware/arm/mali/arch10.8/mali_csffw.bin",
    kDdk =
        "ERROR: The DDK (built for 0x70020000 r1p0 status range [0..15]) is not compatible "
        "with this Mali GPU device, /dev/mali0 detected as 0x7212 r0p0 status 0.";

/// A machine, or what is another on it. Keys: files (text by path; null: not there), links,
/// libraries (the definition of fake.c, or "opencl"), closed (a path), device and lies of the
/// script, environment.
using Parts = json;

/// A way to break a board, and what the doctor must say: the finding, its command, and findings
/// that follow from it.
struct Broken {
  std::string what, id, command;
  Parts change;
  std::vector<std::string> also{};
};

struct Image {
  std::string name;
  Parts parts;
  std::vector<std::string> notes;  ///< of the board as it should be
  std::vector<Broken> broken;
};

/// Objects in objects too; null stays, for what is to be taken away later.
void add(Parts& sum, const Parts& more) {
  for (const auto& [key, value] : more.items()) {
    if (value.is_object() && sum.contains(key)) {
      add(sum[key], value);
    } else {
      sum[key] = value;
    }
  }
}

Parts together(std::initializer_list<Parts> all) {
  Parts sum = json::object();
  for (const Parts& each : all) add(sum, each);
  return sum;
}

Parts files(json text_by_path) { return {{"files", std::move(text_by_path)}}; }
Parts libraries(json by_path) { return {{"libraries", std::move(by_path)}}; }
Parts without(const std::vector<std::string>& paths) {
  Parts parts = {
      {"files", json::object()}, {"links", json::object()}, {"libraries", json::object()}};
  for (const std::string& path : paths) {
    for (auto& part : parts) part[path] = nullptr;
  }
  return parts;
}

// ---- parts of boards ----

Parts tree(const std::string& model, const std::string& compatible) {
  return files({{"/proc/device-tree/model", model}, {"/proc/device-tree/compatible", compatible}});
}

/// A clock of devfreq; Hz.
Parts clock(const std::string& name, const std::string& top,
            const std::string& governor = "performance") {
  const std::string folder = "/sys/class/devfreq/" + name + "/";
  return files(
      {{folder + "cur_freq", top},
       {folder + "max_freq", top},
       {folder + "min_freq", "300000000"},
       {folder + "governor", governor},
       {folder + "available_governors", "userspace powersave performance simple_ondemand"}});
}

Parts kbase(const std::string& device, const std::string& version,
            const std::string& module = "mali_kbase") {
  return {{"files", {{"/dev/mali0", ""}, {"/sys/module/" + module + "/version", version}}},
          {"links", {{kDevices + device + "/driver", "../../../bus/platform/drivers/mali"}}}};
}

Parts drm(const std::string& device, const std::string& driver) {
  const std::string link = "../../../bus/platform/drivers/" + driver;
  return {
      {"files", {{"/dev/dri/renderD128", ""}}},
      {"links",
       {{kDevices + device + "/driver", link}, {"/sys/class/drm/renderD128/device/driver", link}}}};
}

Parts arm(const std::string& name, const std::string& version, json more = json::object()) {
  json device = {{"name", name},
                 {"vendor", "ARM"},
                 {"platform", "ARM Platform"},
                 {"version", version},
                 {"extensions", "cl_khr_fp16"},
                 {"type", "gpu"}};
  device.update(more);
  return {{"device", device}};
}

Parts rusticl(const std::string& name) {
  return {{"device",
           {{"name", name},
            {"vendor", "Mesa"},
            {"platform", "rusticl"},
            {"version", "OpenCL 3.0 "},
            {"extensions", "cl_khr_fp16"},
            {"type", "gpu"}}},
          {"environment", {{"RUSTICL_ENABLE", "panfrost"}}},
          {"files",
           {{kLibs + "libRusticlOpenCL.so.1", ""},
            {kVendors + "rusticl.icd", "libRusticlOpenCL.so.1"}}},
          {"libraries", {{kLibs + "libOpenCL.so.1", "opencl"}}}};
}

/// A loader, a libmali, and the file that leads from one to the other.
struct Blob {
  std::string package;  ///< the command's; empty: no package is known
  std::string libmali = kLibs + "libmali.so.1", loader = kLibs + "libOpenCL.so.1",
              icd = kVendors + "mali.icd", names = "libmali.so.1";

  Parts parts() const {
    Parts all = libraries({{libmali, "opencl"}});
    if (!loader.empty()) all["libraries"][loader] = "opencl";
    if (!icd.empty()) all["files"][icd] = names;
    return all;
  }
  /// The loader finds nothing, and libmali is that.
  Parts with(const std::string& define) const {
    Parts all = libraries({{libmali, define}});
    if (!loader.empty()) all["libraries"][loader] = "NO_PLATFORM";
    return all;
  }
  std::string install() const {
    return package.empty() ? "apt-cache search libmali" : "sudo apt install " + package;
  }
};

// ---- what can be wrong ----

const Parts kNoFp16 = {{"device", {{"extensions", "cl_khr_byte_addressable_store"}}}};
const char* kPin = "tools/bench --pin --quick";

std::vector<Broken> arms(const Blob& blob, const Parts& slow_clock) {
  std::vector<Broken> all = {
      {"no device node",
       "no-node",
       "docker run --device /dev/mali0 ...",
       together({blob.with("NO_PLATFORM"), without({"/dev/mali0"})}),
       {"no-device"}},
      {"a node for others",
       "node-closed",
       "sudo usermod -aG video $USER && exec su - $USER",
       together({blob.with("NO_PLATFORM"), {{"closed", "/dev/mali0"}}}),
       {"node-closed"}},
      {"no libmali", "no-libmali", blob.install(),
       together({blob.with("NO_PLATFORM"), without({blob.libmali, blob.icd})})},
      {"a libmali for graphics", "graphics-only", blob.install(), blob.with("GLES_ONLY")},
      {"a libmali for another GPU", "crash", blob.install(), blob.with("ABORTS=\"" + kDdk + "\"")},
      {"a kernel driver of another release", "crash", blob.install(),
       blob.with(
           "ABORTS=\"file /dev/mali0 is not of a compatible version (user 10.6, kernel 11.7)\"")},
      {"no fp16", "no-fp16", "clam verify \"softmax shape=4x192 dtype=f32\"", kNoFp16},
      {"kernels that do nothing",
       "self-test",
       "clam record \"softmax shape=64x192 dtype=f32\" -o case",
       {{"lies",
         {scripted::lie("clEnqueueNDRangeKernel", "nothing", {{"kernel", "softmax_*"}})}}}}};
  if (!slow_clock.empty())
    all.push_back({"a governor that saves power", "unpinned", kPin, slow_clock});
  if (blob.icd.empty()) return all;
  const std::string mended = fmt::format("echo {} | sudo tee {}", blob.libmali, blob.icd);
  for (const auto& [id, names] :
       {std::pair("icd-names-nothing", "libMaliOpenCL.so.7"), std::pair("icd-empty", "")}) {
    Parts change = blob.with("opencl");  // which is found without that file
    change["files"][blob.icd] = names;
    all.push_back({"a useless .icd file", id, mended, change, {"no-icd"}});
  }
  return all;
}

std::vector<Broken> mesas(const std::string& device, const std::string& driver,
                          const std::string& clock_name, const std::string& firmware = "") {
  const std::string node = "/dev/dri/renderD128", loader = kLibs + "libOpenCL.so.1",
                    own = kLibs + "libRusticlOpenCL.so.1", icd = kVendors + "rusticl.icd";
  const Parts none = libraries({{loader, "NO_PLATFORM"}}),
              empty = libraries({{loader, "NO_DEVICE"}});
  const Parts unbound = together(
      {empty,
       without({kDevices + device + "/driver", node, "/sys/class/drm/renderD128/device/driver"}),
       files({{kDevices + device + "/uevent", ""}})});
  const Parts ddk = libraries({{kLibs + "libmali.so.1",
                                "ABORTS=\"ERROR: The DDK is not compatible with "
                                "any of the Mali GPUs on the system.\""}});
  const char* install = "sudo apt install mesa-opencl-icd";
  std::vector<Broken> all = {
      {"no driver took the GPU", "no-driver", "sudo modprobe " + driver, unbound, {"no-opencl"}},
      {"a node for others",
       "node-closed",
       "sudo usermod -aG render $USER && exec su - $USER",
       together({empty, {{"closed", node}}}),
       {"node-closed"}},
      {"no device node",
       "no-node",
       "docker run --device /dev/dri ...",
       together({empty, without({node})}),
       {"rusticl-old"}},
      {"no rusticl", "no-rusticl", install, together({none, without({own, icd})})},
      {"a libmali in place of rusticl", "wrong-driver", install,
       together({none, without({own, icd}), ddk})},
      {"rusticl that is not enabled", "rusticl-off", "export RUSTICL_ENABLE=panfrost",
       together({empty, {{"environment", {{"RUSTICL_ENABLE", ""}}}}})},
      {"an old rusticl", "rusticl-old", "sudo apt install -t stable-backports mesa-opencl-icd",
       empty},
      {"no fp16", "no-fp16", "export RUSTICL_FEATURES=fp16", kNoFp16},
      {"an .icd file of Clover", "icd-names-nothing", "sudo rm /etc/OpenCL/vendors/mesa.icd",
       files({{kVendors + "mesa.icd", "libMesaOpenCL.so.1"}})},
      {"a governor that saves power", "unpinned", kPin,
       clock(clock_name, "800000000", "simple_ondemand")}};
  if (!firmware.empty()) {
    all.push_back(
        {"no firmware",
         "no-firmware",
         "sudo install -D mali_csffw.bin /lib/firmware/arm/mali/arch10.8/mali_csffw.bin && sudo "
         "reboot",
         together({unbound, without({firmware})}),
         {"no-opencl"}});
  }
  return all;
}

std::vector<Broken> and_these(std::vector<Broken> all, const std::vector<Broken>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// ---- the boards ----

const Parts kRk3588 = together({tree("Orange Pi 5", "xunlong,orangepi-5 rockchip,rk3588s"),
                                clock("fb000000.gpu", "1000000000"), files({{kFirmware, ""}})});
const Parts kRk3566 = together(
    {tree("Radxa ZERO 3", "radxa,zero3 rockchip,rk3566"), clock("fde60000.gpu", "800000000")});
const Parts kRk3399 = together({tree("NanoPC-T4", "friendlyarm,nanopc-t4 rockchip,rk3399"),
                                clock("ff9a0000.gpu", "800000000")});
const char* kG610 = "libmali-valhall-g610-g13p0-x11-gbm";
const char* kG52 = "libmali-bifrost-g52-g13p0-x11-gbm";

Parts saving(const std::string& name) { return clock(name, "800000000", "simple_ondemand"); }

/// An image with Arm's driver.
Image blob_image(const std::string& name, const Parts& board, const Blob& blob, const Parts& device,
                 const Parts& slow_clock, std::vector<std::string> notes = {"known-faults"}) {
  return {name, together({board, blob.parts(), device}), std::move(notes), arms(blob, slow_clock)};
}

std::vector<Image> images_of_arm() {
  const json lodx = {{"vendor_id", 0xa8670000}, {"max_clock_mhz", 1000}};
  const std::string cix = "/opt/cixgpu-pro/lib/aarch64-linux-gnu/";
  const std::string cix_clock = "/sys/class/misc/mali0/device/devfreq/CIXH5000:00/";
  const Blob x11{kG610, kLibs + "libmali-x11/libmali-valhall-g610-g13p0-x11-wayland-gbm.so", "",
                 ""};
  const Blob mt8195{"", kLibs + "mt8195/lib/libmali.so.0.48.0", kLibs + "libOpenCL.so.1",
                    kVendors + "mali.icd", kLibs + "mt8195/lib/libmali.so.0.48.0"};
  const Blob mt8188{"", kLibs + "mt8188/OpenCL/libmali.so.0.48.0", kLibs + "libOpenCL.so.1",
                    kVendors + "libmali.icd", kLibs + "mt8188/OpenCL/libmali.so.0.48.0"};
  return {
      blob_image("Orange Pi 5, libmali g13p0 with an .icd file",
                 together({kRk3588, kbase("fb000000.gpu", "g13p0-01eac0 (UK version 1.17)")}),
                 {kG610}, arm("Mali-G610 r0p0", "OpenCL 3.0 v1.g13p0-01eac0.0123", lodx),
                 saving("fb000000.gpu")),
      blob_image("RK3588, Ubuntu with a vendor's kernel, libmali without an .icd file",
                 together({kRk3588, kbase("fb000000.gpu", "g18p0-01eac0 (UK version 1.25)")}), x11,
                 arm("Mali-LODX r0p0", "OpenCL 2.1 v1.g6p0-01eac0.2819", lodx),
                 saving("fb000000.gpu"), {"known-faults", "no-icd"}),
      blob_image("Radxa ROCK 5B, Debian 12, an overlay for Arm's driver",
                 together({tree("Radxa ROCK 5B", "radxa,rock-5b rockchip,rk3588"),
                           clock("fb000000.gpu-mali", "1000000000"), files({{kFirmware, ""}}),
                           kbase("fb000000.gpu-mali", "g24p0-00eac0", "bifrost_kbase")}),
                 {kG610}, arm("Mali-G610 r0p0", "OpenCL 3.0 v1.g24p0-00eac0.01", lodx),
                 saving("fb000000.gpu-mali")),
      blob_image("RK3566, a vendor's kernel, libmali",
                 together({kRk3566, kbase("fde60000.gpu", "g18p0-01eac0 (UK version 11.38)")}),
                 {kG52}, arm("Mali-G52 r1p0", "OpenCL 3.0 v1.g13p0-01eac0.02"),
                 saving("fde60000.gpu")),
      blob_image(
          "RK3576, a vendor's kernel, libmali",
          together({tree("NanoPi M5", "friendlyelec,nanopi-m5 rockchip,rk3576"),
                    clock("27800000.gpu", "950000000"), kbase("27800000.gpu", "g13p0-01eac0")}),
          {kG52}, arm("Mali-G52 r1p0", "OpenCL 3.0 v1.g13p0-01eac0.03"), saving("27800000.gpu")),
      blob_image("RK3399, kernel 4.4, libmali r18p0",
                 together({kRk3399, kbase("ff9a0000.gpu", "r18p0-01rel0 (UK version 11.1)")}),
                 {"libmali-midgard-t86x-r18p0-x11-gbm"},
                 arm("Mali-T860", "OpenCL 1.2 v1.r18p0-01rel0.04"), saving("ff9a0000.gpu")),
      blob_image(
          "Genio 1200, Ubuntu",
          together({tree("Genio 1200 EVK", "mediatek,mt8395 mediatek,mt8195"),
                    clock("13000000.gpu", "880000000"), kbase("13000000.gpu", "r38p1-01eac0")}),
          mt8195, arm("Mali-G57 r0p1", "OpenCL 3.0 v1.r38p1-01eac0.05"), saving("13000000.gpu"),
          {}),
      blob_image(
          "Genio 700, Ubuntu",
          together({tree("Genio 700 EVK", "mediatek,mt8390 mediatek,mt8188"),
                    clock("13000000.gpu", "880000000"), kbase("13000000.gpu", "r38p1-01eac0")}),
          mt8188, arm("Mali-G57 r0p1", "OpenCL 3.0 v1.r38p1-01eac0.06"), saving("13000000.gpu"),
          {}),
      blob_image(
          "CIX P1, Debian 12, a loader of its vendor",
          together({kbase("CIXH5000:00", "r49p0-00eac0"),
                    files({{"/etc/ld.so.conf.d/00-cixgpu-pro.conf", cix.substr(0, cix.size() - 1)},
                           {cix_clock + "cur_freq", "1000000000"},
                           {cix_clock + "max_freq", "1000000000"},
                           {cix_clock + "governor", "performance"},
                           {"/lib/firmware/arm/mali/arch12.8/mali_csffw.bin", ""}})}),
          {"", cix + "libmali.so.0.53.0", cix + "libOpenCL.so.1", ""},
          arm("Mali-G720-Immortalis", "OpenCL 3.0 v1.r49p0-00eac0.07"),
          files({{cix_clock + "governor", "simple_ondemand"}})),
      blob_image(
          "RZ/V2H, libmali r54p1",
          together({tree("Renesas RZ/V2H EVK", "renesas,rzv2h-evk renesas,r9a09g057"),
                    clock("14850000.gpu", "630000000"), kbase("14850000.gpu", "r54p1-11eac0")}),
          {"", kLibs + "libmali.so", kLibs + "libOpenCL.so.1", kVendors + "mali.icd", "libmali.so"},
          arm("Mali-G31 r0p0", "OpenCL 3.0 v1.r54p1-11eac0.08"), saving("14850000.gpu"), {}),
  };
}

/// A phone: no devfreq, no loader, and a library of its own kind.
Image pixel() {
  const std::string library = "/vendor/lib64/libOpenCL-pixel.so",
                    folder = kDevices + "1f000000.mali/";
  const std::string next = "NEXT=\"" CLAM_SCRIPTED_OPENCL_DIR "/libOpenCL.so.1\"";
  return {
      "Pixel 8, Android",
      together({tree("Pixel 8 Pro", "google,zuma"), kbase("1f000000.mali", "r46p0-01eac1"),
                files({{folder + "cur_freq", "848000"},
                       {folder + "available_frequencies", "848000 650000 202000"},
                       {folder + "scaling_min_freq", "848000"},
                       {folder + "scaling_max_freq", "848000"}}),
                libraries({{library, next}}), arm("Mali-G715", "OpenCL 3.0 v1.r46p0-01eac1.09")}),
      {"known-faults"},
      {{"a clock that moves", "unpinned", kPin,
        files({{folder + "scaling_min_freq", "202000"}, {folder + "cur_freq", "202000"}})},
       {"no library", "no-libmali", "apt-cache search libmali", without({library})},
       {"a node for others",
        "node-closed",
        "sudo usermod -aG video $USER && exec su - $USER",
        together({without({library}), {{"closed", "/dev/mali0"}}}),
        {"node-closed"}}}};
}

std::vector<Image> all_images() {
  std::vector<Image> all = images_of_arm();
  all[0].broken =
      and_these(all[0].broken,
                {{"a hot chip", "hot", "watch cat /sys/class/thermal/thermal_zone*/temp",
                  files({{"/sys/class/thermal/thermal_zone5/type", "gpu-thermal"},
                         {"/sys/class/thermal/thermal_zone5/temp", "84000"}})},
                 {"a clock of 5 MHz",
                  "clock-lies",
                  "clam probe info-lies",
                  {{"device", {{"max_clock_mhz", 5}}}}},
                 {"two loaders", "two-of-a-name", "export CLAM_OPENCL=" + kLibs + "libOpenCL.so.1",
                  together({files({{"/etc/ld.so.conf.d/00-other.conf", "/opt/other"}}),
                            libraries({{"/opt/other/libOpenCL.so.1", "NO_PLATFORM"}})})}});
  all.push_back(
      {"RK3588, a mainline kernel, panthor and rusticl",
       together({kRk3588, drm("fb000000.gpu", "panthor"), rusticl("Mali-G610 (Panfrost)")}),
       {"known-faults"},
       mesas("fb000000.gpu", "panthor", "fb000000.gpu", kFirmware)});
  all.push_back(
      {"RK3566, a mainline kernel, panfrost and rusticl",
       together({kRk3566, drm("fde60000.gpu", "panfrost"), rusticl("Mali-G52 r1 (Panfrost)")}),
       {"known-faults"},
       mesas("fde60000.gpu", "panfrost", "fde60000.gpu")});
  all.push_back(
      {"RK3399, a mainline kernel, panfrost and rusticl",
       together({kRk3399, drm("ff9a0000.gpu", "panfrost"), rusticl("Mali-T860 (Panfrost)")}),
       {"known-faults"},
       mesas("ff9a0000.gpu", "panfrost", "ff9a0000.gpu")});
  all.push_back(pixel());
  return all;
}

// ---- the examination ----

/// What is there of a kind of parts, by path.
std::map<std::string, std::string> those(const Parts& parts, const std::string& kind) {
  std::map<std::string, std::string> found;
  if (!parts.contains(kind)) return found;
  for (const auto& [path, value] : parts[kind].items()) {
    if (!value.is_null()) found[path] = value;
  }
  return found;
}

json examine(const Parts& parts) {
  MadeUpMachine machine;
  for (const auto& [path, text] : those(parts, "files")) machine.file(path, text);
  for (const auto& [path, target] : those(parts, "links")) machine.link(path, target);
  for (const auto& [path, define] : those(parts, "libraries")) {
    if (define == "opencl") {
      machine.opencl_library(path);
    } else {
      machine.fake_library(path, define);
    }
  }
  if (parts.contains("closed")) machine.close_to_user(parts["closed"]);
  json script = {{"device", parts.value("device", json::object())}};
  if (parts.contains("lies")) script["lies"] = parts["lies"];
  std::vector<std::string> environment = machine.on(script);
  environment.push_back("RUSTICL_ENABLE=");
  for (const auto& [name, value] : those(parts, "environment")) {
    environment.push_back(name + "=" + value);
  }
  const Finished finished = run_clam({"doctor", "--json", "-"}, environment);
  json answer = parse_out(finished);
  if (answer.is_null()) return json::object();
  EXPECT_EQ(finished.code, answer.value("faults", 0) > 0 ? 1 : 0) << finished.err;
  return answer;
}

/// The ids of what is not as it should be, sorted.
std::vector<std::string> ids(const json& answer) {
  std::vector<std::string> found;
  for (const json& finding : answer.value("findings", json::array())) {
    if (finding["level"] != "ok") found.push_back(finding["id"]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string command_of(const json& answer, const std::string& id) {
  for (const json& finding : answer.value("findings", json::array())) {
    if (finding["id"] == id) return finding["command"];
  }
  return "no such finding";
}

/// What is said of a broken board, less what belongs to a device that is shown no more.
void expect_found(const Image& image, const Broken& broken) {
  SCOPED_TRACE(broken.what);
  const json answer = examine(together({image.parts, broken.change}));
  EXPECT_EQ(command_of(answer, broken.id), broken.command) << answer["findings"].dump(1);
  std::vector<std::string> expected = broken.also;
  expected.push_back(broken.id);
  for (const std::string& note : image.notes) {
    const std::vector<std::string> now = ids(answer);
    const bool is_here = std::find(now.begin(), now.end(), note) != now.end();
    const bool is_expected = std::find(expected.begin(), expected.end(), note) != expected.end();
    if (is_here && !is_expected) expected.push_back(note);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(ids(answer), expected) << answer["findings"].dump(1);
}

void expect_whole(const Image& image) {
  const json answer = examine(image.parts);
  EXPECT_EQ(ids(answer), image.notes) << answer["findings"].dump(1);
  EXPECT_EQ(answer["faults"], 0);
}

class doctor_scripted : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    if (!has_compiler()) GTEST_SKIP() << "no C compiler with OpenCL here";
  }
};

TEST_F(doctor_scripted, boards_as_they_should_be_have_no_fault) {
  const std::vector<Image> images = all_images();
  EXPECT_EQ(images.size(), 14u);
  for (const Image& image : images) {
    SCOPED_TRACE(image.name);
    expect_whole(image);
  }
}

/// The kinds of board that differ most.
TEST_F(doctor_scripted, what_is_broken_on_a_board_is_named_with_its_command) {
  for (const Image& image : all_images()) {
    const bool is_first = image.name.find("Orange Pi 5") == 0;
    if (!is_first && image.name.find("panthor") == image.name.npos) continue;
    SCOPED_TRACE(image.name);
    for (const Broken& broken : image.broken) expect_found(image, broken);
  }
}

TEST_F(doctor_scripted, what_is_broken_on_any_board_is_named_with_its_command) {
  for (const Image& image : all_images()) {
    SCOPED_TRACE(image.name);
    for (const Broken& broken : test::of_this_run(image.broken)) expect_found(image, broken);
  }
}

TEST_F(doctor_scripted, the_page_is_for_people) {
  MadeUpMachine machine;
  const Finished finished = run_clam({"doctor"}, machine.on());
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(contains(finished.out, "FAULT OpenCL         no OpenCL device is shown\n"))
      << finished.out;
  EXPECT_TRUE(contains(finished.out, "type: sudo apt install pocl-opencl-icd\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "1 fault, 1 note\n")) << finished.out;
}

}  // namespace
}  // namespace clam::test
