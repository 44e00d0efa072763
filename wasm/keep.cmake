# -DTRAINLET_KEEP=list.config and -DTRAINLET_FLAVOUR=… (docs/guides/native.md): operators and parts that these leave
# out are not in the build's tables, so that the linker leaves out what they alone have called.

if(TRAINLET_KEEP)
  get_filename_component(keep_path "${TRAINLET_KEEP}" ABSOLUTE)
  if(NOT EXISTS "${keep_path}" OR IS_DIRECTORY "${keep_path}")
    message(FATAL_ERROR "TRAINLET_KEEP: there is no file ${keep_path}.")
  endif()
  get_filename_component(shrunk_for "${keep_path}" NAME_WE)
else()
  set(shrunk_for "${TRAINLET_FLAVOUR}")
endif()
set(kept_dir "${CMAKE_BINARY_DIR}/kept")
execute_process(COMMAND node "${CMAKE_SOURCE_DIR}/wasm/keep.mjs" "${keep_path}" "${TRAINLET_FLAVOUR}" "${kept_dir}"
  RESULT_VARIABLE failed OUTPUT_VARIABLE left_out ERROR_VARIABLE problem
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
if(failed)
  message(FATAL_ERROR "${problem}.")
endif()
file(GLOB keep_scripts "${CMAKE_SOURCE_DIR}/wasm/*.mjs" "${CMAKE_SOURCE_DIR}/js/cli/shrink/*.js*")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${keep_path}" ${keep_scripts} ${engine_sources} "${CMAKE_SOURCE_DIR}/src/passes/passes.def")

string(REPLACE "\n" ";" left_out "${left_out}")
foreach(file ${left_out})
  set_property(SOURCE "${CMAKE_SOURCE_DIR}/src/${file}" APPEND PROPERTY COMPILE_DEFINITIONS TRAINLET_LEFT_OUT)
endforeach()
set_property(SOURCE "${CMAKE_SOURCE_DIR}/src/ops/table.c" APPEND PROPERTY
  COMPILE_DEFINITIONS "TRAINLET_OPS=\"${kept_dir}/ops.def\"")
set_property(SOURCE "${CMAKE_SOURCE_DIR}/src/part.c" APPEND PROPERTY
  COMPILE_DEFINITIONS "TRAINLET_SHRUNK_FOR=\"${shrunk_for}\"")
set_property(SOURCE "${CMAKE_SOURCE_DIR}/wasm/abi.c" APPEND PROPERTY
  COMPILE_DEFINITIONS "TRAINLET_CALLS=\"${kept_dir}/calls.h\"")
file(STRINGS "${kept_dir}/differentiates" differentiates)
if(NOT differentiates)
  set_property(SOURCE ${operator_files} APPEND PROPERTY COMPILE_DEFINITIONS TRAINLET_NO_GRADIENTS)
endif()
foreach(source ${engine_sources}) # the others are compiled as in any build, and need not be again for another list
  file(STRINGS "${source}" uses_parts REGEX "^#include \"(.*/)?part\\.h\"")
  if(uses_parts)
    set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_DEFINITIONS "TRAINLET_PARTS=\"${kept_dir}/parts.h\"")
  endif()
endforeach()
