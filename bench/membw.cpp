// SPDX-License-Identifier: Apache-2.0
// Bytes copied a second (each is read once and written once) against the number of copying cores, for sizes within and
// beyond the caches, kinds of pages, ways of copying, and NUMA nodes of cores and memory where there are several.
#include <algorithm>
#include <barrier>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <hwloc.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <fmt/format.h>

#include "plait/base/topology.hpp"
#include "plait/task/copy.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20U;
constexpr std::size_t huge_page = 2 * mebibyte;
constexpr std::size_t measured_bytes_min = 128 * mebibyte;  // by one measurement: smaller copies are repeated

/// The machine's caches and memory.
class Machine {
 public:
  Machine() {
    hwloc_topology_init(&topology_);
    hwloc_topology_load(topology_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { hwloc_topology_destroy(topology_); }

  [[nodiscard]] std::size_t largest_cache() const {
    std::size_t largest = 0;
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE}) {
      for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(topology_, type, cache)) != nullptr;) {
        largest = std::max(largest, static_cast<std::size_t>(cache->attr->cache.size));
      }
    }
    return largest;
  }

  [[nodiscard]] int node_count() const { return std::max(1, hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_NUMANODE)); }

  /// The usable cores of NUMA node `node`.
  [[nodiscard]] std::vector<int> cores_of(int node) const {
    const hwloc_obj_t place = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(node));
    std::vector<int> cores = plait::usable_cores();
    if (place != nullptr) {
      std::erase_if(cores,
                    [&](int core) { return hwloc_bitmap_isset(place->cpuset, static_cast<unsigned>(core)) == 0; });
    }
    return cores;
  }

  /// Pages of this memory come from NUMA node `node`, or, for -1, from all in turn.
  void place(void* memory, std::size_t bytes, int node) const {
    const hwloc_obj_t place =
        node < 0 ? nullptr : hwloc_get_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(node));
    const hwloc_const_bitmap_t nodes =
        place != nullptr ? place->nodeset : hwloc_topology_get_topology_nodeset(topology_);
    const hwloc_membind_policy_t policy = place != nullptr ? HWLOC_MEMBIND_BIND : HWLOC_MEMBIND_INTERLEAVE;
    (void)hwloc_set_area_membind(topology_, memory, bytes, nodes, policy, HWLOC_MEMBIND_BYNODESET);
  }

 private:
  hwloc_topology_t topology_ = nullptr;
};

/// Memory on pages of one kind.
class Pages {
 public:
  Pages(const Machine& machine, const std::string& kind, std::size_t bytes, int node)
      : bytes_{(bytes + huge_page - 1) / huge_page * huge_page} {
    const int huge = kind == "explicit" ? MAP_HUGETLB : 0;
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | huge, -1, 0);
    if (memory == MAP_FAILED) {
      return;
    }
    memory_ = static_cast<std::byte*>(memory);
    if (huge == 0) {
      (void)madvise(memory, bytes_, kind == "thp" ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    }
    if (machine.node_count() > 1) {
      machine.place(memory, bytes_, node);
    }
    std::memset(memory, 1, bytes_);  // has the system provide them now
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (memory_ != nullptr) {
      munmap(memory_, bytes_);
    }
  }

  [[nodiscard]] std::byte* data() const { return memory_; }

 private:
  std::size_t bytes_;
  std::byte* memory_ = nullptr;
};

/// Two of them, to copy from one to the other.
struct Memory {
  Memory(const Machine& machine, const std::string& kind, std::size_t bytes, int node)
      : from{machine, kind, bytes, node}, to{machine, kind, bytes, node} {}
  [[nodiscard]] bool is_there() const { return from.data() != nullptr && to.data() != nullptr; }
  Pages from;
  Pages to;
};

using Copy = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

void copy_plainly(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

#ifdef __SSE2__
/// Past the caches. Expects: both are whole lines of 64 bytes.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64) {
    const auto* const in = reinterpret_cast<const __m128i*>(from + at);
    auto* const out = reinterpret_cast<__m128i*>(to + at);
    const __m128i first = _mm_load_si128(in);
    const __m128i second = _mm_load_si128(in + 1);
    const __m128i third = _mm_load_si128(in + 2);
    const __m128i fourth = _mm_load_si128(in + 3);
    _mm_stream_si128(out, first);
    _mm_stream_si128(out + 1, second);
    _mm_stream_si128(out + 2, third);
    _mm_stream_si128(out + 3, fourth);
  }
  _mm_sfence();
}
const std::vector<std::pair<std::string, Copy>> ways{{"memcpy", copy_plainly}, {"streaming", copy_streaming}};
#else
const std::vector<std::pair<std::string, Copy>> ways{{"memcpy", copy_plainly}};
#endif

/// Gigabytes a second that `cores` copy together, each a part of `bytes`.
double measure(const Memory& memory, std::size_t bytes, Copy copy, const std::vector<int>& cores) {
  const std::size_t part = bytes / cores.size() / 64 * 64;
  const std::size_t rounds = std::max<std::size_t>(1, measured_bytes_min / bytes);
  double seconds = 0;
  bench::Stopwatch watch;
  bool is_end = false;
  std::barrier together{static_cast<std::ptrdiff_t>(cores.size()), [&]() noexcept {
                          seconds = watch.seconds();
                          if (!is_end) {
                            watch = {};
                          }
                          is_end = true;
                        }};
  const auto work = [&](std::size_t index) {
    plait::bind_to_core(cores[index]);
    std::byte* const to = memory.to.data() + index * part;
    const std::byte* const from = memory.from.data() + index * part;
    copy(to, from, std::min(part, mebibyte));  // wakes the core up
    together.arrive_and_wait();
    for (std::size_t round = 0; round < rounds; ++round) {
      copy(to, from, part);
    }
    together.arrive_and_wait();
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t index = 0; index < cores.size(); ++index) {
      threads.emplace_back(work, index);
    }
  }
  return static_cast<double>(part * cores.size() * rounds) / seconds * 1e-9;
}

struct Case {
  std::string size;
  std::size_t bytes;
  std::string pages;
  std::string way;
  Copy copy;
  std::vector<int> cores;
  std::string nodes;  ///< Of cores and memory; empty for all cores and all memory.
  std::shared_ptr<Memory> memory;

  /// All but the number of cores.
  [[nodiscard]] std::string curve() const { return fmt::format("{}, {} pages, {}{}", size, pages, way, nodes); }
};

std::string size_name(std::size_t bytes) {
  return fmt::format("{} MiB", bytes / mebibyte);
}

/// More than the caches hold together, as far as memory goes.
std::size_t bytes_beyond_caches(const Machine& machine, bench::Report& report) {
  const auto free =
      static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t wanted = std::max(128 * mebibyte, 2 * machine.largest_cache());
  const std::size_t bytes = std::min(wanted, free / 16) / huge_page * huge_page;
  if (bytes < wanted) {
    report.note(fmt::format("The largest size is {} and not {}, as memory is short: it may fit into the last cache.",
                            size_name(bytes),
                            size_name(wanted)));
  }
  return std::max(bytes, 16 * mebibyte);
}

class Bandwidth {
 public:
  Bandwidth(bench::Report& report, const Machine& machine)
      : report_{report}, machine_{machine}, beyond_{bytes_beyond_caches(machine, report)} {}

  void run() {
    for (const std::string pages : {"4k", "thp", "explicit"}) {
      add_curves(pages, plait::usable_cores(), "", -1);
    }
    if (machine_.node_count() == 1) {
      report_.note("This machine shows one NUMA node: there is no farther memory to compare with.");
    }
    for (int node = 0; machine_.node_count() > 1 && node < machine_.node_count(); ++node) {
      for (int memory = 0; memory < machine_.node_count(); ++memory) {
        add_curves(
            "thp", machine_.cores_of(node), fmt::format(", cores of node {}, memory of {}", node, memory), memory);
      }
    }
    for (int repetition = 0; repetition < (report_.is_full() ? 15 : 5); ++repetition) {
      for (std::size_t index = 0; index < cases_.size(); ++index) {
        const Case& what = cases_[index];
        values_[index].push_back(measure(*what.memory, what.bytes, what.copy, what.cores));
      }
    }
    tell();
  }

 private:
  void add_curves(const std::string& pages, const std::vector<int>& cores, const std::string& nodes, int node) {
    const auto memory = std::make_shared<Memory>(machine_, pages, beyond_, node);
    if (!memory->is_there()) {
      report_.note(fmt::format(
          "No {} huge pages here: reserve {} of them in vm.nr_hugepages to see them.", pages, 2 * beyond_ / huge_page));
      return;
    }
    // 1 MiB from and to fit into a second-level cache, 16 MiB into a third.
    for (const std::size_t bytes : {mebibyte, 16 * mebibyte, beyond_}) {
      for (const auto& [name, copy] : ways) {
        for (std::size_t count = 1; count <= cores.size(); ++count) {
          const std::vector<int> some{cores.begin(), cores.begin() + static_cast<std::ptrdiff_t>(count)};
          cases_.push_back({size_name(bytes), bytes, pages, name, copy, some, nodes, memory});
        }
      }
    }
    values_.resize(cases_.size());
  }

  void tell() {
    std::map<std::string, std::vector<double>> curves;
    std::vector<std::string> order;
    for (std::size_t index = 0; index < cases_.size(); ++index) {
      const Case& what = cases_[index];
      const bench::Spread spread = values_[index];
      std::vector<double>& curve = curves[what.curve()];
      if (curve.empty()) {
        order.push_back(what.curve());
      }
      curve.push_back(*std::ranges::max_element(values_[index]));  // others may have disturbed the rest
      const bool is_peer = what.way == "memcpy" && what.pages == "4k" && what.nodes.empty() && curve.size() == 1;
      if (is_peer) {
        plain_[what.size] = spread.median;
      }
      const auto plain = plain_.find(what.size);
      bench::Row row{what.size + ", " + what.way + what.nodes,
                     {{"pages", what.pages}, {"cores", std::to_string(what.cores.size())}},
                     spread,
                     "GB/s"};
      if (!is_peer && plain != plain_.end()) {
        row.peer = "memcpy, 4k pages, 1 core";
        row.peer_value = plain->second;
      }
      report_.add(row);
    }
    for (const std::string& name : order) {
      const std::vector<double>& curve = curves[name];
      const std::uint32_t worth = plait::task::cores_worth_using(curve);
      report_.note(
          fmt::format("{}: {} of {} cores are worth using ({:.1f} of {:.1f} GB/s, the best of all repetitions)",
                      name,
                      worth,
                      curve.size(),
                      curve[worth - 1],
                      *std::ranges::max_element(curve)));
    }
    report_.note(fmt::format("Measured by the library in this run: a copy is divided among at most {} cores.",
                             plait::task::measure_copy_limits(plait::usable_core_count()).core_count_max));
  }

  bench::Report& report_;
  const Machine& machine_;
  std::size_t beyond_;
  std::vector<Case> cases_;
  std::vector<std::vector<double>> values_;  ///< By case.
  std::map<std::string, double> plain_;      ///< By size.
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "membw", "few cores fill the memory's bandwidth: how many are worth copying with", 1, argc, argv};
  const Machine machine;
  Bandwidth{report, machine}.run();
  report.finish();
}
