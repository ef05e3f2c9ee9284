# cmake -DROOT=... -DOUTPUT=... -P Commit.cmake: writes the source OUTPUT, which names the commit that the tree ROOT has, and
# says whether its files are others. It is written only if that changes. A tree without a repository of its own has none.
set(commit "unknown")
if(EXISTS "${ROOT}/.git")
  execute_process(
    COMMAND git -c safe.directory=* --no-optional-locks -C "${ROOT}" describe --always --abbrev=12 --exclude=* "--dirty= (modified)"
    OUTPUT_VARIABLE said RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed)
    set(commit "${said}")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
  "#include \"app/job/program_build.hpp\"\nconst char* const skyline::app::kCommit = \"${commit}\";\n")
