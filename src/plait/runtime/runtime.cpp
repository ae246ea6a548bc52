// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "plait/base/error.hpp"
#include "plait/base/topology.hpp"
#include "plait/comm/copy_helpers.hpp"
#include "plait/comm/nodes.hpp"
#include "plait/data/references/work.hpp"
#include "plait/runtime/clock_sync.hpp"
#include "plait/runtime/gather.hpp"
#include "plait/runtime/network.hpp"
#include "plait/runtime/strategy.hpp"

#ifdef PLAIT_WITH_MPI
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/sim/preloaded_simulation.hpp"
#endif

namespace plait {

namespace {

constexpr std::size_t unreceived_named_max = 10;

/// Records a trace if there is a recorder to join, or the options name a folder.
trace::Recorder make_recorder(const Options& options, const net::Driver& driver, const trace::PreloadedRecorder* host) {
  if (host != nullptr) {
    return trace::Recorder{driver.clock(), *host, options.worker_count};
  }
  if (options.trace_folder.empty()) {
    return trace::Recorder{driver.clock()};
  }
  return trace::Recorder{driver.clock(),
                         {.folder = options.trace_folder,
                          .rank = driver.self(),
                          .rank_count = driver.rank_count(),
                          .profile = options.profile}};
}

std::vector<std::string> gather_texts(comm::Endpoint& endpoint, const std::string& mine) {
  std::vector<std::string> texts;
  for (const Bytes& text : all_gather(endpoint, std::as_bytes(std::span{mine}))) {
    texts.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
  }
  return texts;
}

/// Gathers the names of hosts, and sets the nodes of the endpoint: ranks that were given different names count as being
/// on different nodes.
std::vector<std::string> gather_hosts(comm::Endpoint& endpoint, const std::string& given) {
  constexpr char separator = '\n';
  std::vector<std::string> hosts = gather_texts(endpoint, host_name() + separator + given);
  comm::Nodes::set(endpoint, number_nodes(hosts));
  for (std::string& host : hosts) {
    host.resize(host.find(separator));
  }
  return hosts;
}

trace::Meta describe(const Options& options, const net::Driver& driver, std::vector<std::string> hosts) {
  trace::Meta meta;
  meta.command = options.command;
  meta.program = options.command.empty() ? "" : std::filesystem::path{options.command.front()}.filename().string();
  meta.ranks = driver.rank_count();
  meta.workers = options.worker_count;
  meta.hosts = std::move(hosts);
  meta.cores = machine_core_count();
  meta.started = std::chrono::system_clock::now();
  meta.mpi = driver.name();
  meta.revision = options.revision;
  meta.options = options.described();
  return meta;
}

/// Adds what only the runtime knows to the recording that it has joined.
void note_in_recording(const trace::PreloadedRecorder& host, trace::Recorder& recorder, const trace::Meta& meta) {
  recorder.thread(WorkerId{0}, "").engine({.workers = meta.workers, .start = recorder.now()});
  for (const auto& [name, value] : meta.options) {
    host.note_option(name.c_str(), value.c_str());
  }
}

bool is_crowded(const Options& options, const std::vector<std::string>& hosts) {
  const auto ranks_here = static_cast<std::uint32_t>(std::ranges::count(hosts, host_name()));
  return is_oversubscribed(ranks_here, options.worker_count);
}

WaitPolicy choose_wait(const Options& options, const std::vector<std::string>& hosts) {
  return is_crowded(options, hosts) ? crowded(options.messages.wait) : options.messages.wait;
}

comm::ProgressionOptions recorded(comm::ProgressionOptions options, trace::Recorder& recorder) {
  options.recorder = &recorder;
  return options;
}

}  // namespace

Runtime::Runtime(std::unique_ptr<net::Driver> driver, const Options& options)
    : Runtime{Connected{std::move(driver), options}, nullptr} {}

Runtime::Runtime(Connected connected, const trace::PreloadedRecorder* host)
    : options_{std::move(connected.second)},
      driver_{std::move(connected.first)},
      recorder_{make_recorder(options_, *driver_, host)},
      endpoint_{*driver_, recorder_, options_.messages},
      meta_{describe(options_, *driver_, gather_hosts(endpoint_, options_.network.host))},
      wait_{choose_wait(options_, meta_.hosts)},
      scheduler_{endpoint_,
                 recorder_,
                 {.worker_count = options_.worker_count, .wait = wait_, .stall_max = options_.stall_max}},
      exceptions_at_start_{std::uncaught_exceptions()},
      progression_{endpoint_, recorded(options_.progression, recorder_)} {
  endpoint_.set_wait(wait_);
  if (options_.messages.copiers_max == 0 && is_crowded(options_, meta_.hosts)) {
    comm::CopyHelpers::set_copiers_max(
        endpoint_, 1);  // a helper that loses its core in the middle of a piece would delay the message
  }
  if (recorder_.has_joined()) {
    note_in_recording(*host, recorder_, meta_);
  } else if (recorder_.is_on()) {
    if (self() == Rank{0}) {
      write_meta(options_.trace_folder, meta_);
    }
    record_clock_offset(endpoint_, recorder_);
  }
}

#ifdef PLAIT_WITH_MPI
namespace {

Options allowed_by_mpi(Options options) {
  int level = MPI_THREAD_SINGLE;
  if (net::detail::is_mpi_usable()) {  // else make_network throws
    MPI_Query_thread(&level);
  }
  if (level < MPI_THREAD_SERIALIZED) {
    options.progression.mode = comm::ProgressionMode::none;
  }
  return options;
}

/// The driver of this rank in the simulation into which the program was started.
std::unique_ptr<net::Driver> simulated_network(MPI_Comm communicator, const net::PreloadedSimulation& simulation) {
  require(communicator == MPI_COMM_WORLD, "a simulated program has one runtime, over MPI_COMM_WORLD");
  return std::unique_ptr<net::Driver>{simulation.driver()};
}

std::pair<std::unique_ptr<net::Driver>, Options> connect(MPI_Comm communicator, const Options& options) {
  if (const net::PreloadedSimulation* const simulation = net::preloaded_simulation()) {
    return {simulated_network(communicator, *simulation), options};
  }
  Options chosen = allowed_by_mpi(with_strategy(communicator, options));
  std::unique_ptr<net::Driver> driver = make_network(communicator, chosen.network);
  return {std::move(driver), std::move(chosen)};
}

/// Whether the trace, if it goes anywhere, goes to where the preloaded recorder writes.
bool is_same_recording(const Options& options) {
  const char* const recorded = std::getenv("PLAIT_RECORD_FOLDER");
  return options.trace_folder.empty() || (recorded != nullptr && options.trace_folder == recorded);
}

/// The preloaded recorder, if the runtimes of all ranks can join it; else null. Collective.
const trace::PreloadedRecorder* find_recording(MPI_Comm communicator, const Options& options) {
  if (net::preloaded_simulation() != nullptr || !net::detail::is_mpi_usable()) {
    return nullptr;  // make_network throws
  }
  const trace::OwnCalls own;
  const trace::PreloadedRecorder* const found = trace::preloaded_recorder();
  int rank = 0;
  int size = 0;
  net::detail::check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  net::detail::check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  const bool is_possible = found != nullptr && is_same_recording(options) &&
                           found->can_join(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size));
  const int here = is_possible ? 1 : 0;
  int everywhere = 0;
  net::detail::check_mpi(MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
  return everywhere != 0 ? found : nullptr;
}

}  // namespace

Runtime::Runtime(MPI_Comm communicator, const Options& options)
    : Runtime{connect(communicator, options), find_recording(communicator, options)} {}
#endif

Runtime::~Runtime() {
  if (std::uncaught_exceptions() > exceptions_at_start_ || endpoint_.failure()) {
    return;
  }
  try {
    end();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plait: rank %u: the runtime did not shut down cleanly: %s\n", self().value(), error.what());
  }
}

data::Work& Runtime::works() {
  if (!works_) {
    works_ = std::make_unique<data::Work>(*this);
  }
  return *works_;
}

void Runtime::end() {
  works_.reset();
  endpoint_.drain();
  barrier(endpoint_);
  if (recorder_.is_on() && !recorder_.has_joined()) {
    record_clock_offset(endpoint_, recorder_);
    meta_.ended = std::chrono::system_clock::now();
    if (self() == Rank{0}) {
      write_meta(options_.trace_folder, meta_);
    }
  }
  const std::vector<std::string> unreceived = endpoint_.never_received();
  for (std::size_t i = 0; i < std::min(unreceived.size(), unreceived_named_max); ++i) {
    std::fprintf(stderr, "plait: rank %u: never received: %s\n", self().value(), unreceived[i].c_str());
  }
  if (unreceived.size() > unreceived_named_max) {
    std::fprintf(
        stderr, "plait: rank %u: ... and %zu more\n", self().value(), unreceived.size() - unreceived_named_max);
  }
  barrier(endpoint_);  // no rank closes the network while another one sends
  endpoint_.drain();
}

}  // namespace plait
