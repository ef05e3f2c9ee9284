#include "app/commands/preparation.hpp"

#include "skyline/core/error.hpp"

#include "app/commands/output_file.hpp"
#include "store/publish/publish.hpp"

#include <iostream>
#include <system_error>

namespace skyline::app {
namespace {

/// Finds problems with the output now, rather than after everything has been read.
void check_out(const PrepArguments& arguments) {
  const std::filesystem::path& out = arguments.out;
  std::error_code ignored;  // a missing file has no problem
  if (!out.has_filename() || std::filesystem::is_directory(out, ignored))
    throw UserError(out.string() + ": a folder, expected the name of a file, e.g. " +
                    (out / "set.h5").string());
  check_output(out, arguments.force, {arguments.source.words.begin(), arguments.source.words.end()});
}

}  // namespace

void prepare(const PrepArguments& arguments) {
  check_out(arguments);
  if (arguments.out.has_parent_path()) make_output_folder(arguments.out.parent_path());
  store::remove_temporaries_of(arguments.out);
  for (const std::string& line : make_dataset(arguments.source, arguments.out)) std::cout << line << '\n';
}

}  // namespace skyline::app
