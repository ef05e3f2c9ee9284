# cmake -DCOMPILER=... -DROOT=... -DTORCH=VERSION -DCONSTANT=NAME -DHEADER=... -DSOURCES=FOLDER -DOWN=REGEX -DOUTPUT=...
# -P ModuleInterface.cmake: writes the source OUTPUT, which defines the CONSTANT that HEADER declares, a hash of all headers
# that the program and a module share, and OUTPUT.d with what it depends on. The compiler lists the headers: all that the
# module's SOURCES include, but its OWN. Headers of CUDA and LibTorch need not be there.
file(GLOB_RECURSE sources ${ROOT}/${SOURCES}/*.cpp ${ROOT}/${SOURCES}/*.cu)
execute_process(COMMAND ${COMPILER} -std=c++20 -MM -MG -I${ROOT}/include -I${ROOT}/src -x c++ ${sources}
  OUTPUT_VARIABLE rules COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\\\n" "" rules "${rules}")
separate_arguments(files UNIX_COMMAND "${rules}")
list(REMOVE_DUPLICATES files)
list(SORT files)
set(dependencies "")
set(shared "torch ${TORCH}")
foreach(file ${files})
  cmake_path(IS_PREFIX ROOT "${file}" is_ours)
  if(NOT is_ours)
    continue()
  endif()
  string(REPLACE " " "\\ " escaped "${file}")
  string(APPEND dependencies " ${escaped}")
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${ROOT}" OUTPUT_VARIABLE name)
  if(NOT name MATCHES "^${OWN}")
    file(SHA256 "${file}" hash)
    string(APPEND shared " ${name} ${hash}")
  endif()
endforeach()
if(NOT shared MATCHES "src/train/device/accelerator.hpp")
  message(FATAL_ERROR "${COMPILER} -MM -MG does not list the headers of ${SOURCES}")
endif()
string(SHA256 hash "${shared}")
string(REPLACE " " "\\ " escaped "${OUTPUT}")
file(WRITE "${OUTPUT}.d" "${escaped}:${dependencies}\n")
# Written only if it changes, so that nothing is compiled again for a comment in a source.
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
  "#include \"${HEADER}\"\nconst char skyline::train::${CONSTANT}[] = \"${hash}\";\n")
