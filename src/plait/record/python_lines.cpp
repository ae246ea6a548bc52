// SPDX-License-Identifier: Apache-2.0
#include "plait/record/python_lines.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <dlfcn.h>
#include <exception>
#include <iterator>
#include <span>

#include "plait/record/call_paths.hpp"
#include "plait/record/imports.hpp"
#include "plait/record/sites.hpp"

namespace plait::record {
namespace {

/// Of Python's interface; only pointers to them are used.
struct PyObject;

/// The functions of the Python in this process.
struct Python {
  bool find() noexcept {
    return find(save_thread, "PyEval_SaveThread") && find(restore_thread, "PyEval_RestoreThread") &&
           find(frame, "PyEval_GetFrame") && find(code_of, "PyFrame_GetCode") && find(caller_of, "PyFrame_GetBack") &&
           find(line_of, "PyFrame_GetLineNumber") && find(attribute, "PyObject_GetAttrString") &&
           find(text_of, "PyUnicode_AsUTF8") && find(keep, "Py_IncRef") && find(release, "Py_DecRef") &&
           find(forget_error, "PyErr_Clear");
  }

  void* (*save_thread)() = nullptr;
  void (*restore_thread)(void* thread) = nullptr;
  PyObject* (*frame)() = nullptr;                   ///< Borrowed; null: none.
  PyObject* (*code_of)(PyObject* frame) = nullptr;  ///< A new reference.
  PyObject* (*caller_of)(PyObject* frame) = nullptr;
  int (*line_of)(PyObject* frame) = nullptr;
  PyObject* (*attribute)(PyObject* object, const char* name) = nullptr;
  const char* (*text_of)(PyObject* text) = nullptr;
  void (*keep)(PyObject* object) = nullptr;
  void (*release)(PyObject* object) = nullptr;
  void (*forget_error)() = nullptr;

 private:
  template <class Function>
  static bool find(Function& function, const char* name) noexcept {
    function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
  }
};

/// Written once, before the replaced functions are called.
struct State {
  Python python;
  Sites* sites = nullptr;
  std::size_t depth = 1;
};
State state;
std::atomic<bool> is_noting = false;

/// A place in Python code: the code, and the line in it.
struct Place {
  PyObject* code = nullptr;
  int line = 0;
};

/// The path that a thread had last at each of some hashes.
struct KnownPath {
  std::uint64_t hash = 0;
  trace::NameId site;
};

struct PythonThread {
  trace::NameId site;  ///< Of the call that is under way.
  std::array<KnownPath, 64> known;
};
constinit thread_local PythonThread python_thread [[gnu::tls_model("initial-exec")]];

std::string text_attribute(PyObject* object, const char* name) {
  const Python& python = state.python;
  PyObject* const value = python.attribute(object, name);
  const char* const text = value != nullptr ? python.text_of(value) : nullptr;
  std::string found = text != nullptr ? text : "";
  if (value != nullptr) {
    python.release(value);
  }
  if (text == nullptr) {
    python.forget_error();
  }
  return found;
}

PythonLine line_at(const Place& place) {
  PythonLine line{.file = text_attribute(place.code, "co_filename"),
                  .line = static_cast<std::uint32_t>(std::max(place.line, 0)),
                  .function = text_attribute(place.code, "co_qualname")};  // since 3.11
  if (line.function.empty()) {
    line.function = text_attribute(place.code, "co_name");
  }
  return line;
}

/// The Python code of this thread, the innermost function first; the caller releases the codes. Needs Python's lock.
std::size_t find_places(std::span<Place> places) {
  const Python& python = state.python;
  PyObject* frame = python.frame();
  if (frame != nullptr) {
    python.keep(frame);
  }
  std::size_t count = 0;
  while (frame != nullptr && count < places.size()) {
    places[count++] = {.code = python.code_of(frame), .line = python.line_of(frame)};
    PyObject* const caller = count < places.size() ? python.caller_of(frame) : nullptr;
    python.release(frame);
    frame = caller;
  }
  if (frame != nullptr) {
    python.release(frame);
  }
  return count;
}

trace::NameId name_of(std::span<const Place> places) {
  std::vector<PythonLine> lines;
  std::ranges::transform(places, std::back_inserter(lines), line_at);
  return state.sites->python_path(lines);
}

/// Needs Python's lock, as all that is called here.
trace::NameId find_site() {
  std::array<Place, call_path_max> all;
  const std::span places = std::span{all}.first(find_places(std::span{all}.first(state.depth)));
  if (places.empty()) {
    return {};
  }
  std::uint64_t hash = 1;
  for (const Place& place : places) {
    hash = (hash ^ std::bit_cast<std::uintptr_t>(place.code) ^ static_cast<std::uint64_t>(place.line) << 48U) *
           0x9E37'79B9'7F4A'7C15;
    hash ^= hash >> 29U;
  }
  KnownPath& known = python_thread.known[hash % python_thread.known.size()];
  const bool is_new = known.hash != hash;
  if (is_new) {
    known = {.hash = hash, .site = name_of(places)};
  }
  for (const Place& place : places) {
    if (!is_new) {  // else the code stays: no other one gets its address
      state.python.release(place.code);
    }
  }
  return known.site;
}

/// In the place of PyEval_SaveThread.
void* save_thread() {
  try {
    python_thread.site = find_site();
  } catch (const std::exception&) {
    python_thread.site = {};  // memory is lacking
  }
  return state.python.save_thread();
}

/// In the place of PyEval_RestoreThread.
void restore_thread(void* thread) {
  python_thread.site = {};
  state.python.restore_thread(thread);
}

}  // namespace

bool is_mpi4py(std::string_view module_path) {
  const std::size_t name = module_path.rfind('/') + 1;
  return module_path.substr(0, name).ends_with("/mpi4py/") && module_path.substr(name).starts_with("MPI.");
}

void note_python_lines(const void* in_module, Sites& sites) {
  if (is_noting.exchange(true)) {
    return;
  }
  if (!state.python.find()) {
    return;
  }
  state.sites = &sites;
  state.depth = call_path_wanted();
  // The second first: a call that is released unnoted leaves no place, one that is not restored would leave its own.
  if (replace_import(in_module, "PyEval_RestoreThread", reinterpret_cast<void (*)()>(restore_thread))) {
    (void)replace_import(in_module, "PyEval_SaveThread", reinterpret_cast<void (*)()>(save_thread));
  }
}

trace::NameId python_site() noexcept {
  return python_thread.site;
}

}  // namespace plait::record
