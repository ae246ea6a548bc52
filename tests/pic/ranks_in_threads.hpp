// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "pic/ranks.hpp"

namespace pic::test {

/// Several ranks as threads of one process, for tests of what several ranks compute without MPI. A rank that throws
/// would leave the others waiting: not for tests of trouble.
class RanksInThreads {
 public:
  explicit RanksInThreads(int count)
      : count_{count},
        barrier_{count},
        mail_(static_cast<std::size_t>(count), std::vector<plait::Bytes>(static_cast<std::size_t>(count))),
        sums_(static_cast<std::size_t>(count)),
        values_(static_cast<std::size_t>(count)) {}

  /// Runs `work(ranks)` on every rank.
  void run(const std::function<void(Ranks&)>& work) {
    std::vector<std::jthread> threads;
    for (int self = 0; self < count_; ++self) {
      threads.emplace_back([this, self, &work] {
        One one{*this, self};
        work(one);
      });
    }
  }

 private:
  class One final : public Ranks {
   public:
    One(RanksInThreads& all, int self) : all_{all}, self_{self} {}
    [[nodiscard]] int self() const noexcept override { return self_; }
    [[nodiscard]] int count() const noexcept override { return all_.count_; }
    void exchange(std::span<plait::Bytes> out, std::span<plait::Bytes> in) override {
      std::vector<std::size_t> expected;
      for (const plait::Bytes& bytes : in) {
        expected.push_back(bytes.size());
      }
      exchange_unknown(out, in);
      for (std::size_t r = 0; r < in.size(); ++r) {
        if (r != static_cast<std::size_t>(self_) && in[r].size() != expected[r]) {
          std::abort();  // both ends must agree on lengths
        }
      }
    }
    void exchange_unknown(std::span<plait::Bytes> out, std::span<plait::Bytes> in) override {
      const auto self = static_cast<std::size_t>(self_);
      for (std::size_t r = 0; r < out.size(); ++r) {
        all_.mail_[self][r] = out[r];
      }
      all_.barrier_.arrive_and_wait();
      for (std::size_t r = 0; r < in.size(); ++r) {
        in[r] = all_.mail_[r][self];
      }
      all_.barrier_.arrive_and_wait();
    }
    void sum(std::span<std::int64_t> values) override {
      all_.sums_[static_cast<std::size_t>(self_)].assign(values.begin(), values.end());
      all_.barrier_.arrive_and_wait();
      std::vector<std::uint64_t> total(values.size());
      for (const std::vector<std::int64_t>& part : all_.sums_) {
        for (std::size_t i = 0; i < total.size(); ++i) {
          total[i] += static_cast<std::uint64_t>(part[i]);
        }
      }
      all_.barrier_.arrive_and_wait();
      std::copy(total.begin(), total.end(), values.begin());
    }
    [[nodiscard]] double max(double value) override {
      all_.values_[static_cast<std::size_t>(self_)] = value;
      all_.barrier_.arrive_and_wait();
      const double largest = *std::max_element(all_.values_.begin(), all_.values_.end());
      all_.barrier_.arrive_and_wait();
      return largest;
    }

   private:
    RanksInThreads& all_;
    int self_;
  };

  int count_;
  std::barrier<> barrier_;
  std::vector<std::vector<plait::Bytes>> mail_;  ///< By sender, by receiver.
  std::vector<std::vector<std::int64_t>> sums_;
  std::vector<double> values_;
};

}  // namespace pic::test
