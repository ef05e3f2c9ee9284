# cmake -DROOT=... -DFILES=PATTERN;... -DTORCH=VERSION -DOUTPUT=... -P ModuleInterface.cmake: writes the source OUTPUT, which
# defines a hash of the files below ROOT: the headers that the program shares with its modules, and the modules' sources, so
# that ranks with one program have one training.
list(TRANSFORM FILES PREPEND "${ROOT}/")
file(GLOB_RECURSE files RELATIVE ${ROOT} ${FILES})
set(shared "torch ${TORCH}")
foreach(file ${files})
  file(SHA256 "${ROOT}/${file}" hash)
  string(APPEND shared " ${file} ${hash}")
endforeach()
string(SHA256 hash "${shared}")
# Written only if it changes, so that nothing is compiled again for nothing.
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
  "#include \"train/loading/shared_library.hpp\"\nconst char skyline::train::kModuleInterface[] = \"${hash}\";\n")
