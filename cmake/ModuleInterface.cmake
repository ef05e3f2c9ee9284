# cmake -DROOT=... -DFOLDERS=... -DTORCH=VERSION -DOUTPUT=... -P ModuleInterface.cmake: writes the source OUTPUT, which defines
# a hash of all headers below the FOLDERS, which the program shares with its modules.
list(TRANSFORM FOLDERS REPLACE "(.+)" "${ROOT}/\\1/*.hpp")
file(GLOB_RECURSE headers RELATIVE ${ROOT} ${FOLDERS})
set(shared "torch ${TORCH}")
foreach(header ${headers})
  file(SHA256 "${ROOT}/${header}" hash)
  string(APPEND shared " ${header} ${hash}")
endforeach()
string(SHA256 hash "${shared}")
# Written only if it changes, so that nothing is compiled again for nothing.
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
  "#include \"train/loading/shared_library.hpp\"\nconst char skyline::train::kModuleInterface[] = \"${hash}\";\n")
