# LibTorch in SKYLINE_TORCH_ROOT as imported targets: skyline_torch::c10, skyline_torch::torch_cpu. Part of the
# installed package too.
# Not find_package(Torch): it enables CUDA, edits global flags and puts torch's own fmt before the system's.
# -idirafter keeps torch's bundled fmt behind the distribution's and its headers free of our warnings.
function(skyline_import_torch library)
  add_library(skyline_torch::${library} SHARED IMPORTED GLOBAL)
  set_target_properties(skyline_torch::${library} PROPERTIES IMPORTED_LOCATION "${SKYLINE_TORCH_ROOT}/lib/lib${library}.so")
  foreach(folder include include/torch/csrc/api/include)
    target_compile_options(skyline_torch::${library} INTERFACE
      "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter \"${SKYLINE_TORCH_ROOT}/${folder}\">")
  endforeach()
endfunction()
skyline_import_torch(c10)
skyline_import_torch(torch_cpu)
# libtorch_cpu needs libcupti and libcudart (no driver): beside the wheel, or wherever the loader finds them.
set(skyline_torch_companions "${SKYLINE_TORCH_ROOT}/../nvidia/cu13/lib")
if(IS_DIRECTORY "${skyline_torch_companions}")
  set_property(TARGET skyline_torch::torch_cpu APPEND PROPERTY
    INTERFACE_LINK_OPTIONS "-Wl,-rpath-link,${skyline_torch_companions}")
endif()

# Sets `result` to the version of the LibTorch in a folder; empty if it does not say.
function(skyline_torch_version root result)
  set(version "")
  if(EXISTS "${root}/version.py")
    file(STRINGS "${root}/version.py" line REGEX "^__version__ = ")
    string(REGEX REPLACE "^__version__ = '(.*)'.*" "\\1" version "${line}")
  elseif(EXISTS "${root}/build-version")
    file(STRINGS "${root}/build-version" version LIMIT_COUNT 1)
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()
