#pragma once

#include "skyline/space/layer_kind.hpp"
#include "skyline/space/window.hpp"

#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

namespace skyline::space {

// The built-in kinds, one list per file.
using KindList = std::vector<std::unique_ptr<LayerKind>>;
void add_activations(KindList& kinds);
void add_attention(KindList& kinds);
void add_convolutions(KindList& kinds);
void add_drops(KindList& kinds);
void add_linear(KindList& kinds);
void add_merges(KindList& kinds);
void add_norms(KindList& kinds);
void add_pools(KindList& kinds);
void add_wiring(KindList& kinds);

/// Returns whether every program has the kind of this name.
bool is_built_in(std::string_view kind);

/// Notes an attribute, unless its value is the one that does nothing (Layer::attributes).
void set_unless(Layer& layer, std::string_view name, const Value& value, std::int64_t neutral);

/// Returns the shape of the places of a layer's window over its input, with the channels of the input.
/// @throws UserError through `reader` if the window does not fit
Shape places_of(const Window& window, const Layer& layer, AttributeReader& reader);

/// Returns the output length of a window that slides along `input`, both ends padded. @pre the window fits
std::int64_t sliding_output(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding);

/// Refuses an input that is not C x 1 x L. @throws UserError through `reader`
void require_sequence(const Layer& layer, AttributeReader& reader);

/// Multiplies the factors. The result is bounded, so that sums over a whole network cannot overflow.
/// @throws UserError through `reader` if it is larger than 2^44
std::int64_t bounded_product(AttributeReader& reader, std::initializer_list<std::int64_t> factors);

}  // namespace skyline::space
