#include "store/import/known_sets.hpp"

#include "skyline/core/error.hpp"

#include "core/system/program_files.hpp"
#include "store/import/built_in.hpp"

#include <system_error>

namespace skyline::store {
namespace {

std::filesystem::path shipped_digits() {
  std::error_code failure;
  auto digits = shipped_file("data/digits.csv.gz");
  if (std::filesystem::exists(digits, failure)) return digits;
  throw UserError("prep digits: no " + digits.string() +
                  ", where an installed program has the digits that ship: name the file");
}

DatasetContents import_given_or_shipped_digits(const std::filesystem::path& file) {
  return import_digits(file.empty() ? shipped_digits() : file);
}

/// A set that is small enough for memory.
class KnownSet final : public Importer {
 public:
  using Read = DatasetContents (*)(const std::filesystem::path& source);
  KnownSet(std::string meaning, std::string sources, Read read)
      : meaning_(std::move(meaning)), sources_(std::move(sources)), read_(read) {}

  std::string meaning() const override { return meaning_; }
  std::string sources() const override { return sources_; }
  void import(const ImportSource& source, DatasetWriter& writer) const override {
    const DatasetContents contents = read_(source.paths.empty() ? std::filesystem::path() : source.paths[0]);
    write_contents(contents, writer);
  }

 private:
  std::string meaning_;
  std::string sources_;
  Read read_;
};

}  // namespace

std::shared_ptr<const Importer> digits_importer() {
  return std::make_shared<KnownSet>("The digits that ship with Skyline.", "[FILE]",
                                    import_given_or_shipped_digits);
}

std::shared_ptr<const Importer> mnist_importer() {
  return std::make_shared<KnownSet>("MNIST's four IDX files, each plain or .gz.", "FOLDER", import_mnist);
}

std::shared_ptr<const Importer> fashion_mnist_importer() {
  return std::make_shared<KnownSet>("Fashion-MNIST's four IDX files, each plain or .gz.", "FOLDER",
                                    import_fashion_mnist);
}

std::shared_ptr<const Importer> cifar10_importer() {
  return std::make_shared<KnownSet>("The binary version of CIFAR-10.", "FOLDER", import_cifar10);
}

std::shared_ptr<const Importer> cifar100_importer() {
  return std::make_shared<KnownSet>("The binary version of CIFAR-100, with its 100 fine labels.", "FOLDER",
                                    import_cifar100);
}

}  // namespace skyline::store
