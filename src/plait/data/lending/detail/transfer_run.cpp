// SPDX-License-Identifier: Apache-2.0
#include "plait/data/lending/detail/transfer_run.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "plait/data/accessor.hpp"

namespace plait::data::detail {

namespace {

constexpr Tag pieces_tag{0};

}  // namespace

/// A message that is expected: an event until it has arrived, then the task that unpacks it.
struct TransferRun::Incoming final : task::detail::Node, comm::Completion {
  Incoming(TransferRun& its_transfer, End&& its_end)
      : Node{task::TaskKind{0}}, transfer{its_transfer}, end{std::move(its_end)} {
    ending = &transfer;
    label = &transfer.label_;
    body = [this](task::TaskContext& /*context*/) { transfer.unpack(*this); };
  }
  void completed(const comm::Status& /*status*/) noexcept override {}
  void released(const comm::Status& status) noexcept override {
    has_arrived.store(true, std::memory_order_release);  // with abandon()
    const std::lock_guard lock{transfer.lock_};
    task::OpenRun* const run = transfer.run();
    if (run == nullptr || run->has_failed()) {
      return;
    }
    if (status.error) {
      run->fail(Error{*status.error, "pieces that were lent are lost on their way", status.source});
    } else {
      run->has_ended(*this);
    }
  }

  TransferRun& transfer;
  End end;
  Bytes bytes;
  std::atomic<bool> has_arrived = true;
};

TransferRun::TransferRun(const Context& context, std::string_view name, Unpacked unpacked)
    : context_{context},
      label_{std::string{name}, context.recorder.name(trace::Role::task, name)},
      unpacked_{std::move(unpacked)} {}

TransferRun::~TransferRun() = default;

void TransferRun::connect(std::vector<End> from, std::vector<End> to, comm::CommId comm) {
  comm_ = comm;
  incoming_.clear();
  for (End& end : from) {
    incoming_.push_back(std::make_unique<Incoming>(*this, std::move(end)));
  }
  outgoing_.clear();
  for (End& end : to) {
    outgoing_.push_back({.end = std::move(end), .bytes = {}, .sent = {}});
  }
}

void TransferRun::begin(const PiecePart& part, IsIdle is_idle) {
  part_ = part;
  unsent_.store(static_cast<std::uint32_t>(outgoing_.size()), std::memory_order_relaxed);  // published by the run
  run_ = std::make_unique<task::OpenRun>(context_.scheduler, [this] { return label_.name + " of other ranks"; });
  for (const auto& one : incoming_) {
    one->role = task::detail::Role::event;
    run_->expect_end(*one);
  }
  for (const auto& one : incoming_) {
    one->has_arrived.store(false, std::memory_order_relaxed);  // published by the receive
    (void)context_.endpoint.receive({one->end.rank, pieces_tag, comm_}, one->bytes, one.get());
  }
  run_->close_when([this, is_idle = std::move(is_idle)] { return has_sent_all() && is_idle(); });
}

bool TransferRun::has_sent_all() const noexcept {
  return unsent_.load(std::memory_order_acquire) == 0 &&  // with send()
         std::ranges::all_of(outgoing_, [](const Outgoing& one) { return one.sent.is_complete(); });
}

/// The parts of all pieces one after the other, each behind its length.
void TransferRun::send(std::size_t to) {
  Outgoing& one = outgoing_[to];
  std::vector<std::uint64_t> sizes;
  std::size_t total = 0;
  for (const void* piece : one.end.pieces) {
    sizes.push_back(part_.size(piece));
    total += sizeof(std::uint64_t) + sizes.back();
  }
  one.bytes.resize(total);
  std::span<std::byte> left{one.bytes};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::memcpy(left.data(), &sizes[i], sizeof(std::uint64_t));
    left = left.subspan(sizeof(std::uint64_t));
    const std::size_t written = part_.pack(one.end.pieces[i], left.first(sizes[i]));
    if (written != sizes[i]) {
      size_was_wrong(part_.accessor, part_.type, sizes[i], written);
    }
    left = left.subspan(sizes[i]);
  }
  one.sent = context_.endpoint.send({one.end.rank, pieces_tag, comm_}, one.bytes);
  pieces_sent_.fetch_add(sizes.size(), std::memory_order_relaxed);  // statistics, both
  bytes_sent_.fetch_add(total - sizes.size() * sizeof(std::uint64_t), std::memory_order_relaxed);
  unsent_.fetch_sub(1, std::memory_order_release);  // with has_sent_all()
}

void TransferRun::unpack(const Incoming& incoming) {
  std::span<const std::byte> left{incoming.bytes};
  for (std::size_t i = 0; i < incoming.end.ids.size(); ++i) {
    std::uint64_t size = 0;
    std::memcpy(&size, left.data(), sizeof size);
    left = left.subspan(sizeof size);
    part_.unpack(left.first(size), incoming.end.pieces[i]);
    left = left.subspan(size);
    unpacked_(incoming.end.ids[i]);
  }
}

void TransferRun::ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept {
  if (node.role == task::detail::Role::event) {
    node.role = task::detail::Role::compute;
    sink.again(node);
  }
}

void TransferRun::wait() {
  if (run_) {
    run_->wait();
    run_.reset();
    context_.endpoint.flush();  // this rank may block elsewhere next
  }
}

bool TransferRun::abandon() noexcept {
  std::unique_ptr<task::OpenRun> run;
  {
    const std::lock_guard lock{lock_};
    run.swap(run_);
  }
  run.reset();  // waits, without the lock
  return !std::ranges::all_of(incoming_, [](const auto& one) {
    return one->has_arrived.load(std::memory_order_acquire);  // with released()
  }) || !std::ranges::all_of(outgoing_, [](const Outgoing& one) { return one.sent.is_complete(); });
}

}  // namespace plait::data::detail
