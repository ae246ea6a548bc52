// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// Deferred tasks on values that are named by references before they exist. The permissions on each value order the
// tasks. Some values come from the other rank; some tasks run only if a value requires it.
#include <iostream>
#include <numeric>
#include <utility>
#include <vector>

#include "plait/plait.hpp"

namespace {

/// A segment of a rod; the collection has 16 of them.
struct Rod {
  std::vector<double> heat;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(heat);
  }
};

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};

  plait::Collection<Rod> rods{runtime, plait::Shape{16}, [](plait::ElementId id, plait::Index) {
                                return Rod{{static_cast<double>(id.value()), 0.5}};
                              }};
  plait::check_serialisation(rods);  // reports a rod that packing and unpacking changes
  rods.each([](Rod& rod) { rod.heat.push_back(1); });

  // A value that is computed later: tasks take it before it exists.
  plait::Work work{runtime};
  plait::Ref<std::vector<double>> heat = work([&rods] {
    std::vector<double> of_rods;
    for (const auto& [id, rod] : rods.local()) {
      of_rods.push_back(sum(rod.heat));
    }
    return of_rods;
  });
  plait::Ref<double> before = work(sum, heat.read());

  // Cooled only if it is hot. Earlier readers have the value before that.
  heat = work.when([](const std::vector<double>& values) { return sum(values) > 50; },
                   [](std::vector<double>& values) {
                     for (double& value : values) {
                       value /= 2;
                     }
                   },
                   std::move(heat));
  plait::Ref<double> after = work(sum, heat.read());

  // Rank 1 sends its sums; rank 0 refers to them by name, and waits for the last value only.
  if (work.self() == plait::Rank{1}) {
    plait::send_ref(work, plait::Rank{0}, plait::Tag{1}, before.read());
    plait::send_ref(work, plait::Rank{0}, plait::Tag{2}, after.read());
  } else {
    const auto add = [](double& mine, const double& others) { mine += others; };
    const plait::Ref<double> others_before = plait::receive_ref<double>(work, plait::Rank{1}, plait::Tag{1});
    const plait::Ref<double> others_after = plait::receive_ref<double>(work, plait::Rank{1}, plait::Tag{2});
    std::cout << "rank 0 has " << *work.fetch(before.read()) << ", then " << *work.fetch(after.read()) << '\n';
    before = work(add, std::move(before), others_before.read());
    after = work(add, std::move(after), others_after.read());
    std::cout << "both have " << work.take(std::move(before)) << ", then " << work.take(std::move(after)) << '\n';
  }
  work.wait();
}
