// SPDX-License-Identifier: Apache-2.0
// Walkers that wander over the patches of a periodic field, for restart_test.py: with checkpoints, and with a death at
// a chosen moment. Prints a number made of all bits of the last state, independent of the ranks that hold it.
//
//   walkers STEPS FOLDER [every=N] [way=direct|mpi] [kill=STEP] [kill-writing=STEP] [kill-rank=R]
#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "plait/base/random.hpp"
#include "plait/data/checkpoints/hdf5/checkpoint_files.hpp"
#include "plait/data/checkpoints/hdf5/mpi/mpi_slab_writer.hpp"
#include "plait/data/checkpoints/restore.hpp"
#include "plait/plait.hpp"

namespace {

using plait::Rank;
using plait::data::ElementId;

constexpr std::uint32_t columns = 6;
constexpr std::uint32_t rows = 4;
constexpr std::uint64_t walkers_each = 40;

struct Walker {
  std::uint64_t id = 0;
  double x = 0;
  double y = 0;
};

/// A square of the field: those who are in it, and those who have just come.
struct Patch {
  std::vector<Walker> walkers;
  std::vector<Walker> arrived;
  double distance = 0;  ///< Walked here so far: a sum whose last bits depend on the order of adding.

  void take(std::vector<Walker> some) { arrived.insert(arrived.end(), some.begin(), some.end()); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(walkers, arrived, distance);
  }
};

Patch make_patch(ElementId id, plait::data::Index at) {
  Patch patch;
  plait::Random random{id.value()};
  for (std::uint64_t i = 0; i < walkers_each; ++i) {
    patch.walkers.push_back({id.value() * walkers_each + i, at.x + random.unit(), at.y + random.unit()});
  }
  return patch;
}

double around(double place, double extent) {
  return place < 0 ? place + extent : place >= extent ? place - extent : place;
}

void walk(Patch& patch, plait::data::ElementContext& context, std::uint64_t step, double wind) {
  patch.walkers.insert(patch.walkers.end(), patch.arrived.begin(), patch.arrived.end());
  patch.arrived.clear();
  std::ranges::sort(patch.walkers, {}, &Walker::id);  // in whatever order they have come
  std::vector<std::vector<Walker>> leaving(std::size_t{columns} * rows);
  std::vector<Walker> staying;
  for (Walker walker : patch.walkers) {
    plait::Random random{walker.id * 1'000'003 + step};
    const double dx = random.unit() - 0.5 + wind;
    const double dy = random.unit() - 0.5;
    patch.distance += dx * dx + dy * dy;
    walker.x = around(walker.x + dx, columns);
    walker.y = around(walker.y + dy, rows);
    const ElementId to =
        context.shape().id({static_cast<std::uint32_t>(walker.x), static_cast<std::uint32_t>(walker.y), 0});
    (to == context.id() ? staying : leaving[to.value()]).push_back(walker);
  }
  patch.walkers = std::move(staying);
  for (std::uint64_t to = 0; to < leaving.size(); ++to) {
    if (!leaving[to].empty()) {
      context.send<&Patch::take>(ElementId{to}, std::move(leaving[to]));
    }
  }
}

/// What happens to the next checkpoint.
struct Fate {
  bool is_half = false;  ///< On all ranks: HDF5 waits for those that do not write.
  bool is_death = false;
};

/// Writes two data sets and dies, when it is to be so.
class DyingWriter final : public plait::data::hdf5::SlabWriter {
 public:
  DyingWriter(std::unique_ptr<SlabWriter> writer, const Fate& fate) : writer_{std::move(writer)}, fate_{fate} {}
  void write(const plait::comm::Group& ranks,
             const std::filesystem::path& file,
             std::span<const plait::data::hdf5::Slab> slabs) override {
    writer_->write(ranks, file, fate_.is_half ? slabs.first(2) : slabs);
    if (fate_.is_death) {
      (void)std::raise(SIGKILL);
    }
  }

 private:
  std::unique_ptr<SlabWriter> writer_;
  const Fate& fate_;
};

struct Arguments {
  std::uint64_t steps = 0;
  std::string folder;
  std::uint64_t every = 1000;
  bool is_through_mpi = false;
  std::uint64_t kill = 0;
  std::uint64_t kill_writing = 0;
  std::uint32_t kill_rank = 0;
};

Arguments read(int argc, char** argv) {
  Arguments arguments;
  arguments.steps = std::stoull(argv[1]);
  arguments.folder = argv[2];
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::string key = text.substr(0, text.find('='));
    const std::string value = text.substr(text.find('=') + 1);
    if (key == "way") {
      arguments.is_through_mpi = value == "mpi";
    } else if (key == "kill-rank") {
      arguments.kill_rank = static_cast<std::uint32_t>(std::stoul(value));
    } else {
      (key == "every" ? arguments.every : key == "kill" ? arguments.kill : arguments.kill_writing) = std::stoull(value);
    }
  }
  return arguments;
}

class Walk {
 public:
  Walk(plait::Runtime& runtime, const Arguments& arguments)
      : runtime_{runtime},
        arguments_{arguments},
        files_{runtime.messages(), {.folder = arguments.folder}, make_writer()},
        patches_{runtime, plait::data::Shape{columns, rows}, make_patch, {.name = "patches"}} {}

  void run() {
    restart();
    while (step_ < arguments_.steps) {
      step();
      const bool is_mine = runtime_.self() == Rank{arguments_.kill_rank};
      if (is_mine && step_ == arguments_.kill) {
        (void)std::raise(SIGKILL);
      }
      if (step_ % arguments_.every == 0) {
        fate_.is_half = step_ == arguments_.kill_writing;
        fate_.is_death = fate_.is_half && is_mine;
        save();
      }
    }
    print_state();
  }

 private:
  std::unique_ptr<plait::data::hdf5::SlabWriter> make_writer() {
    auto writer = arguments_.is_through_mpi ? plait::data::hdf5::make_mpi_slab_writer(MPI_COMM_WORLD) : nullptr;
    return std::make_unique<DyingWriter>(writer ? std::move(writer) : plait::data::hdf5::make_direct_slab_writer(),
                                         fate_);
  }

  void restart() {
    const auto newest = files_.read_newest("walkers", {});
    if (!newest) {
      return;
    }
    step_ = newest->checkpoint.step;
    const auto& random = newest->checkpoint.value<plait::Bytes>("random");
    std::memcpy(&random_, random.data(), sizeof random_);
    restore(newest->checkpoint, patches_);
    if (runtime_.self() == Rank{0}) {
      for (const std::string& why : newest->refused) {
        std::printf("refused: %s\n", why.c_str());
      }
      std::printf("restarted from step %llu\n", static_cast<unsigned long long>(step_));
    }
  }

  void save() {
    const auto bytes = std::as_bytes(std::span{&random_, 1});
    files_.write({.program = "walkers",
                  .step = step_,
                  .values = {{"random", plait::Bytes(bytes.begin(), bytes.end())}},
                  .collections = {pack_elements(patches_)}});
  }

  void step() {
    const double wind = 0.2 * (random_.unit() - 0.5);
    patches_.each([&](Patch& patch, plait::data::ElementContext& context) { walk(patch, context, step_, wind); },
                  "walk");
    ++step_;
    std::vector<plait::data::Move> moves;
    for (const auto& [id, patch] : patches_.local()) {
      if ((id.value() + step_) % 5 == 0) {
        moves.push_back({id, Rank{static_cast<std::uint32_t>((id.value() + step_) % runtime_.rank_count())}});
      }
    }
    (void)patches_.migrate(moves);
  }

  void print_state() {
    std::uint64_t bits = 0;
    const auto mix = [](std::uint64_t into, std::uint64_t value) { return plait::Random{into ^ value}(); };
    for (auto&& [id, patch] : patches_.local()) {
      patch.walkers.insert(patch.walkers.end(), patch.arrived.begin(), patch.arrived.end());
      std::ranges::sort(patch.walkers, {}, &Walker::id);
      std::uint64_t own = mix(id.value(), std::bit_cast<std::uint64_t>(patch.distance));
      for (const Walker& walker : patch.walkers) {
        own = mix(mix(mix(own, walker.id), std::bit_cast<std::uint64_t>(walker.x)),
                  std::bit_cast<std::uint64_t>(walker.y));
      }
      bits += own;
    }
    for (const std::uint64_t theirs : plait::all_gather_values(runtime_.messages(), bits)) {
      bits_ += theirs;
    }
    if (runtime_.self() == Rank{0}) {
      std::printf("state %016llx\n", static_cast<unsigned long long>(bits_));
    }
  }

  plait::Runtime& runtime_;
  const Arguments& arguments_;
  Fate fate_;
  plait::data::hdf5::CheckpointFiles files_;
  plait::data::Collection<Patch> patches_;
  plait::Random random_{12345};
  std::uint64_t step_ = 0;
  std::uint64_t bits_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const plait::MpiSession session{argc, argv};
  try {
    const Arguments arguments = read(argc, argv);
    plait::Runtime runtime{MPI_COMM_WORLD};
    Walk{runtime, arguments}.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "walkers: %s\n", error.what());
    session.abort(1);
  }
}
