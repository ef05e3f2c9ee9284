#pragma once

#include "skyline/space/layer_kind.hpp"

#include <initializer_list>
#include <memory>

namespace skyline::space {

std::unique_ptr<LayerKind> make_add();
std::unique_ptr<LayerKind> make_batch_norm();
std::unique_ptr<LayerKind> make_concat();
std::unique_ptr<LayerKind> make_conv2d();
std::unique_ptr<LayerKind> make_dropout();
std::unique_ptr<LayerKind> make_flatten();
std::unique_ptr<LayerKind> make_global_average_pool();
std::unique_ptr<LayerKind> make_linear();
std::unique_ptr<LayerKind> make_max_pool();
std::unique_ptr<LayerKind> make_multiply();
std::unique_ptr<LayerKind> make_relu();

/// Output length of a window that slides along `input`, both ends padded. @pre the window fits
std::int64_t sliding_output(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding);

/// Multiplies the factors; bounded, so that sums over a whole network cannot overflow.
/// @throws UserError through `reader` if it is larger than 2^48
std::int64_t bounded_product(AttributeReader& reader, std::initializer_list<std::int64_t> factors);

}  // namespace skyline::space
