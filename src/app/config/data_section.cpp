#include "app/config/data_section.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "core/system/process.hpp"
#include "store/data/named_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace skyline::app {
namespace {

/// Returns the command that makes a data set file, as far as its name shows it.
std::string prep_line(const std::filesystem::path& file) {
  constexpr std::array kPublished{"mnist", "fashion_mnist", "cifar10", "cifar100"};
  const std::string stem = file.stem().string();
  const bool is_published = std::ranges::find(kPublished, stem) != kPublished.end();
  const std::string source = stem == "digits" ? "digits" : (is_published ? stem : "images") + " FOLDER";
  return "skyline prep " + source + " -o " + file.string();
}

}  // namespace

std::string locate_data(const ConfigNode& section, const std::string& file) {
  return store::named_file_that_exists(section.at("file"), file,
                                       "; make it, e.g.: " + prep_line(expand_home(file)));
}

void describe_data(const ConfigNode& section, const store::Dataset& dataset, DataOptions& data) {
  if (dataset.train().count == 0) throw UserError(data.file + ": the training set is empty");
  const ConfigNode* hash = section.find("sha256");
  if (hash != nullptr && hash->as_text() != dataset.content_hash()) {
    hash->fail("the data set's checksum is " + dataset.content_hash() + ", expected " + hash->as_text() +
               ": not the same data");
  }
  data.sha256 = dataset.content_hash();
  data.shape = dataset.shape();
  data.targets = dataset.train().target_kind();
  data.classes = static_cast<std::int64_t>(dataset.class_names().size());
  data.class_names = dataset.class_names();
  data.mean = dataset.mean();
  data.deviation = dataset.deviation();
  data.value_scale = dataset.value_scale();
  data.preparation = dataset.preparation();
  if (!data.validation && dataset.validation().count == 0) data.validation = store::kHeldOutShare;
  const ConfigNode found = DataOptions::table().to_config(data);
  for (const char* key :
       {"shape", "targets", "classes", "class_names", "mean", "deviation", "value_scale", "preparation"}) {
    const ConfigNode* stated = section.find(key);
    const auto entry = [&](const ConfigNode& value) { return ConfigNode::make_map({{key, value, {}}}, {}); };
    const ConfigNode* fact = found.find(key);
    if (stated == nullptr || (fact != nullptr && first_difference(entry(*stated), entry(*fact)).empty()))
      continue;
    stated->fail("is not that of " + data.file + ": leave the key out");
  }
}

store::SplitIndices split_data(const ConfigNode& section, const store::Dataset& dataset,
                               const DataOptions& data, std::uint64_t run_seed) {
  try {
    return store::split_dataset(dataset, data.validation, data.validation_limit,
                                derive_seed(run_seed, "validation split"));
  } catch (const UserError& error) {
    const ConfigNode* share = section.find("validation");
    (share != nullptr ? *share : section).fail(error.what());
  }
}

}  // namespace skyline::app
