// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/zoltan/entries.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

#ifdef PLAIT_WITH_ZOLTAN
#include "plait/data/balance/zoltan/zoltan.hpp"
#else
#include "plait/base/error.hpp"
#endif

namespace plait::data::balance {
namespace {

#ifdef PLAIT_WITH_ZOLTAN
template <ZoltanMethod method>
std::unique_ptr<Balancer> make_zoltan(Settings& /*settings*/) {
  return std::make_unique<Zoltan>(method);
}

constexpr std::array zoltan_entries{
    BalancerEntry{"zoltan_rcb", "recursive coordinate bisection of Zoltan", make_zoltan<ZoltanMethod::bisection>},
    BalancerEntry{"zoltan_hsfc", "Hilbert curve of Zoltan", make_zoltan<ZoltanMethod::curve>},
    BalancerEntry{"zoltan_graph", "graph partitioner of Zoltan, by messages", make_zoltan<ZoltanMethod::graph>},
};
#else
std::unique_ptr<Balancer> refuse_zoltan(Settings& settings) {
  throw Error{ErrorCode::bad_argument,
              settings.balancer() +
                  " is not in this build: install libtrilinos-zoltan-dev, and configure plait with Open MPI again"};
}

constexpr std::array zoltan_entries{
    BalancerEntry{"zoltan_rcb", "recursive coordinate bisection of Zoltan; not in this build", refuse_zoltan},
    BalancerEntry{"zoltan_hsfc", "Hilbert curve of Zoltan; not in this build", refuse_zoltan},
    BalancerEntry{"zoltan_graph", "graph partitioner of Zoltan, by messages; not in this build", refuse_zoltan},
};
#endif

std::vector<BalancerEntry> joined() {
  std::vector<BalancerEntry> entries{balancer_entries().begin(), balancer_entries().end()};
  entries.insert(entries.end(), zoltan_entries.begin(), zoltan_entries.end());
  return entries;
}

}  // namespace

std::span<const BalancerEntry> entries_with_zoltan() {
  static const std::vector<BalancerEntry> entries = joined();
  return entries;
}

}  // namespace plait::data::balance
