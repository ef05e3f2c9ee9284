#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::model_export {

/// Returns a text as a literal of C, with its quotes.
std::string c_literal(std::string_view text);
/// Returns a text for a comment between slash and star.
std::string c_comment(std::string_view text);
/// Returns a float as a literal of C, exactly.
std::string c_float(float value);
/// Returns "{1.0F, 2.0F}".
std::string c_floats(const std::vector<float>& values);
/// Returns bytes as the lines of an array's initializer.
std::string c_bytes(std::string_view bytes);
/// Returns a template with each @NAME@ replaced by its value. @throws InternalError for an unknown name
std::string filled(std::string_view text, const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace skyline::model_export
