// SPDX-License-Identifier: MIT
// Clocks that are held at their top, on a made-up sysfs: they are put back whatever ends the
// program.
#include "machine/pinned_clocks.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "clam/error.hpp"
#include "run_clam.hpp"
#include "scripted.hpp"

namespace clam::test {
namespace {

/// An RK3588 as it is left to its governors.
class Sysfs {
 public:
  Sysfs() {
    put(kGpu + "cur_freq", "300000000");
    put(kGpu + "min_freq", "300000000");
    put(kGpu + "max_freq", "1000000000");
    put(kGpu + "available_frequencies", "1000000000 600000000 300000000");
    put(kGpu + "available_governors", "userspace powersave performance simple_ondemand");
    put(kGpu + "governor", "simple_ondemand");
    put(kMemory + "cur_freq", "528000000");
    put(kMemory + "max_freq", "2112000000");
    put(kMemory + "available_governors", "dmc_ondemand userspace performance");
    put(kMemory + "governor", "userspace");
    put(kMemory + "userspace/set_freq", "528000000");
    put(kCpu + "scaling_governor", "schedutil");
    put(kCpu + "cpuinfo_max_freq", "2400000");
  }
  void put(const std::string& path, const std::string& value) const {
    std::filesystem::create_directories(
        std::filesystem::path(machine_.real_path(path)).parent_path());
    write_file(machine_.real_path(path), value);
  }
  const Machine& machine() const { return machine_; }
  std::vector<ClockDomain> domains() const { return Board(machine_).domains(); }
  std::string get(const std::string& path) const { return machine_.text(path).value_or(""); }
  /// All that a run changes.
  std::string state() const {
    return get(kGpu + "governor") + " " + get(kMemory + "governor") + " " +
           get(kMemory + "userspace/set_freq") + " " + get(kCpu + "scaling_governor");
  }

  const std::string kGpu = "/sys/class/devfreq/fb000000.gpu/", kMemory = "/sys/class/devfreq/dmc/",
                    kCpu = "/sys/devices/system/cpu/cpufreq/policy4/";

 private:
  TemporaryFolder folder_;
  Machine machine_{folder_.path()};
};

const char* kBefore = "simple_ondemand userspace 528000000 schedutil";
const char* kHeld = "performance performance 528000000 performance";

TEST(pinned_clocks, are_held_for_a_while) {
  const Sysfs sysfs;
  const std::vector<ClockDomain> domains = sysfs.domains();
  ASSERT_EQ(domains.size(), 3u);
  EXPECT_EQ(domains[0].text(), "the governor of the GPU is simple_ondemand, at 300 of 1000 MHz");
  EXPECT_EQ(domains[1].text(), "the governor of the memory is userspace, at 528 of 2112 MHz");
  EXPECT_EQ(domains[2].name, "the CPU's policy4");
  {
    const PinnedClocks pinned(sysfs.machine(), domains);
    EXPECT_EQ(sysfs.state(), kHeld);
    EXPECT_TRUE(Board(sysfs.machine()).unpinned().empty());
  }
  EXPECT_EQ(sysfs.state(), kBefore);
}

TEST(pinned_clocks, a_clock_that_stands_at_its_top_is_left_alone) {
  const Sysfs sysfs;
  sysfs.put(sysfs.kMemory + "userspace/set_freq", "2112000000");
  sysfs.put(sysfs.kMemory + "cur_freq", "2112000000");
  const PinnedClocks pinned(sysfs.machine(), sysfs.domains());
  EXPECT_EQ(sysfs.get(sysfs.kMemory + "governor"), "userspace");
}

TEST(pinned_clocks, a_phone_without_governors_is_held_by_its_least_clock) {
  const TemporaryFolder folder;
  const Machine machine(folder.path());
  const std::string gpu = "/sys/devices/platform/28000000.mali/";
  std::filesystem::create_directories(machine.real_path(gpu));
  for (const auto& [file, value] : {std::pair("cur_freq", "202000"),
                                    {"scaling_min_freq", "202000"},
                                    {"available_frequencies", "848000 471000 202000"}}) {
    write_file(machine.real_path(gpu + file), value);
  }
  const std::vector<ClockDomain> domains = Board(machine).domains();
  ASSERT_EQ(domains.size(), 1u);
  EXPECT_EQ(domains[0].text(), "the clock of the GPU is not held, at 202 of 848 MHz");
  {
    const PinnedClocks pinned(machine, domains);
    EXPECT_EQ(machine.text(gpu + "scaling_min_freq"), "848000");
  }
  EXPECT_EQ(machine.text(gpu + "scaling_min_freq"), "202000");
}

TEST(pinned_clocks, a_file_that_cannot_be_written_is_named_and_the_others_are_put_back) {
  const Sysfs sysfs;
  std::filesystem::remove(sysfs.machine().real_path(sysfs.kCpu + "scaling_governor"));
  std::vector<ClockDomain> domains = sysfs.domains();
  domains.back().pins = {{sysfs.kCpu + "scaling_governor/none", "performance"}};
  domains.back().pinned = false;
  try {
    const PinnedClocks pinned(sysfs.machine(), domains);
    FAIL() << "it was written";
  } catch (const IoError& error) {
    EXPECT_TRUE(contains(error.what(), "sudo tee " + domains.back().pins[0].file)) << error.what();
  }
  EXPECT_EQ(sysfs.get(sysfs.kGpu + "governor"), "simple_ondemand");
}

/// A program that holds the clocks is sent that signal after so many microseconds. Returns when it
/// has ended, and its guard too: both are children of a process of their own.
void end_by(int signal, unsigned after_us, const Machine& machine,
            const std::vector<ClockDomain>& domains) {
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // Drivers have handlers, which would swallow one that comes early.
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    const pid_t program = ::fork();
    if (program == 0) {
      for (int each = 1; each < 32; ++each) ::signal(each, SIG_DFL);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      const PinnedClocks pinned(machine, domains);
      for (;;) ::pause();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(after_us));
    ::kill(program, signal);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    ::_exit(0);
  }
  ::waitpid(parent, nullptr, 0);
}

TEST(pinned_clocks, are_put_back_whatever_signal_ends_the_program) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed()));
  for (const int signal :
       {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGUSR1,
        SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU}) {
    for (int i = 0; i < 3; ++i) {
      const Sysfs sysfs;
      // At any moment: before, while and after the clocks are set.
      end_by(signal, random() % 3000, sysfs.machine(), sysfs.domains());
      EXPECT_EQ(sysfs.state(), kBefore) << signal;
    }
  }
}

TEST(pinned_clocks_scripted, the_benchmark_says_what_is_not_held_and_holds_it) {
  CLAM_NEEDS_DEVICE();
  const Sysfs sysfs;
  std::vector<std::string> environment = scripted::on();
  environment.push_back("CLAM_MACHINE=" + sysfs.machine().real_path(""));
  environment.push_back("CLAM_OPENCL=" CLAM_SCRIPTED_OPENCL_DIR "/libOpenCL.so.1");
  const TemporaryFolder folder;
  const std::vector<std::string> words = {CLAM_BENCH_BINARY, "--quick",
                                          "--problem",       "softmax shape=8x64 dtype=f32",
                                          "--json",          folder.file("r.json")};
  const Finished moving = run_command(words, environment);
  EXPECT_TRUE(contains(moving.out,
                       "the governor of the GPU is simple_ondemand, at 300 of 1000 MHz: times "
                       "may be longer than they need be; hold the clocks: tools/bench --pin\n"))
      << moving.out;
  const Finished page = run_clam({"report", folder.file("r.json"), "-o", folder.file("r.html")});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_TRUE(
      contains(read_file(folder.file("r.html")), "Not held at its top: the governor of the GPU"));
  std::vector<std::string> pinned = words;
  pinned.push_back("--pin");
  const Finished held = run_command(pinned, environment);
  EXPECT_EQ(held.code, 0) << held.err;
  EXPECT_FALSE(contains(held.out, "the governor of")) << held.out;
  EXPECT_EQ(sysfs.state(), kBefore);
}

}  // namespace
}  // namespace clam::test
