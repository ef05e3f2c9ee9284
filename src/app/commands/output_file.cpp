#include "app/commands/output_file.hpp"

#include "skyline/core/error.hpp"

#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <string>
#include <system_error>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

/// Returns whether a file in this folder belongs to a run whose root it is, or which it lies in. Results that
/// a command writes again are no loss.
bool belongs_to_run(const fs::path& file) {
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  const auto is_root = [](const fs::path& root) { return store::exists(store::RunPaths{root}.journal()); };
  if (is_root(folder)) {
    const store::RunPaths run{folder};
    return file.filename() != run.report_html().filename() && file.filename() != run.trace_json().filename();
  }
  const store::RunPaths run{folder.parent_path()};
  return is_root(run.root) && folder != run.exports();
}

}  // namespace

void check_output(const fs::path& file, bool overwrites, const std::vector<fs::path>& inputs) {
  std::error_code missing;
  const fs::file_status status = fs::status(file, missing);
  if (!fs::exists(status)) return;
  if (!overwrites) throw UserError(file.string() + ": exists already (--force overwrites it)");
  if (!fs::is_regular_file(status)) {
    throw UserError(file.string() + ": a folder, a pipe or a device, expected the name of a file");
  }
  const bool is_input = std::ranges::any_of(inputs, [&](const fs::path& input) {
    std::error_code unknown;
    return fs::equivalent(file, input, unknown);
  });
  if (is_input) throw UserError(file.string() + ": is the source, too: name another file by --out");
  if (belongs_to_run(file)) throw UserError(file.string() + ": belongs to a run: name another file by --out");
}

void write_output(const fs::path& file, std::string_view bytes, bool overwrites,
                  const std::vector<fs::path>& inputs) {
  check_output(file, overwrites, inputs);
  if (overwrites) {
    store::publish_file(file, bytes);
  } else if (!store::publish_new_file(file, bytes)) {
    throw UserError(file.string() + ": exists already (--force overwrites it)");
  }
}

void make_output_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw UserError("cannot make " + folder.string() + ": " + failure.message());
}

}  // namespace skyline::app
