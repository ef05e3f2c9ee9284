#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/search_space.hpp"

#include "space/language/network_item.hpp"
#include "space/language/parsed_space.hpp"
#include "space/language/problems.hpp"
#include "space/language/space_keys.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace skyline::space {

/// Where the reader stands in the network. Parameters with `each: true` have a value of their own at every
/// place; a repetition, the use of a block and an edge of a cell are places.
struct Place {
  /// An argument of the block around, or the number of a repetition.
  struct Name {
    Names::Meaning meaning;
    std::optional<std::size_t> repeat;  // the one that it counts, by its depth
  };
  std::string path;  // ".stage_0.2"
  std::map<std::string, Name> names;
  std::map<std::string, std::size_t> outputs;  // numbers of the names that `from` may use
  std::size_t input = 0;                       // number of the name of what the list reads
  std::vector<std::string> blocks;             // around this place, the outermost first
};

/// Reads the network of a space into items with all names resolved: blocks are put in where they are used,
/// and a repetition is written out where places matter in it.
class SpaceReader {
 public:
  /// @param admits_missing_kinds  layers of kinds that this program does not have are no mistakes
  SpaceReader(const SpaceForm& form, const DataShape& data, bool admits_missing_kinds = false);

  /// A scalar outside of the space, which may name its parameters; before the network is read.
  /// @throws UserError for wrong syntax, an unknown name, and one that has a value for each place
  Expression read_outside(const ConfigNode& scalar);
  /// Likewise several; read() throws their mistakes.
  std::vector<Expression> read_outside(const std::vector<ConfigNode>& scalars);
  /// @throws UserError with one line for each mistake that shows before any parameter has a value
  ItemPointer read();
  /// Shared ones in the order of their declaration, then the others as the network meets them.
  std::vector<Parameter> take_parameters() { return std::move(parameters_); }
  /// Kinds of the layers that not every program has.
  const std::set<std::string>& registered_kinds() const { return registered_kinds_; }

 private:
  /// The names that an expression at one place may read.
  class PlaceNames final : public Names {
   public:
    PlaceNames(SpaceReader& reader, const Place& place) : reader_(reader), place_(place) {}
    std::optional<Meaning> find(const std::string& name) override { return reader_.meaning(name, place_); }
    std::vector<std::string> known() const override { return reader_.known_names(place_); }
    const std::vector<Parameter>& parameters() const override { return reader_.parameters_; }
    void count_steps(std::size_t steps) override { reader_.count_steps(steps); }

   private:
    SpaceReader& reader_;
    const Place& place_;
  };

  /// Bounds the work on any input. @throws SpaceTooLarge
  void count_steps(std::size_t steps);
  /// @throws SpaceTooLarge at the item that is read
  [[noreturn]] void fail_too_large(const std::string& message) const;

  // Names and parameters
  void declare_parameters();
  void read_blocks();
  std::optional<Names::Meaning> meaning(const std::string& name, const Place& place);
  std::vector<std::string> known_names(const Place& place) const;
  /// What the name of a parameter gets that has a value of its own at every place, if it has.
  std::string path_of_each(bool each, const Place& place);
  /// Index of the parameter of this name; unless there is one, it gets values and weights `like` another one.
  std::size_t parameter_at(const std::string& name, const Parameter& like);
  std::string choice_name(const ConfigNode& given, const std::string& kind, const ConfigNode& source);
  Expression expression(const ConfigNode& scalar, const Place& place);
  std::vector<Value> values_of(const Expression& expression);
  void check_parameters() const;

  // Items
  ItemPointer layers(const ConfigNode& node, const Place& place);
  ItemPointer list(const ConfigNode& node, const Place& place);
  ItemPointer item(const ConfigNode& node, Place& place);
  ItemPointer any_item(const ConfigNode& node, Place& place);
  ItemPointer map_item(const ConfigNode& node, Place& place);
  ItemPointer main_item(const ConfigNode& node, const std::vector<TensorReference>& reads,
                        const Place& place);
  ItemPointer named_item(const std::string& name, const ConfigNode& arguments, const ConfigNode& node,
                         const std::vector<TensorReference>& reads, const Place& place);
  ItemPointer chosen_item(const ConfigNode& name, const ConfigNode& arguments, const Place& place);
  ItemPointer block(const std::string& name, const ConfigNode& arguments, const Place& place);
  void give_arguments(const std::string& block, const ConfigNode& given, const Place& place, Place& inner);
  ItemPointer repeat(const ConfigNode& node, const Place& place);
  ItemPointer one_of(const ConfigNode& node, const Place& place);
  ItemPointer residual(const ConfigNode& node, const Place& place);
  ItemPointer branch(const ConfigNode& node, const Place& place);
  ItemPointer cell(const ConfigNode& node, const Place& place);
  /// Alternatives of which a parameter of this name chooses one.
  struct ChoiceForm {
    const std::vector<ConfigNode>& options;
    const ConfigNode& weights;
  };
  ItemPointer choice(const std::string& name, const ConfigNode& source, const ChoiceForm& form,
                     const Place& place);
  std::vector<TensorReference> references(const ConfigNode& from, const Place& place);

  const SpaceForm& form_;
  DataShape data_;
  const bool admits_missing_kinds_;
  std::set<std::string> registered_kinds_;
  ConfigNode reading_;  // the place of the item that is read
  Problems problems_;
  std::vector<DeclaredParameter> declared_;
  std::map<std::string, BlockForm> blocks_;
  std::map<std::string, std::string> broken_blocks_;  // with their mistakes
  std::vector<Parameter> parameters_;
  std::map<std::string, std::size_t> parameter_index_;  // by name
  std::map<std::string, std::string> choice_sources_;   // path of the item that a choice's name belongs to
  std::map<std::string, std::string> choice_names_;     // that the language gave, by the path of the item
  std::map<std::string, std::size_t> choices_;          // numbers given to such names, by kind of item
  std::map<std::string, std::size_t> uses_;             // of a block at a place
  std::vector<bool> used_;                              // of declared_
  std::vector<bool> repeats_;                           // those around: whether places matter in them
  std::size_t steps_ = 0;
  std::size_t values_ = 0;  // of all parameters
  std::size_t items_ = 0;
  std::size_t tensor_names_ = 0;
};

}  // namespace skyline::space
