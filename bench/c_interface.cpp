// SPDX-License-Identifier: Apache-2.0
// What plait.h costs beside the C++ interface behind it: a message, a task of a graph, a task of a flow, and a region.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "plait/base/clock.hpp"
#include "plait/c/handles.hpp"
#include "plait/net/mpi/session.hpp"
#include "plait/plait.h"
#include "plait/testing/temporary_folder.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"
#include "support/turns.hpp"

namespace {

constexpr int call_count = 20'000;

/// Nanoseconds for each of `call_count` calls, of which `run` makes all.
template <class Run>
double cost_ns(Run run) {
  const plait::SteadyClock clock;
  const plait::nanoseconds start = clock.now();
  run();
  return static_cast<double>((clock.now() - start).count()) / call_count;
}

/// Ends the program if a call has failed: a wrong measurement would not be noticed.
void must(int error) {
  if (error != PLAIT_SUCCESS) {
    std::fprintf(stderr, "%s\n", plait_last_error());
    std::exit(EXIT_FAILURE);
  }
}

void messages_in_c(plait_runtime* runtime) {
  std::int64_t number = 0;
  for (int i = 0; i < call_count; ++i) {
    plait_request* request = nullptr;
    must(plait_receive(runtime, &number, sizeof number, 0, 1, &request));
    must(plait_send(runtime, &number, sizeof number, 0, 1, nullptr));
    must(plait_wait(&request, nullptr));
  }
}

void messages_in_cpp(plait::Runtime& runtime) {
  std::array<std::int64_t, 1> number{};
  const plait::comm::Address self{plait::Rank{0}, plait::Tag{1}};
  for (int i = 0; i < call_count; ++i) {
    plait::comm::Request received = runtime.messages().receive(self, std::as_writable_bytes(std::span{number}));
    runtime.messages().send(self, std::as_bytes(std::span{number})).wait();
    received.wait();
  }
}

int count_in_c(plait_context* /*context*/, void* argument) {
  ++*static_cast<std::int64_t*>(argument);
  return 0;
}

int add_in_c(const plait_memory* memory, void* argument) {
  *static_cast<std::int64_t*>(memory[0].first) += *static_cast<const int*>(argument);
  return 0;
}

void flow_in_c(plait_runtime* runtime) {
  plait_flow* flow = nullptr;
  plait_data* data = nullptr;
  must(plait_flow_create(runtime, &flow));
  must(plait_flow_data(flow, 0, sizeof(std::int64_t), nullptr, &data));
  const plait_access access{data, PLAIT_READ_WRITE};
  void* memory = nullptr;
  must(plait_data_local(data, &memory));
  for (int i = 0; i < call_count; ++i) {
    plait_submission task{};
    task.kind = "add";
    task.function = add_in_c;
    task.argument = &i;
    task.argument_bytes = sizeof i;
    must(plait_flow_submit(flow, &task, 1, &access));
  }
  must(plait_flow_wait(flow));
  must(plait_flow_free(&flow));
}

void flow_in_cpp(plait::Runtime& runtime) {
  plait::task::Flow flow{runtime};
  const auto data = flow.data<std::int64_t>(plait::Rank{0}, 1);
  static_cast<void>(data.local());
  const plait::task::FlowKind add = flow.kind("add");
  for (int i = 0; i < call_count; ++i) {
    flow.submit({.kind = add}, [i](std::span<std::int64_t> value) { value[0] += i; }, plait::task::rw(data));
  }
  flow.wait();
}

void regions() {
  for (int i = 0; i < call_count; ++i) {
    plait_region_begin("region");
    plait_region_end();
  }
}

/// A graph of `call_count` tasks, built by each interface.
struct Graphs {
  explicit Graphs(plait_runtime* runtime) {
    must(plait_graph_create(runtime, &in_c));
    for (int i = 0; i < call_count; ++i) {
      must(plait_graph_task(in_c, "count", count_in_c, &count, nullptr));
      in_cpp.task("count", [this] { ++count; });
    }
  }
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;
  ~Graphs() { must(plait_graph_free(&in_c)); }

  std::int64_t count = 0;
  plait_graph* in_c = nullptr;
  plait::task::Graph in_cpp;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"c_interface",
                       "a call of plait.h costs some tens of nanoseconds more than C++, a region nothing when off",
                       1,
                       argc,
                       argv};
  const plait::net::MpiSession mpi{argc, argv};
  const plait::test::TemporaryFolder folder;
  const std::string trace = (folder.path() / "trace").string();
  plait_options options;
  must(plait_options_init(&options, sizeof options));
  options.workers = 1;
  options.trace_folder = "";
  plait_runtime* runtime = nullptr;
  must(plait_runtime_create(MPI_COMM_SELF, &options, &runtime));
  plait::Runtime& behind = runtime->runtime;
  bench::Turns turns;
  {
    Graphs graphs{runtime};
    turns.add("message", [&] { return cost_ns([&] { messages_in_c(runtime); }); });
    turns.add("message, C++", [&] { return cost_ns([&] { messages_in_cpp(behind); }); });
    turns.add("task of a graph", [&] { return cost_ns([&] { must(plait_graph_run(graphs.in_c)); }); });
    turns.add("task of a graph, C++", [&] { return cost_ns([&] { behind.run(graphs.in_cpp); }); });
    turns.add("task of a flow", [&] { return cost_ns([&] { flow_in_c(runtime); }); });
    turns.add("task of a flow, C++", [&] { return cost_ns([&] { flow_in_cpp(behind); }); });
    turns.add("region, off", [] { return cost_ns(regions); });
    turns.run(report.is_full() ? 51 : 15);
  }
  must(plait_runtime_free(&runtime));

  options.trace_folder = trace.c_str();
  must(plait_runtime_create(MPI_COMM_SELF, &options, &runtime));
  bench::Turns recorded;
  recorded.add("region, recorded", [] { return cost_ns(regions); });
  recorded.run(report.is_full() ? 51 : 15);
  must(plait_runtime_free(&runtime));

  for (const char* const name : {"message", "task of a graph", "task of a flow"}) {
    report.add({name, {}, turns[name], "ns", "C++", bench::median(turns[std::string{name} + ", C++"])});
  }
  report.add({.name = "region, off", .value = turns["region, off"], .unit = "ns"});
  report.add({.name = "region, recorded", .value = recorded["region, recorded"], .unit = "ns"});
  report.finish();
}
