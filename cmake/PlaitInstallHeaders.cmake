# SPDX-License-Identifier: Apache-2.0
# Run by cmake --install: installs `headers` from `source_folder`, and the headers in detail/ that they include.
cmake_policy(VERSION 3.25)
set(waiting ${headers})
set(installed "")
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST installed)
    continue()
  endif()
  list(APPEND installed ${header})
  cmake_path(GET header PARENT_PATH folder)
  file(INSTALL ${source_folder}/${header} DESTINATION ${CMAKE_INSTALL_PREFIX}/${include_folder}/${folder}
    MESSAGE_NEVER)
  file(STRINGS ${source_folder}/${header} includes REGEX "^#include \"plait/.*/detail/")
  list(TRANSFORM includes REPLACE "^#include \"([^\"]+)\".*" "\\1")
  list(APPEND waiting ${includes})
endwhile()
