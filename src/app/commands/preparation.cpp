#include "app/commands/preparation.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"
#include "skyline/store/importer.hpp"

#include "app/commands/output_file.hpp"
#include "app/models/model_data.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

/// Finds problems with the output now, rather than after everything has been read.
void check_out(const Preparation& arguments) {
  const std::filesystem::path& out = arguments.out;
  std::error_code ignored;  // a missing file has no problem
  if (!out.has_filename() || std::filesystem::is_directory(out, ignored))
    throw UserError(out.string() + ": a folder, expected the name of a file, e.g. " +
                    (out / "set.h5").string());
  check_output(out, arguments.force, arguments.sources);
}

/// Returns the options as a section with the importer's keys, so that errors name them as the user does.
ConfigNode section_of(const Preparation& arguments) {
  std::vector<ConfigNode::Entry> entries;
  for (const auto& [key, text] : arguments.options) {
    ConfigNode value = ConfigNode::make_scalar(text, {});
    value.assign_paths((arguments.by_with ? "--with " : "--") + key);
    entries.push_back({key, std::move(value), {}});
  }
  return ConfigNode::make_map(std::move(entries), {});
}

constexpr std::size_t kMostClassesShown = 100;

/// Prints the number of samples of each class in each part that has some.
void print_classes(const store::DatasetWriter& writer) {
  const std::vector<std::string>& names = writer.facts().class_names;
  std::vector<std::pair<store::Part, std::vector<std::size_t>>> parts;
  for (const store::Part part : store::kAllParts) {
    std::vector<std::size_t> counts = writer.class_counts(part);
    if (!std::ranges::all_of(counts, [](std::size_t count) { return count == 0; }))
      parts.emplace_back(part, std::move(counts));
  }
  if (parts.empty()) return;
  std::size_t width = std::string_view("class").size();
  for (const std::string& name : names) width = std::max(width, characters_in(printable(name)));
  const auto print_name = [width](const std::string& name) {
    const std::string shown = printable(name);
    std::cout << shown << std::string(width - characters_in(shown), ' ');
  };
  print_name("class");
  for (const auto& [part, counts] : parts) std::cout << std::setw(12) << to_text(part);
  for (std::size_t i = 0; i < std::min(names.size(), kMostClassesShown); ++i) {
    std::cout << '\n';
    print_name(names[i]);
    for (const auto& [part, counts] : parts) std::cout << std::setw(12) << counts[i];
  }
  if (names.size() > kMostClassesShown) std::cout << "\nand " << names.size() - kMostClassesShown << " more";
  std::cout << '\n';
}

/// Says how to count small classes as much as large ones, if some are much larger than others.
void print_advice_on_uneven(const std::vector<std::size_t>& train) {
  constexpr std::size_t kMuchLarger = 4;
  const auto [least, most] = std::ranges::minmax(train);
  if (most < kMuchLarger * least || least == 0) return;
  std::cout
      << "check: classes have " << least << " to " << most
      << " training samples, and accuracy counts the large ones most: `training.metrics: [accuracy, "
         "macro_f1]`, `maximize: validation_macro_f1` and `training.loss: {cross_entropy: {class_weights: "
         "balanced}}` count all alike\n";
}

/// Prints what was guessed, and what looks wrong.
void print_notes(const store::DatasetWriter& writer, const std::vector<std::string>& notes) {
  for (const std::string& line : notes) std::cout << printable(line) << '\n';
  if (writer.count(store::Part::kTest) == 0) std::cout << "check: the test set is empty\n";
  std::vector<std::size_t> all(writer.facts().class_names.size());
  std::size_t untrained = 0;
  const std::vector<std::size_t> train = writer.class_counts(store::Part::kTrain);
  if (train.empty()) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const store::Part part : store::kAllParts) {
      const std::vector<std::size_t> counts = writer.class_counts(part);
      if (!counts.empty()) all[i] += counts[i];
    }
    if (train[i] == 0) ++untrained;
  }
  const auto single = static_cast<std::size_t>(std::ranges::count(all, 1U));
  const std::string of = " of " + to_text(writer.target_kind(), all.size());
  std::map<std::string, std::string> in_lower_case;
  for (const std::string& name : writer.facts().class_names) {
    const auto [other, is_new] = in_lower_case.emplace(lower_case(name), name);
    if (is_new) continue;
    std::cout << "check: classes `" << printable(other->second) << "` and `" << printable(name)
              << "` differ in capitals alone\n";
    break;
  }
  print_advice_on_uneven(train);
  if (single > 0) std::cout << "check: " << single << of << " with one sample\n";
  if (untrained > 0) std::cout << "check: " << untrained << of << " without training samples\n";
}

void print_summary(const std::filesystem::path& out, const store::DatasetWriter& writer,
                   const std::vector<std::string>& notes) {
  print_classes(writer);
  const store::DatasetFacts& facts = writer.facts();
  const std::size_t validation = writer.count(store::Part::kValidation);
  std::cout << out.string() << ": " << writer.count(store::Part::kTrain) << " training";
  if (validation > 0) std::cout << ", " << validation << " validation";
  std::cout << " and " << writer.count(store::Part::kTest) << " test samples of "
            << space::to_text(facts.shape) << ", " << to_text(writer.target_kind(), facts.class_names.size())
            << '\n';
  print_notes(writer, notes);
}

}  // namespace

void prepare(const Preparation& arguments) {
  const auto importer = store::find_importer(arguments.kind);
  require(importer != nullptr, "the command line knows the kinds of sources");
  if (arguments.sources.empty() && !importer->sources().starts_with('['))
    throw UserError("prep " + arguments.kind + ": missing " + importer->sources());
  if (arguments.sources.size() > 1 && !importer->sources().ends_with("..."))
    throw UserError("prep " + arguments.kind + ": expected one " + importer->sources() + ", got " +
                    std::to_string(arguments.sources.size()));
  check_out(arguments);
  if (arguments.out.has_parent_path()) make_output_folder(arguments.out.parent_path());
  store::remove_temporaries_of(arguments.out);
  store::DatasetWriter writer(arguments.out);
  const store::ImportSource source{arguments.sources, section_of(arguments), arguments.threads};
  if (arguments.by_with) {
    import_by_with(*importer, source, writer);
  } else {
    importer->import(source, writer);
  }
  if (writer.count(store::Part::kTrain) == 0)
    throw UserError("prep " + arguments.kind + ": the training set is empty");
  writer.finish();
  std::vector<std::string> notes = writer.notes();
  for (std::string& note : notes) {
    if (arguments.by_with) note = spelled_by_with(note, *importer);
  }
  print_summary(arguments.out, writer, notes);
}

}  // namespace skyline::app
