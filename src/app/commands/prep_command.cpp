#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"
#include "skyline/store/dataset.hpp"

#include "app/commands/commands.hpp"
#include "store/data/import_images.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <string_view>

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

/// Imports a folder.
struct Importer {
  std::string_view kind;
  const char* files;
  store::DatasetContents (*import)(const std::filesystem::path&);
};
constexpr std::array kImporters{Importer{"mnist", "of the published files", store::import_mnist},
                                Importer{"cifar10", "of the published files", store::import_cifar10},
                                Importer{"images", "with a folder a class", store::import_images}};

store::DatasetContents import(const PrepArguments& arguments) {
  if (arguments.kind == "digits") {
    return store::import_digits(arguments.from.empty() ? shipped_digits() : arguments.from);
  }
  const auto importer = std::ranges::find(kImporters, arguments.kind, &Importer::kind);
  if (importer == kImporters.end()) {
    const std::string near = nearest_word(arguments.kind, {"digits", "mnist", "cifar10", "images"});
    throw UserError("prep: unknown data set `" + arguments.kind +
                    "`: expected digits, mnist, cifar10 or images" +
                    (near.empty() ? "" : "; did you mean `" + near + "`?"));
  }
  if (arguments.from.empty())
    throw UserError("prep " + arguments.kind + ": missing --from FOLDER " + importer->files);
  return importer->import(arguments.from);
}

}  // namespace

int run_prep(const PrepArguments& arguments) {
  const store::DatasetContents contents = import(arguments);
  if (arguments.out.has_parent_path()) {
    std::error_code failure;
    std::filesystem::create_directories(arguments.out.parent_path(), failure);
    if (failure)
      throw UserError("cannot make " + arguments.out.parent_path().string() + ": " + failure.message());
  }
  store::write_dataset(arguments.out, contents);
  std::cout << arguments.out.string() << ": " << contents.train.labels.size() << " training and "
            << contents.test.labels.size() << " test images of " << space::to_text(contents.shape) << ", "
            << contents.class_names.size() << " classes\n";
  return kExitDone;
}

}  // namespace skyline::app
