#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"
#include "skyline/space/search_space.hpp"

#include "core/config/config_errors.hpp"
#include "space/language/network_item.hpp"
#include "space/language/parsed_space.hpp"
#include "space/language/searched_value.hpp"
#include "space/language/space_keys.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace skyline::space {

/// Thrown when a space grows beyond its bounds while it is read; it ends reading at once.
class SpaceTooLarge : public UserError {
 public:
  using UserError::UserError;
};

/// The mistakes of a space, up to a bound.
class Problems : public Mistakes {
 public:
  /// Runs the action and notes its UserError, if it throws one. @throws SpaceTooLarge after 1,000 mistakes
  template <typename Action>
  void attempt(Action&& action) {
    constexpr std::size_t kMostNoted = 1'000;
    std::optional<SpaceTooLarge> end;
    Mistakes::attempt([&] {
      try {
        action();
      } catch (const SpaceTooLarge& too_large) {
        end = too_large;
      }
    });
    if (!end && size() >= kMostNoted) end.emplace("the space has too many mistakes to read on");
    if (end) throw SpaceTooLarge(*end);
  }
};

/// The reader's place in the network. Parameters with `each: true` have their own value at every place. Each
/// repetition, use of a block and edge of a cell is a place.
struct TreePosition {
  /// An argument of the enclosing block, or the number of a repetition.
  struct Name {
    Names::Meaning meaning;
    std::optional<std::size_t> repeat;  // depth of the repetition that it counts
  };
  std::string path;  // e.g. ".stage_0.2"
  std::map<std::string, Name> names;
  std::map<std::string, std::size_t> outputs;  // numbers of the names that `from` may use
  std::size_t input = 0;                       // number of the name of the tensor that the list reads
  std::vector<std::string> blocks;             // enclosing blocks, the outermost first
};

/// Reads the network of a space into items with all names resolved. Blocks are inserted where they are used,
/// and a repetition is written out if places matter in it.
class SpaceReader {
 public:
  /// @param admits_missing_kinds  accept layers of kinds that this program does not have
  SpaceReader(const SpaceForm& form, const DataShape& data, bool admits_missing_kinds = false);

  /// Reads a value outside of the space that may name its parameters. Call it before read().
  /// @throws UserError for wrong syntax, an unknown name, and one that has a value for each place
  SearchedValue read_outside(const ConfigNode& value);
  /// Reads several such values; read() throws their mistakes.
  std::vector<SearchedValue> read_outside(const std::vector<ConfigNode>& values);
  /// Reads the network.
  /// @throws UserError with one line for each mistake that can be found before parameters have values
  ItemPointer read();
  /// Reads the conditions between parameters. Call it after read(), because they may name a parameter at a
  /// place. @throws UserError with one line for each mistake
  std::vector<Expression> read_where();
  /// Reads the conditions of parameters, nullopt for one that has none, in the order of take_parameters().
  /// Call it after read_where(). @throws UserError with one line for each mistake, and in a space with a
  /// network
  std::vector<std::optional<Expression>> read_when();
  /// Reads the expressions of given metrics that have one, in the same order. Call it after read_where().
  /// They may name parameters, also at a place, and costs of the network. @throws UserError with one line for
  /// each mistake, and for parameters that neither the network nor anything else uses
  std::vector<Expression> read_given(const std::vector<GivenExpression>& given);
  /// Returns the shared parameters in the order of declaration, then the others in the order of their use.
  std::vector<Parameter> take_parameters() { return std::move(parameters_); }
  /// Returns the expression of a given metric that names a cost in int8, if one does.
  const std::optional<ConfigNode>& asks_for_int8() const { return asks_for_int8_; }
  /// Returns one line for each parameter that is right but may surprise.
  std::vector<std::string> warnings() const;
  /// Returns the kinds of layers that only some programs have.
  const std::set<std::string>& registered_kinds() const { return registered_kinds_; }

 private:
  /// The names that an expression at one place may use.
  class PlaceNames final : public Names {
   public:
    PlaceNames(SpaceReader& reader, const TreePosition& place) : reader_(reader), place_(place) {}
    std::optional<Meaning> find(const std::string& name) override { return reader_.meaning(name, place_); }
    std::vector<std::string> known() const override { return reader_.known_names(place_); }
    const std::vector<Parameter>& parameters() const override { return reader_.parameters_; }
    void count_steps(std::size_t steps) override { reader_.count_steps(steps); }

   private:
    SpaceReader& reader_;
    const TreePosition& place_;
  };

  /// The names that a condition of `where` may use: those of parameters, also at places.
  class ParameterNames : public Names {
   public:
    explicit ParameterNames(SpaceReader& reader) : reader_(reader) {}
    std::optional<Meaning> find(const std::string& name) override;
    std::vector<std::string> known() const override;
    const std::vector<Parameter>& parameters() const override { return reader_.parameters_; }
    void count_steps(std::size_t steps) override { reader_.count_steps(steps); }
    bool have_places() const override { return true; }

   protected:
    SpaceReader& reader_;
  };

  /// The names that a given metric may use: those of parameters, and the costs of a network.
  class GivenNames final : public ParameterNames {
   public:
    GivenNames(SpaceReader& reader, const ConfigNode& scalar) : ParameterNames(reader), scalar_(scalar) {}
    std::optional<Meaning> find(const std::string& name) override;
    std::vector<std::string> known() const override;

   private:
    const ConfigNode& scalar_;
  };

  /// Bounds the work for any input. @throws SpaceTooLarge with the place of the current item
  void count_steps(std::size_t steps);

  // Names and parameters
  void declare_parameters();
  void read_blocks();
  std::optional<Names::Meaning> meaning(const std::string& name, const TreePosition& place);
  std::vector<std::string> known_names(const TreePosition& place) const;
  /// Returns the suffix for the name of a parameter at this place, or an empty text for a shared parameter.
  std::string path_of_each(bool each, const TreePosition& place);
  /// Returns the index of this parameter. If there is none, adds one with the values and weights of `like`.
  std::size_t parameter_at(const std::string& name, const Parameter& like);
  /// Counts a parameter with one value as used. One at a place is: the network has made the place.
  void note_used(const std::string& name);
  std::string choice_name(const ConfigNode& given, const std::string& kind, const ConfigNode& source);
  Expression expression(const ConfigNode& scalar, const TreePosition& place);
  /// Reads an expression of parameters that is not at a place of the network.
  Expression read_of_parameters(const ConfigNode& scalar, Names& names, const std::string& expected);
  Expression read_condition(const ConfigNode& scalar, const std::string& example);
  /// Reads several, and throws their mistakes.
  void read_conditions(const std::function<void()>& read);
  std::vector<Value> values_of(const Expression& expression);
  bool has_network() const { return !form_.network.is_null(); }
  void check_parameters_alone() const;
  /// Refuses more parameters, with one for each place, than the records of trials can have.
  void check_places() const;
  /// Refuses parameters of a space with a network that nothing uses.
  void check_used() const;

  // Items
  ItemPointer layers(const ConfigNode& node, const TreePosition& place);
  ItemPointer list(const ConfigNode& node, const TreePosition& place);
  ItemPointer item(const ConfigNode& node, TreePosition& place);
  ItemPointer any_item(const ConfigNode& node, TreePosition& place);
  ItemPointer map_item(const ConfigNode& node, TreePosition& place);
  ItemPointer main_item(const ConfigNode& node, const std::vector<TensorReference>& reads,
                        const TreePosition& place);
  ItemPointer named_item(const std::string& name, const ConfigNode& arguments, const ConfigNode& node,
                         const std::vector<TensorReference>& reads, const TreePosition& place);
  ItemPointer chosen_item(const ConfigNode& name, const ConfigNode& arguments, const TreePosition& place);
  ItemPointer block(const std::string& name, const ConfigNode& arguments, const TreePosition& place);
  void give_arguments(const std::string& block, const ConfigNode& given, const TreePosition& place,
                      TreePosition& inner);
  ItemPointer repeat(const ConfigNode& node, const TreePosition& place);
  ItemPointer one_of(const ConfigNode& node, const TreePosition& place);
  ItemPointer residual(const ConfigNode& node, const TreePosition& place);
  ItemPointer branch(const ConfigNode& node, const TreePosition& place);
  ItemPointer cell(const ConfigNode& node, const TreePosition& place);
  /// Alternatives among which the parameter of this name chooses.
  struct ChoiceForm {
    const std::vector<ConfigNode>& options;
    const ConfigNode& weights;
  };
  ItemPointer choice(const std::string& name, const ConfigNode& source, const ChoiceForm& form,
                     const TreePosition& place);
  std::vector<TensorReference> references(const ConfigNode& from, const TreePosition& place);

  const SpaceForm& form_;
  DataShape data_;
  const bool admits_missing_kinds_;
  std::set<std::string> registered_kinds_;
  std::optional<ConfigNode> asks_for_int8_;
  ConfigNode reading_;  // the place of the current item
  Problems problems_;
  std::vector<DeclaredParameter> declared_;
  std::map<std::string, BlockForm> blocks_;
  std::map<std::string, std::string> broken_blocks_;  // blocks with mistakes, and the mistakes
  std::vector<Parameter> parameters_;
  std::map<std::string, std::size_t> parameter_index_;  // index of each parameter by name
  std::map<std::string, std::string> choice_sources_;   // path of the item that has each name of a choice
  std::map<std::string, std::string> choice_names_;     // names of choices that the language gave, by item's
                                                        // path
  std::map<std::string, std::size_t> choices_;          // last number in such names, by kind of item
  std::map<std::string, std::size_t> uses_;             // number of uses of each block at a place
  std::vector<bool> used_;                              // whether declared_[i] is used
  std::vector<bool> repeats_;  // whether positions matter, for each enclosing repetition
  std::size_t steps_ = 0;
  std::size_t tensor_names_ = 0;
};

}  // namespace skyline::space
