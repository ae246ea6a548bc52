// SPDX-License-Identifier: Apache-2.0
// The extension module plait_runtime: what Python calls. The package plait wraps it; users import that.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <mpi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "plait/base/error.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/net/mpi/session.hpp"
#include "plait/python/array_operation.hpp"
#include "plait/python/engine.hpp"
#include "plait/trace/recorder.hpp"
#include "plait/version.hpp"
#ifdef PLAIT_PYTHON_HAS_FFT
#include "plait/python/fft_transforms.hpp"
#endif
#ifdef PLAIT_PYTHON_HAS_PARTICLES
#include "plait/python/particles_module.hpp"
#endif

namespace plait::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using std::chrono::nanoseconds;

/// Sets the Python error: ValueError for arguments, else plait.EngineError with code and rank.
void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::bad_argument || error.code() == ErrorCode::bad_input) {
      PyErr_SetString(PyExc_ValueError, error.what());
      return;
    }
    const nb::object type = nb::module_::import_("plait._errors").attr("EngineError");
    const nb::object rank = error.rank() ? nb::cast(error.rank().value()) : nb::none();
    const nb::object made = type(error.what(), to_string(error.code()), rank);
    PyErr_SetObject(type.ptr(), made.ptr());
  }
}

/// The result of a complete operation: (source, tag, bytes).
nb::object status_of(const ArrayOperation& operation) {
  if (!operation.status()) {
    return nb::none();
  }
  operation.throw_if_failed();
  const comm::Status& status = *operation.status();
  return nb::make_tuple(status.source ? nb::cast(status.source.value()) : nb::none(),
                        status.tag ? nb::cast(status.tag.value()) : nb::none(),
                        status.bytes);
}

std::shared_ptr<Engine> make_engine(int communicator,
                                    std::optional<std::uint32_t> workers,
                                    std::optional<std::string> progress,
                                    std::vector<std::string> command) {
  return std::make_shared<Engine>(MPI_Comm_f2c(communicator),
                                  EngineSettings{workers, std::move(progress), std::move(command)});
}

/// Time in nanoseconds on the trace's clock; nothing when nothing is recorded.
std::optional<std::int64_t> trace_time(const Engine& engine) {
  if (!engine.is_open() || !engine.runtime().trace().is_on()) {
    return std::nullopt;
  }
  return engine.runtime().trace().now().count();
}

/// Records a region that began at `start` and ends now.
void record_region(const Engine& engine, const std::string& name, std::int64_t start) {
  if (!engine.is_open()) {
    return;
  }
  trace::Recorder& trace = engine.runtime().trace();
  trace::SpanEvent span{};
  span.name = trace.name(trace::Role::span, name);
  span.start = nanoseconds{start};
  span.end = trace.now();
  trace.thread(WorkerId{0}, "").span(span);
}

#ifdef PLAIT_PYTHON_HAS_FFT
void add_transforms(nb::module_& module) {
  nb::class_<Transforms>(module, "Transforms", "A plan of distributed transforms; plait.fft.Plan wraps it.")
      .def(
          "__init__",
          [](Transforms* self,
             std::shared_ptr<Engine> engine,
             const std::array<fft::Index, 3>& lengths,
             bool is_real,
             std::pair<std::uint32_t, std::uint32_t> grid,
             const std::string& effort,
             const std::string& variant,
             std::uint32_t pieces) {
            new (self)
                Transforms{std::move(engine), {lengths, is_real, grid.first, grid.second, effort, variant, pieces}};
          },
          "engine"_a,
          "lengths"_a,
          "is_real"_a,
          "grid"_a,
          "effort"_a,
          "variant"_a,
          "pieces"_a)
      .def("box", &Transforms::box, "is_spectral"_a, "Low and high indices of this rank's part.")
      .def("run",
           &Transforms::run,
           "is_forward"_a,
           "sources"_a,
           "targets"_a,
           "scale"_a,
           "Transforms each source into its target, all at once; collective.")
      .def("describe", &Transforms::describe, "The distribution and the exchange, in several lines.")
      .def("close", &Transforms::close, "Frees the plan; collective.")
      .def_prop_ro("grid", &Transforms::grid)
      .def_prop_ro("variant", &Transforms::variant);
}
#endif

void add_engine(nb::module_& module) {
  nb::class_<ArrayOperation>(module, "Operation", "A message or collective operation; plait.Future wraps it.")
      .def_prop_ro("status",
                   &status_of,
                   nb::sig("def status(self) -> tuple[int | None, int | None, int] | None"),
                   "(source, tag, bytes) when complete, else None. Raises its error.");
  nb::class_<Engine>(module, "Engine", "A rank's runtime; plait.Runtime wraps it.")
      .def(nb::new_(&make_engine), "communicator"_a, "workers"_a.none(), "progress"_a.none(), "command"_a)
      .def("close", &Engine::close, "failure"_a.none(), "Ends the runtime; collective, unless it has failed.")
      .def("send", &Engine::send, "array"_a, "to"_a, "tag"_a, "priority"_a)
      .def("receive", &Engine::receive, "array"_a, "source"_a, "tag"_a, "A source or a tag of -1 accepts any.")
      .def("all_to_all", &Engine::all_to_all, "send"_a, "receive"_a, "Equal blocks of two arrays.")
      .def("all_to_all_blocks", &Engine::all_to_all_blocks, "send"_a, "receive"_a, "An array for each rank.")
      .def("broadcast", &Engine::broadcast, "array"_a, "root"_a)
      .def("all_gather", &Engine::all_gather, "mine"_a, "all"_a)
      .def("test", &Engine::test, "operation"_a, "Makes progress once; whether the operation is complete.")
      .def("wait", &Engine::wait, "operation"_a, "seconds"_a.none(), "Without the GIL; whether it is complete.")
      .def("notify", &Engine::notify, "operation"_a, "Whether `event` will become readable; not if it is complete.")
      .def("trace_time", &trace_time, "Nanoseconds on the trace's clock; None without a trace.")
      .def("record_region", &record_region, "name"_a, "start"_a, "A region from `start` until now.")
      .def_prop_ro("event", &Engine::event, "A file descriptor (eventfd).")
      .def_prop_ro("is_open", &Engine::is_open)
      .def_prop_ro("rank", [](const Engine& engine) { return engine.runtime().self().value(); })
      .def_prop_ro("size", [](const Engine& engine) { return engine.runtime().rank_count(); })
      .def_prop_ro("workers", [](const Engine& engine) { return engine.runtime().worker_count(); })
      .def_prop_ro("network", [](const Engine& engine) { return engine.runtime().messages().driver_name(); });
}

}  // namespace

}  // namespace plait::python

NB_MODULE(plait_runtime, module) {
  using namespace plait::python;
  module.doc() = "The runtime of plait, for the MPI that it was built with. The package plait wraps it.";
  nb::register_exception_translator(&translate);
  module.attr("version") = std::string{plait::version()};
  module.def(
      "mpi_library",
      [] {
        std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
        int length = 0;
        MPI_Get_library_version(text.data(), &length);
        text.resize(static_cast<std::size_t>(length));
        return text;
      },
      "What MPI_Get_library_version returns.");
  add_engine(module);
#ifdef PLAIT_PYTHON_HAS_FFT
  add_transforms(module);
#endif
#ifdef PLAIT_PYTHON_HAS_PARTICLES
  add_particles_module(module);
#endif
}
