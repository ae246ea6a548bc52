// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/detail/otf2_library.hpp"

#include <dlfcn.h>
#include <string>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::exports::detail {
namespace {

template <class Function>
void find(void* handle, const char* name, Function& function) {
  void* const found = dlsym(handle, fmt::format("OTF2_{}", name).c_str());
  if (found == nullptr) {
    throw Error{ErrorCode::bad_input,
                fmt::format("the OTF2 library has no function OTF2_{}: OTF2 3 or later is needed", name)};
  }
  function = reinterpret_cast<Function>(found);
}

void find_archive_functions(void* handle, Otf2Functions& functions) {
  find(handle, "Error_RegisterCallback", functions.set_error_callback);
  find(handle, "Error_GetDescription", functions.error_text);
  find(handle, "Archive_Open", functions.open);
  find(handle, "Archive_Close", functions.close);
  find(handle, "Archive_SetFlushCallbacks", functions.set_flush_callbacks);
  find(handle, "Archive_SetSerialCollectiveCallbacks", functions.set_serial);
  find(handle, "Archive_SetCreator", functions.set_creator);
  find(handle, "Archive_SetDescription", functions.set_description);
  find(handle, "Archive_OpenEvtFiles", functions.open_events);
  find(handle, "Archive_CloseEvtFiles", functions.close_events);
  find(handle, "Archive_OpenDefFiles", functions.open_definitions);
  find(handle, "Archive_CloseDefFiles", functions.close_definitions);
  find(handle, "Archive_GetEvtWriter", functions.events_of);
  find(handle, "Archive_CloseEvtWriter", functions.close_events_of);
  find(handle, "Archive_GetDefWriter", functions.definitions_of);
  find(handle, "Archive_CloseDefWriter", functions.close_definitions_of);
  find(handle, "Archive_GetGlobalDefWriter", functions.global_definitions);
}

void find_event_functions(void* handle, Otf2Functions& functions) {
  find(handle, "AttributeList_New", functions.new_attributes);
  find(handle, "AttributeList_Delete", functions.delete_attributes);
  find(handle, "AttributeList_AddSourceCodeLocationRef", functions.add_source_location);
  find(handle, "EvtWriter_Enter", functions.enter);
  find(handle, "EvtWriter_Leave", functions.leave);
  find(handle, "EvtWriter_MpiSend", functions.send);
  find(handle, "EvtWriter_MpiRecv", functions.receive);
  find(handle, "EvtWriter_MpiIsend", functions.send_begun);
  find(handle, "EvtWriter_MpiIsendComplete", functions.send_complete);
  find(handle, "EvtWriter_MpiIrecvRequest", functions.receive_begun);
  find(handle, "EvtWriter_MpiIrecv", functions.receive_complete);
  find(handle, "EvtWriter_MpiCollectiveBegin", functions.collective_begin);
  find(handle, "EvtWriter_MpiCollectiveEnd", functions.collective_end);
  find(handle, "EvtWriter_NonBlockingCollectiveRequest", functions.collective_begun);
  find(handle, "EvtWriter_NonBlockingCollectiveComplete", functions.collective_complete);
  find(handle, "EvtWriter_Metric", functions.metric);
  find(handle, "EvtWriter_CallingContextSample", functions.sample);
}

void find_definition_functions(void* handle, Otf2Functions& functions) {
  find(handle, "GlobalDefWriter_WriteClockProperties", functions.clock);
  find(handle, "GlobalDefWriter_WriteString", functions.string);
  find(handle, "GlobalDefWriter_WriteSystemTreeNode", functions.tree_node);
  find(handle, "GlobalDefWriter_WriteLocationGroup", functions.location_group);
  find(handle, "GlobalDefWriter_WriteLocation", functions.location);
  find(handle, "GlobalDefWriter_WriteRegion", functions.region);
  find(handle, "GlobalDefWriter_WriteGroup", functions.group);
  find(handle, "GlobalDefWriter_WriteComm", functions.communicator);
  find(handle, "GlobalDefWriter_WriteMetricMember", functions.metric_member);
  find(handle, "GlobalDefWriter_WriteMetricClass", functions.metric_class);
  find(handle, "GlobalDefWriter_WriteAttribute", functions.attribute);
  find(handle, "GlobalDefWriter_WriteSourceCodeLocation", functions.source_location);
  find(handle, "GlobalDefWriter_WriteCallingContext", functions.calling_context);
  find(handle, "GlobalDefWriter_WriteInterruptGenerator", functions.interrupt_generator);
}

}  // namespace

void Otf2Library::Closes::operator()(void* handle) const noexcept {
  dlclose(handle);
}

Otf2Library::Otf2Library(const std::filesystem::path& file) : handle_{dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)} {
  if (handle_ == nullptr) {
    const char* const why = dlerror();
    throw Error{ErrorCode::bad_input,
                fmt::format("the OTF2 library {} cannot be loaded ({})", file.string(), why != nullptr ? why : "?")};
  }
  // OTF2 2 has functions of the same names with other arguments, and lacks this one.
  Otf2Function<void()> of_version_3{};
  find(handle_.get(), "GlobalDefWriter_WriteInterComm", of_version_3);
  find_archive_functions(handle_.get(), functions_);
  find_event_functions(handle_.get(), functions_);
  find_definition_functions(handle_.get(), functions_);
}

}  // namespace plait::exports::detail
