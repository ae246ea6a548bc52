// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/choose.hpp"

#include <algorithm>
#include <complex>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/fft/execution.hpp"

namespace plait::fft {

namespace {

using Complex = std::complex<double>;

constexpr std::size_t in_flight = 3;   // transforms that run at once
constexpr std::size_t rounds_max = 5;  // the candidates alternate in each
constexpr double seconds_max = 2;      // no further round begins after this
constexpr double slower_max = 1.5;     // slower candidates than the best by this factor drop out

/// Several transforms forward and backward, with arrays of zeros: values do not change the time.
class InFlight {
 public:
  InFlight(Plan plan, std::size_t count) : plan_{std::move(plan)} {
    const std::size_t numbers_a_point = plan_.kind() == Kind::real ? 1 : 2;
    physical_.resize(static_cast<std::size_t>(plan_.physical().size()) * numbers_a_point);
    spectral_.resize(static_cast<std::size_t>(plan_.spectral().size()));
    // All read the same input; each has its own output.
    for (std::size_t one = 0; one < count; ++one) {
      results_.emplace_back(physical_.size());
      modes_.emplace_back(spectral_.size());
      if (plan_.kind() == Kind::real) {
        forward_.emplace_back(plan_, std::span<const double>{physical_}, std::span{modes_.back()});
        backward_.emplace_back(plan_, std::span<const Complex>{spectral_}, std::span{results_.back()});
      } else {
        forward_.emplace_back(plan_, Direction::forward, points(physical_), std::span{modes_.back()});
        backward_.emplace_back(
            plan_, Direction::backward, std::span<const Complex>{spectral_}, points(results_.back()));
      }
    }
  }

  void run() {
    for (std::vector<Execution>* const executions : {&forward_, &backward_}) {
      std::vector<Execution*> all;
      for (Execution& execution : *executions) {
        all.push_back(&execution);
      }
      fft::run(all);
    }
  }
  [[nodiscard]] std::uint32_t pieces() const noexcept { return plan_.pieces(); }

 private:
  static std::span<Complex> points(std::vector<double>& numbers) {
    return {reinterpret_cast<Complex*>(numbers.data()), numbers.size() / 2};
  }

  Plan plan_;
  std::vector<double> physical_;
  std::vector<Complex> spectral_;
  std::vector<std::vector<double>> results_;
  std::vector<std::vector<Complex>> modes_;
  std::vector<Execution> forward_;
  std::vector<Execution> backward_;
};

class Contest {
 public:
  Contest(comm::Endpoint& endpoint, task::Scheduler& scheduler)
      : endpoint_{endpoint}, scheduler_{scheduler}, everyone_{endpoint} {}

  /// The measured candidates, if `options` has any.
  void add(const std::array<Index, 3>& lengths, const PlanOptions& options) {
    Entry entry{.candidate = {.variant = options.variant, .pieces = options.pieces}};
    try {
      entry.transforms = std::make_unique<InFlight>(Plan{endpoint_, scheduler_, lengths, options}, in_flight);
      entry.candidate.pieces = entry.transforms->pieces();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::network || endpoint_.failure()) {
        throw;
      }
      entry.candidate.missing = error.what();
    }
    // A variant that fails on one rank is not used on any.
    if (greatest(entry.candidate.missing.empty() ? 0 : 1) > 0) {
      entry.transforms.reset();
      if (entry.candidate.missing.empty()) {
        entry.candidate.missing = "it does not work on other ranks";
      }
    }
    const bool is_there = std::ranges::any_of(entries_, [&](const Entry& other) {
      return other.candidate.variant == entry.candidate.variant && other.candidate.pieces == entry.candidate.pieces;
    });
    if (!is_there) {
      entries_.push_back(std::move(entry));
    }
  }

  [[nodiscard]] Choice decide() {
    const nanoseconds start = clock_.now();
    for (std::size_t round = 0; round < rounds_max + 1; ++round) {
      double best = std::numeric_limits<double>::max();
      for (Entry& entry : entries_) {
        if (entry.transforms == nullptr) {
          continue;
        }
        (void)greatest(0);  // a barrier
        const nanoseconds begin = clock_.now();
        entry.transforms->run();
        const double seconds = greatest(std::chrono::duration<double>(clock_.now() - begin).count());
        if (round > 0) {  // the first round creates graphs and connections
          double& least = entry.candidate.seconds;
          least = least > 0 ? std::min(least, seconds) : seconds;
          best = std::min(best, least);
        }
      }
      for (Entry& entry : entries_) {
        if (round > 0 && entry.candidate.seconds > slower_max * best) {
          entry.transforms.reset();
        }
      }
      if (round > 0 && greatest(std::chrono::duration<double>(clock_.now() - start).count()) > seconds_max) {
        break;
      }
    }
    return result();
  }

 private:
  struct Entry {
    Candidate candidate;
    std::unique_ptr<InFlight> transforms;  ///< None after it has dropped out.
  };

  /// Over all ranks.
  [[nodiscard]] double greatest(double mine) {
    comm::all_reduce(everyone_, std::span{&mine, 1}, comm::Maximum{}).wait();
    return mine;
  }

  [[nodiscard]] Choice result() {
    Choice choice;
    for (Entry& entry : entries_) {
      choice.candidates.push_back(std::move(entry.candidate));
    }
    std::ranges::stable_sort(choice.candidates, {}, [](const Candidate& candidate) {
      return candidate.missing.empty() ? candidate.seconds : std::numeric_limits<double>::max();
    });
    choice.variant = choice.candidates.front().variant;
    choice.pieces = choice.candidates.front().pieces;
    return choice;
  }

  comm::Endpoint& endpoint_;
  task::Scheduler& scheduler_;
  comm::Group everyone_;
  SteadyClock clock_;
  std::vector<Entry> entries_;
};

}  // namespace

std::string Choice::describe() const {
  std::string text;
  for (const Candidate& candidate : candidates) {
    text += candidate.missing.empty() ? fmt::format("  {:<4} {:>3} piece{} {:>10.3f} ms\n",
                                                    candidate.variant,
                                                    candidate.pieces,
                                                    candidate.pieces == 1 ? " " : "s",
                                                    1e3 * candidate.seconds)
                                      : fmt::format("  {:<4} left out: {}\n", candidate.variant, candidate.missing);
  }
  return text;
}

std::vector<Variant> all_variants(const PlanOptions& options) {
  std::vector<Variant> all = variants();
  all.insert(all.end(), options.more.begin(), options.more.end());
  return all;
}

Choice choose(comm::Endpoint& endpoint,
              task::Scheduler& scheduler,
              const std::array<Index, 3>& lengths,
              const PlanOptions& options) {
  Contest contest{endpoint, scheduler};
  for (const Variant& variant : all_variants(options)) {
    PlanOptions one = options;
    one.variant = variant.name;
    contest.add(lengths, one);
    if (!variant.make && options.pieces == 0) {
      for (const std::uint32_t pieces : {1U, 2U, 4U, 8U}) {
        one.pieces = pieces;
        contest.add(lengths, one);
      }
    }
  }
  return contest.decide();
}

}  // namespace plait::fft
