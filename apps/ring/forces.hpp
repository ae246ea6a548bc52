// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include "ring/body.hpp"
#include "ring/contact.hpp"
#include "ring/kernel.hpp"
#include "ring/parameters.hpp"
#include "ring/tree.hpp"

namespace ring {

using std::chrono::nanoseconds;

struct ForceOptions {
  Order order = Order::quadrupole;
  double softening = 0;
  ContactLaw contact;
  const Kernels* kernels = &best_kernels();

  ForceOptions() = default;
  explicit ForceOptions(const Parameters& parameters);
};

/// What a force calculation took, and its sums. Those of all parts of a step and of all ranks are added.
struct ForceSums {
  std::uint64_t groups = 0;
  std::uint64_t nodes_visited = 0;
  std::uint64_t body_body = 0;
  std::uint64_t body_cell = 0;
  std::uint64_t contacts = 0;  ///< Each pair counts twice: once at each partner.
  nanoseconds walk{};
  nanoseconds kernel{};
  double spring_energy = 0;
  double dissipation_rate = 0;

  ForceSums& operator+=(const ForceSums& other);
};

/// Bodies that feel a force, in the order of their tree.
struct Targets {
  std::span<Body> bodies;
  std::span<const Vector> velocities;  ///< Predicted, as in the tree; empty without contacts.
  std::span<const Group> groups;       ///< All of the tree.

  /// Expects: `all` are the bodies that `tree` was built over, as it left them.
  Targets(std::span<Body> all, const Tree& tree) : bodies{all}, velocities{tree.velocities()}, groups{tree.groups()} {}
};

/// Memory for lists, one for each thread that computes forces; reused.
class ForceWorkspace {
 public:
  ForceWorkspace();
  ForceWorkspace(ForceWorkspace&&) noexcept;
  ForceWorkspace& operator=(ForceWorkspace&&) noexcept;
  ForceWorkspace(const ForceWorkspace&) = delete;
  ForceWorkspace& operator=(const ForceWorkspace&) = delete;
  ~ForceWorkspace();

  struct Lists;  // private to forces.cpp
  [[nodiscard]] Lists& lists() noexcept { return *lists_; }

 private:
  std::unique_ptr<Lists> lists_;
};

/// Whether the sources are the targets' own tree, in which every body meets itself.
enum class Origin : std::uint8_t { own_tree, received };

/// Adds what `tree` does to the targets in `batches`, some of their tree's: acceleration, potential, cost.
///
/// Threads: at the same time for disjoint batches, each with its workspace. The tree must have been made with the
/// same contact radius. Sums into a target depend on the order in which trees are added, by rounding only.
void add_forces(const TreeView& tree,
                Origin origin,
                const Targets& targets,
                std::span<const Batch> batches,
                const ForceOptions& options,
                ForceWorkspace& workspace,
                ForceSums& sums);

/// Begins a force: acceleration of the centre alone, no potential, no cost.
void begin_forces(std::span<Body> bodies, double central_mass);

}  // namespace ring
