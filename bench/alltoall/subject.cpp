// SPDX-License-Identifier: Apache-2.0
#include "alltoall/subject.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "plait/fft/mpi/variants.hpp"
#include "plait/plait.hpp"

#ifdef BENCH_HAS_COARRAYS
#include "alltoall/coarray/coarray.hpp"
#endif

namespace alltoall {

namespace {

/// Into how many pieces PLT divides a block.
std::size_t piece_count(const Settings& settings, std::size_t block_bytes) {
  constexpr std::size_t piece_bytes_min = 8192;
  return std::clamp<std::size_t>(block_bytes / piece_bytes_min, 1, settings.piece_count_max);
}

/// Into how many pieces PLT divides the rank's own block, which needs no message. More, as these tasks fill the time
/// until the first message arrives, and the worker polls the network between tasks.
std::size_t own_piece_count(std::size_t pieces) {
  constexpr std::size_t finer = 4;
  return pieces == 1 ? 1 : finer * pieces;
}

/// An exchange of `plait::fft`.
class ExchangeSubject final : public Subject {
 public:
  ExchangeSubject(const plait::fft::Variant& variant, const Site& site, std::size_t tests, std::size_t block_bytes)
      : self_{site.group.self()},
        tests_{variant.twin.empty() ? 0 : tests},
        own_send_(block_bytes),
        own_receive_(block_bytes) {
    plait::fft::BlockBytes bytes{std::vector(site.group.size(), block_bytes), {}};
    bytes.to[self_] = 0;
    bytes.from = bytes.to;
    exchange_ = variant.make(site.group, bytes);
  }

  std::span<std::byte> to(std::size_t member) override {
    return member == self_ ? std::span{own_send_} : exchange_->to(member);
  }
  std::span<const std::byte> from(std::size_t member) override {
    return member == self_ ? std::span<const std::byte>{own_receive_} : exchange_->from(member);
  }

  void run(Work& work) override {
    exchange_->start();
    std::ranges::copy(own_send_, own_receive_.begin());
    for (std::size_t part = 0; part < tests_; ++part) {
      work.run_part(part, tests_);
      exchange_->advance();
    }
    exchange_->wait();
    if (tests_ == 0) {
      work.run_all();
    }
  }

 private:
  std::size_t self_;
  std::size_t tests_;  ///< Parts of the work during the exchange; 0: all of it comes after.
  std::vector<std::byte> own_send_;
  std::vector<std::byte> own_receive_;
  std::unique_ptr<plait::fft::Exchange> exchange_;
};

/// PLT: the exchange and the work are one graph of tasks. Each piece of a block is a message, followed by a task with
/// its share of the work. All shares make up the work of the other variants.
class TaskSubject final : public Subject {
 public:
  TaskSubject(const Site& site, const Settings& settings, std::size_t block_bytes)
      : site_{site},
        block_bytes_{block_bytes},
        // Within a node the processor does the copying: nothing can be hidden, and pieces only cost.
        pieces_{site.is_on_one_node ? 1 : piece_count(settings, block_bytes)},
        own_pieces_{own_piece_count(pieces_)},
        comms_{site.runtime->messages().claim_comms(1)},
        send_(site.group.size() * block_bytes),
        receive_(send_.size()) {
    // Piece by piece over all ranks, as all blocks arrive at once.
    for (std::size_t piece = 0; piece < pieces_; ++piece) {
      for (std::size_t step = 1; step < site_.group.size(); ++step) {
        add_exchange(piece, step);
      }
    }
    for (std::size_t piece = 0; piece < own_pieces_; ++piece) {
      graph_.task("own", [this, piece] {
        const std::size_t self = site_.group.self();
        const auto [first, last] = part_of(block_bytes_, piece, own_pieces_);
        std::memcpy(block(receive_, self).data() + first, block(send_, self).data() + first, last - first);
        work_->run_part(self * own_pieces_ + piece, site_.group.size() * own_pieces_);
      });
    }
  }

  std::span<std::byte> to(std::size_t member) override { return block(send_, member); }
  std::span<const std::byte> from(std::size_t member) override { return block(receive_, member); }
  void run(Work& work) override {
    work_ = &work;
    site_.runtime->run(graph_);
  }

 private:
  std::span<std::byte> block(std::vector<std::byte>& all, std::size_t member) const {
    return std::span{all}.subspan(member * block_bytes_, block_bytes_);
  }

  void add_exchange(std::size_t piece, std::size_t step) {
    const std::size_t ranks = site_.group.size();
    const std::size_t source = (site_.group.self() + ranks - step) % ranks;
    const std::size_t destination = (site_.group.self() + step) % ranks;
    const auto [first, last] = part_of(block_bytes_, piece, pieces_);
    const auto address = [&](std::size_t member) {
      return plait::comm::Address{site_.group.rank(member), plait::Tag{piece}, comms_[0]};
    };
    plait::Task arrived =
        graph_.receive("receive", address(source), block(receive_, source).subspan(first, last - first));
    const std::span<const std::byte> outgoing = block(send_, destination).subspan(first, last - first);
    graph_.send("send", address(destination), [outgoing] { return outgoing; });
    graph_.task("work", [this, source, piece, ranks] { work_->run_part(source * pieces_ + piece, ranks * pieces_); })
        .after(arrived);
  }

  Site site_;
  std::size_t block_bytes_;
  std::size_t pieces_;      ///< Of each block that is a message.
  std::size_t own_pieces_;  ///< Of the rank's own block.
  plait::comm::ClaimedComms comms_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  plait::Graph graph_;
  Work* work_ = nullptr;
};

}  // namespace

const char* to_string(Direction direction) noexcept {
  return direction == Direction::row ? "row" : "column";
}

std::vector<plait::fft::Variant> variants() {
  const plait::fft::mpi::VariantOptions options;
  std::vector<plait::fft::Variant> all = plait::fft::mpi::variants(MPI_COMM_WORLD, options);
#ifdef BENCH_HAS_COARRAYS
  std::ranges::move(coarray_variants(MPI_COMM_WORLD, options.chunk_bytes), std::back_inserter(all));
#endif
  for (plait::fft::Variant variant : plait::fft::variants()) {
    if (variant.name == "PLB") {
      variant.twin.clear();  // it is the one that blocks
    }
    all.push_back(std::move(variant));
  }
  return all;
}

std::unique_ptr<Subject> make_subject(const plait::fft::Variant& variant,
                                      const Site& site,
                                      const Settings& settings,
                                      std::size_t block_bytes) {
  if (variant.make) {
    return std::make_unique<ExchangeSubject>(variant, site, settings.test_count, block_bytes);
  }
  return std::make_unique<TaskSubject>(site, settings, block_bytes);
}

}  // namespace alltoall
