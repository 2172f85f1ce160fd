// SPDX-License-Identifier: MIT
#include "facts.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "runtime/text.hpp"

namespace clam::doctor {
namespace {

constexpr Soc kSocs[] = {
    {"rockchip,rk3588", "RK3588", "Mali-G610", "libmali-valhall-g610-g13p0-x11-gbm"},
    {"rockchip,rk3576", "RK3576", "Mali-G52", "libmali-bifrost-g52-g13p0-x11-gbm"},
    {"rockchip,rk3566", "RK3566", "Mali-G52", "libmali-bifrost-g52-g13p0-x11-gbm"},
    {"rockchip,rk3568", "RK3568", "Mali-G52", "libmali-bifrost-g52-g13p0-x11-gbm"},
    {"rockchip,rk3399", "RK3399", "Mali-T860", "libmali-midgard-t86x-r18p0-x11-gbm"},
    {"mediatek,mt8195", "MT8195", "Mali-G57", ""},
    {"mediatek,mt8395", "Genio 1200", "Mali-G57", ""},
    {"mediatek,mt8188", "MT8188", "Mali-G57", ""},
    {"mediatek,mt8390", "Genio 700", "Mali-G57", ""},
    {"amlogic,g12b", "S922X", "Mali-G52", ""},
    {"amlogic,sm1", "S905X3", "Mali-G31", ""},
    {"allwinner,sun50i-h616", "H616", "Mali-G31", ""},
    {"allwinner,sun50i-h618", "H618", "Mali-G31", ""},
    {"renesas,r9a09g057", "RZ/V2H", "Mali-G31", ""},
    {"hisilicon,kirin970", "Kirin 970", "Mali-G72", ""},
    {"hisilicon,hi3670", "Kirin 970", "Mali-G72", ""},
    {"google,gs101", "Tensor", "Mali-G78", ""},
    {"google,gs201", "Tensor G2", "Mali-G710", ""},
    {"google,zuma", "Tensor G3", "Mali-G715", ""},
    {"cix,sky1", "CIX P1", "Mali-G720", ""},
};
/// Of the last one. Booted by ACPI, it has no device tree.
constexpr const char* kCixDevice = "/sys/devices/platform/CIXH5000:00";

/// The device tree's words end with zeros: "rockchip,rk3588s" is an RK3588 too.
const Soc* soc_of(const Machine& machine) {
  std::string words = machine.text("/proc/device-tree/compatible").value_or("");
  std::replace(words.begin(), words.end(), '\0', ' ');
  for (const Soc& soc : kSocs) {
    if (words.find(soc.word) != std::string::npos) return &soc;
  }
  return machine.matching(kCixDevice).empty() ? nullptr : std::end(kSocs) - 1;
}

bool is_mali_driver(const std::string& name) {
  return name == "mali" || name == "panfrost" || name == "panthor";
}

/// The GPU among the devices, and who drives it.
void find_device(const Machine& machine, Facts& facts) {
  for (const char* pattern : {"/sys/devices/platform/*.gpu*", "/sys/devices/platform/*/*.gpu*",
                              "/sys/devices/platform/*.mali", kCixDevice}) {
    for (const std::string& folder : machine.matching(pattern)) {
      const std::string driver = machine.link_name(folder + "/driver");
      if (!driver.empty() && !is_mali_driver(driver)) continue;
      if (!facts.device.empty() && driver.empty()) continue;
      facts.device = folder.substr(folder.rfind('/') + 1);
      facts.driver = driver;
      if (!driver.empty()) return;
    }
  }
  if (facts.driver.empty() && machine.exists("/dev/mali0")) facts.driver = "mali";
}

/// Who this is, as the kernel says it.
struct User {
  unsigned id = 0;
  std::vector<unsigned> groups;
};

User user_of(const Machine& machine) {
  User user;
  std::istringstream lines(machine.text("/proc/self/status").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    unsigned real = 0, value = 0;
    if (key == "Uid:" && words >> real >> value) user.id = value;
    if (key == "Gid:" && words >> real >> value) user.groups.push_back(value);
    if (key != "Groups:") continue;
    while (words >> value) user.groups.push_back(value);
  }
  return user;
}

std::string group_name(const Machine& machine, unsigned id) {
  std::istringstream lines(machine.text("/etc/group").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const auto fields = split(line, ':');  // name, secret, number, members
    if (fields.size() > 2 && fields[2] == std::to_string(id)) return std::string(fields[0]);
  }
  return "";
}

Node node_of(const Machine& machine, const std::string& path, const User& user) {
  Node node{path, false, ""};
  struct stat file {};
  if (::stat(machine.real_path(path).c_str(), &file) != 0) return node;
  const bool member =
      std::find(user.groups.begin(), user.groups.end(), file.st_gid) != user.groups.end();
  const unsigned both = S_IROTH | S_IWOTH;
  const unsigned rights = user.id == file.st_uid ? file.st_mode >> 6
                          : member               ? file.st_mode >> 3
                                                 : file.st_mode;
  node.may_open = user.id == 0 || (rights & both) == both;
  if (((file.st_mode >> 3) & both) == both) node.group = group_name(machine, file.st_gid);
  return node;
}

std::vector<Node> nodes_of(const Machine& machine, const Facts& facts) {
  std::vector<Node> nodes;
  const User user = user_of(machine);
  if (facts.arms_driver() && machine.exists("/dev/mali0")) {
    nodes.push_back(node_of(machine, "/dev/mali0", user));
  }
  for (const std::string& render : machine.matching("/sys/class/drm/renderD*")) {
    if (!facts.mesas_driver()) continue;
    if (machine.link_name(render + "/device/driver") != facts.driver) continue;
    const std::string path = "/dev/dri/" + render.substr(render.rfind('/') + 1);
    if (machine.exists(path)) nodes.push_back(node_of(machine, path, user));
  }
  return nodes;
}

/// Of panthor, and of Arm's driver for the same GPUs.
bool has_firmware(const Machine& machine) {
  return machine.exists("/lib/firmware/mali_csffw.bin") ||
         !machine.matching("/lib/firmware/arm/mali/*/mali_csffw.bin*").empty();
}

}  // namespace

Facts read_facts(const Machine& machine) {
  Facts facts;
  facts.board = machine.text("/proc/device-tree/model").value_or("");
  facts.soc = soc_of(machine);
  find_device(machine, facts);
  for (const std::string& file : machine.matching("/sys/module/*kbase*/version")) {
    facts.version = machine.text(file).value_or("");
  }
  facts.nodes = nodes_of(machine, facts);
  const bool streams = facts.soc && (std::string(facts.soc->gpu) == "Mali-G610" ||
                                     std::string(facts.soc->gpu) == "Mali-G720");
  facts.lacks_firmware = streams && !has_firmware(machine);
  return facts;
}

}  // namespace clam::doctor
