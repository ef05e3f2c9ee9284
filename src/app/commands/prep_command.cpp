#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"
#include "skyline/store/dataset.hpp"

#include "app/commands/commands.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace skyline::app {
namespace {

/// Path of the shipped digits in the tree of the program: an installed one, or that of the build.
std::filesystem::path shipped_digits() {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  auto digits = program.parent_path().parent_path() / "share/skyline/data/digits.csv.gz";
  if (std::filesystem::exists(digits, failure)) return digits;
  throw UserError("prep digits: no " + digits.string() +
                  ", where an installed program has the digits that ship: name the file by --from");
}

store::DatasetContents import_digits(const std::filesystem::path& file) {
  return store::import_digits(file.empty() ? shipped_digits() : file);
}

struct Importer {
  std::string_view kind;
  const char* source;  // what --from must name; nullptr: it may be left out
  store::DatasetContents (*import)(const std::filesystem::path&);
};
constexpr std::array kImporters{Importer{"digits", nullptr, import_digits},
                                Importer{"mnist", "FOLDER of the published files", store::import_mnist},
                                Importer{"cifar10", "FOLDER of the published files", store::import_cifar10},
                                Importer{"images", "FOLDER with a folder per class", store::import_images}};

const Importer& find_importer(const std::string& kind) {
  const auto importer = std::ranges::find(kImporters, kind, &Importer::kind);
  if (importer != kImporters.end()) return *importer;
  throw UserError("prep: unknown data set `" + kind + "`, " + suggestion(kind, data_set_kinds()));
}

}  // namespace

std::vector<std::string> data_set_kinds() {
  std::vector<std::string> kinds;
  for (const Importer& importer : kImporters) kinds.emplace_back(importer.kind);
  return kinds;
}

int run_prep(const PrepArguments& arguments) {
  const Importer& importer = find_importer(arguments.kind);
  if (arguments.from.empty() && importer.source != nullptr)
    throw UserError("prep " + arguments.kind + ": missing --from " + importer.source);
  const store::DatasetContents contents = importer.import(arguments.from);
  if (arguments.out.has_parent_path()) {
    std::error_code failure;
    std::filesystem::create_directories(arguments.out.parent_path(), failure);
    if (failure)
      throw UserError("cannot make " + arguments.out.parent_path().string() + ": " + failure.message());
  }
  store::write_dataset(arguments.out, contents);
  const std::size_t outputs = contents.class_names.size();
  const store::SampleView train = contents.train.view(outputs);
  const std::size_t validation = contents.validation.view(outputs).count;
  std::cout << arguments.out.string() << ": " << train.count << " training"
            << (validation > 0 ? ", " + std::to_string(validation) + " validation" : "") << " and "
            << contents.test.view(outputs).count << " test samples of " << space::to_text(contents.shape)
            << ", " << to_text(train.target_kind(), outputs) << "\n";
  return kExitDone;
}

}  // namespace skyline::app
