# SPDX-License-Identifier: Apache-2.0
# Run by every build: writes `output` from `template` when `version` or the git revision of the checkout has changed.
set(revision "")
if(EXISTS ${checkout}/.git)
  execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${checkout}
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
configure_file(${template} ${output} @ONLY)
