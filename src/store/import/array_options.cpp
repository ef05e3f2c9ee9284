#include "store/import/array_options.hpp"

#include "core/config/config_text.hpp"

namespace skyline::store {
namespace {

OptionKind<std::string> fill_in() {
  OptionKind<std::string> kind = text("`median`, `refuse` or a number");
  kind.read = [read = kind.read](const ConfigNode& node, std::string& value) {
    return read(node, value) && (value == "median" || value == "refuse" || number_in(value));
  };
  return kind;
}

}  // namespace

const OptionTable<ArrayOptions>& array_keys() {
  const auto name = [] { return text("the name of an array, or its file's"); };
  const auto columns = [] {
    return text("names of columns, or their numbers from 1, with commas between them");
  };
  static const OptionTable<ArrayOptions> table{
      {"x-train", &ArrayOptions::x_train, name(), "Array of the training samples (default: x_train)."},
      {"y-train", &ArrayOptions::y_train, name(), "Array of their targets (default: y_train)."},
      {"x-val", &ArrayOptions::x_val, name(),
       "Array of the validation samples (default: x_val, if there is one)."},
      {"y-val", &ArrayOptions::y_val, name(), "Array of their targets."},
      {"x-test", &ArrayOptions::x_test, name(),
       "Array of the test samples (default: x_test, if there is one)."},
      {"y-test", &ArrayOptions::y_test, name(), "Array of their targets."},
      {"label", &ArrayOptions::label, columns(),
       "The columns of a table that have the targets (default: the one called label, class, target or y, "
       "else "
       "the last one)."},
      {"drop", &ArrayOptions::drop, columns(), "Columns of a table to leave out."},
      {"id", &ArrayOptions::id, text("a column"), "The column of a table that names its samples."},
      {"group", &ArrayOptions::group, text("a column, or the name of an array"),
       "The column of a table, or the array [N], whose equal entries mark samples that stay in one part."},
      {"categories", &ArrayOptions::categories, columns(),
       "Columns of a table whose numbers are categories."},
      {"most-categories", &ArrayOptions::most_categories, whole<std::size_t>(at_least(1).at_most(10'000)),
       "Most categories of a column that get a feature each; one more stands for all others."},
      {"missing", &ArrayOptions::missing, fill_in(),
       "What stands for missing numbers of a table; one more feature says where they were missing."},
      {"layout", &ArrayOptions::layout,
       choice<Layout>({{"nchw", Layout::kChw},
                       {"nhwc", Layout::kHwc},
                       {"nhw", Layout::kHw},
                       {"nl", Layout::kLength},
                       {"ncl", Layout::kChannelsLength},
                       {"nlc", Layout::kLengthChannels},
                       {"nf", Layout::kFeatures}}),
       "What the dimensions are: n samples, c channels, h height, w width, l length, f features (default: "
       "nchw, nf, or what the run has; asked for where the array may well be another)."},
      {"shape", &ArrayOptions::shape, text("CHANNELSxHEIGHTxWIDTH or CHANNELSxLENGTH"),
       "Shape of a sample whose numbers lie in this order, e.g. 1x28x28, whatever the array's dimensions."},
      {"targets", &ArrayOptions::targets,
       if_given(choice<TargetKind>({{"classes", TargetKind::kClasses},
                                    {"labels", TargetKind::kLabels},
                                    {"numbers", TargetKind::kNumbers}})),
       "What the targets are (default: whole numbers [N] and words are classes, whole numbers [N, K] labels, "
       "floats numbers)."},
      {"value-scale", &ArrayOptions::value_scale, number(above(0)), "Largest value of uint8 samples."},
      {"test", &ArrayOptions::test, if_given(number(at_least(0).below(1))),
       "Share of every class that becomes the test set (default: 0.2, or 0 with a test or validation set)."},
      {"validation", &ArrayOptions::validation, number(at_least(0).below(1)),
       "Share of every class that is stored as the validation set."},
      {"seed", &ArrayOptions::seed, whole<std::uint64_t>(at_least(0)), "Of the draw of these shares."},
      {"split", &ArrayOptions::split, choice<Split>({{"drawn", Split::kDrawn}, {"last", Split::kLast}}),
       "How these shares are taken: `drawn` from every class, or the `last` samples, for series in time."}};
  return table;
}

}  // namespace skyline::store
