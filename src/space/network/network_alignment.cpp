#include "space/network/network_alignment.hpp"

#include "skyline/space/layer_kind.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace skyline::space {
namespace {

Axis output_features(const Network& network, std::size_t index);

Axis input_features(const Network& network, const Layer& layer, std::size_t input = 0) {
  if (layer.inputs.empty()) return {{layer.input().channels, 1, 1}};
  return output_features(network, layer.inputs[input]);
}

Axis flattened(Axis features, const Shape& input) {
  for (Shape& segment : features) {
    if (input.height * input.width > 1) segment = {segment.elements(), input.height, input.width};
  }
  return features;
}

/// Returns the features that a layer gives, as tensor_axes describes them.
Axis output_features(const Network& network, std::size_t index) {
  const Layer* layer = &network.layers[index];
  Features features = traits_of(*layer).features;
  while (features == Features::kKept && !layer->inputs.empty()) {
    layer = &network.layers[layer->inputs.front()];
    features = traits_of(*layer).features;
  }
  if (features == Features::kFlattened) return flattened(input_features(network, *layer), layer->input());
  if (features != Features::kJoined) return {{layer->output.channels, 1, 1}};
  Axis joined;
  for (std::size_t input = 0; input < layer->inputs.size(); ++input) {
    const Axis one = input_features(network, *layer, input);
    joined.insert(joined.end(), one.begin(), one.end());
  }
  return joined;
}

struct AlignedTensor {
  const TensorSpec* spec;
  std::vector<Axis> axes;
};

using LayerTensors = std::vector<AlignedTensor>;

std::vector<LayerTensors> tensors_of(const Network& network) {
  std::vector<LayerTensors> layers(network.layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const TensorSpec& spec : network.layers[i].tensors) {
      if (spec.trainable) layers[i].push_back({&spec, tensor_axes(network, i, spec)});
    }
  }
  return layers;
}

std::int64_t common_elements(const Axis& left, const Axis& right) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    sum += std::min(left[i].channels, right[i].channels) * std::min(left[i].height, right[i].height) *
           std::min(left[i].width, right[i].width);
  }
  return sum;
}

std::int64_t common_elements(const std::vector<Axis>& left, const std::vector<Axis>& right) {
  if (left.size() != right.size()) return 0;
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < left.size(); ++axis) product *= common_elements(left[axis], right[axis]);
  return product;
}

std::int64_t shared_parameters(const LayerTensors& parent, const LayerTensors& child) {
  std::int64_t sum = 0;
  for (const AlignedTensor& mine : child) {
    for (const AlignedTensor& theirs : parent) {
      if (theirs.spec->name == mine.spec->name) sum += common_elements(theirs.axes, mine.axes);
    }
  }
  return sum;
}

/// The score of an alignment; scores are compared in the order of their members.
struct AlignmentScore {
  std::int64_t parameters = 0;
  std::int64_t likeness = 0;  // number of layers kept, kept unchanged, and of connections between them
  bool operator<(const AlignmentScore& other) const {
    return std::tie(parameters, likeness) < std::tie(other.parameters, other.likeness);
  }
  AlignmentScore operator+(const AlignmentScore& other) const {
    return {parameters + other.parameters, likeness + other.likeness};
  }
};

/// Sequence alignment over the layers in topological order. Cell (i, j) is about the first i layers of the
/// parent and the first j of the child. Each cell has two scores, as for affine gaps: the best of all
/// alignments, and the best that ends in the pair (i - 1, j - 1). So consecutive layers stay together.
class Aligner {
 public:
  Aligner(const Network& parent, const Network& child)
      : parent_(parent),
        child_(child),
        parent_tensors_(tensors_of(parent)),
        child_tensors_(tensors_of(child)),
        columns_(child.layers.size() + 1),
        steps_((parent.layers.size() + 1) * columns_) {}

  NetworkAlignment run() {
    fill();
    NetworkAlignment alignment(child_.layers.size());
    CellPosition place{parent_.layers.size(), child_.layers.size(), false};
    while (const auto pair = last_pair(place, {0, 0})) alignment[pair->child] = pair->parent;
    return alignment;
  }

 private:
  enum class Skip : std::uint8_t { kNothing, kParent, kChild };
  struct Step {
    Skip skip = Skip::kChild;     // last step of the cell's best alignment
    bool continues_pair = false;  // the pair of the cell follows the pair (i - 1, j - 1)
  };
  struct Scores {
    AlignmentScore best;
    std::optional<AlignmentScore> paired;  // no value if the two layers cannot be a pair
  };
  struct Pair {
    std::size_t parent;
    std::size_t child;
  };
  /// A cell on the way back. The flag selects the alignment that ends in the cell's pair.
  struct CellPosition {
    std::size_t i;
    std::size_t j;
    bool paired;
  };

  Step& step(std::size_t i, std::size_t j) { return steps_[i * columns_ + j]; }
  const Step& step(std::size_t i, std::size_t j) const { return steps_[i * columns_ + j]; }

  void fill() {
    std::vector<Scores> above(columns_);
    std::vector<Scores> row(columns_);
    for (std::size_t i = 1; i <= parent_.layers.size(); ++i) {
      for (std::size_t j = 1; j < columns_; ++j) {
        row[j] = scores(i, j, above[j - 1], above[j].best, row[j - 1].best);
      }
      std::swap(above, row);
      row.front() = {};
    }
  }

  Scores scores(std::size_t i, std::size_t j, const Scores& diagonal, const AlignmentScore& above,
                const AlignmentScore& left) {
    Scores cell;
    if (can_pair(i - 1, j - 1)) cell.paired = paired_score(i, j, diagonal);
    // In a tie the pair is left out, so that pairs come as early as possible.
    cell.best = std::max(left, above);
    step(i, j).skip = left < above ? Skip::kParent : Skip::kChild;
    if (cell.paired && cell.best < *cell.paired) {
      cell.best = *cell.paired;
      step(i, j).skip = Skip::kNothing;
    }
    return cell;
  }

  AlignmentScore paired_score(std::size_t i, std::size_t j, const Scores& diagonal) {
    const AlignmentScore own = own_score(i - 1, j - 1);
    AlignmentScore best = diagonal.best + own + links({i - 1, j - 1, false}, i - 1, j - 1);
    if (diagonal.paired) {
      const AlignmentScore continued = *diagonal.paired + own + links({i - 1, j - 1, true}, i - 1, j - 1);
      step(i, j).continues_pair = best < continued;
      best = std::max(best, continued);
    }
    return best;
  }

  bool can_pair(std::size_t p, std::size_t c) const {
    const bool ends_parent = p + 1 == parent_.layers.size();
    const bool ends_child = c + 1 == child_.layers.size();
    return ends_parent == ends_child && parent_.layers[p].kind == child_.layers[c].kind;
  }

  AlignmentScore own_score(std::size_t p, std::size_t c) const {
    const Layer& theirs = parent_.layers[p];
    const Layer& mine = child_.layers[c];
    const bool unchanged = theirs.input_shapes == mine.input_shapes && theirs.attributes == mine.attributes;
    return {shared_parameters(parent_tensors_[p], child_tensors_[c]), unchanged ? 2 : 1};
  }

  /// Returns the score of the inputs of the two layers that are paired in the alignment before them.
  AlignmentScore links(CellPosition before, std::size_t p, std::size_t c) const {
    const std::vector<std::size_t>& theirs = parent_.layers[p].inputs;
    const std::vector<std::size_t>& mine = child_.layers[c].inputs;
    if (theirs.empty() && mine.empty()) return {0, 1};
    std::int64_t count = 0;
    for (std::size_t k = 0; k < std::min(theirs.size(), mine.size()); ++k) {
      if (holds(before, {theirs[k], mine[k]})) ++count;
    }
    return {0, count};
  }

  /// Layers mostly read the layers shortly before them, so the way back to these is short.
  bool holds(CellPosition place, const Pair& wanted) const {
    while (const auto pair = last_pair(place, wanted)) {
      if (pair->child == wanted.child) return pair->parent == wanted.parent;
    }
    return false;
  }

  /// Returns the last pair of the alignment if both its layers are `earliest` or later, and moves before it.
  std::optional<Pair> last_pair(CellPosition& place, const Pair& earliest) const {
    while (place.i > earliest.parent && place.j > earliest.child) {
      const Step& here = step(place.i, place.j);
      if (place.paired || here.skip == Skip::kNothing) {
        --place.i;
        --place.j;
        place.paired = here.continues_pair;
        return Pair{place.i, place.j};
      }
      --(here.skip == Skip::kChild ? place.j : place.i);
    }
    return std::nullopt;
  }

  const Network& parent_;
  const Network& child_;
  std::vector<LayerTensors> parent_tensors_;
  std::vector<LayerTensors> child_tensors_;
  std::size_t columns_;
  std::vector<Step> steps_;
};

}  // namespace

NetworkAlignment align(const Network& parent, const Network& child) {
  return Aligner(parent, child).run();
}

double inherited_share(const Network& parent, const Network& child, const NetworkAlignment& alignment) {
  const std::vector<LayerTensors> parent_tensors = tensors_of(parent);
  const std::vector<LayerTensors> child_tensors = tensors_of(child);
  std::int64_t shared = 0;
  std::int64_t all = 0;
  for (std::size_t c = 0; c < child_tensors.size(); ++c) {
    for (const AlignedTensor& tensor : child_tensors[c]) all += tensor.spec->elements();
    if (alignment[c]) shared += shared_parameters(parent_tensors[*alignment[c]], child_tensors[c]);
  }
  return all == 0 ? 0.0 : static_cast<double>(shared) / static_cast<double>(all);
}

std::vector<Axis> tensor_axes(const Network& network, std::size_t layer, const TensorSpec& tensor) {
  std::vector<Axis> axes;
  for (std::size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    const std::int64_t extent = tensor.dims[axis];
    Axis segments{{1, extent, 1}};
    if (axis == 0) segments = output_features(network, layer);
    if (axis == 1) segments = input_features(network, network.layers[layer]);
    std::int64_t indices = 0;
    for (const Shape& segment : segments) indices += segment.elements();
    if (indices != extent) segments = {{extent, 1, 1}};
    axes.push_back(std::move(segments));
  }
  return axes;
}

const TensorSpec* find_tensor(const Layer& layer, const std::string& name) {
  const auto found = std::ranges::find(layer.tensors, name, &TensorSpec::name);
  return found == layer.tensors.end() ? nullptr : &*found;
}

}  // namespace skyline::space
