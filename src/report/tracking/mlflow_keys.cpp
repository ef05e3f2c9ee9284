#include "report/tracking/mlflow_keys.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace skyline::report {
namespace {

constexpr std::size_t kMostBytes = 250;

bool is_below(std::string_view key, std::string_view folder) {
  return key.size() > folder.size() && key.starts_with(folder) && key[folder.size()] == '/';
}

}  // namespace

std::string mlflow_key(std::string text) {
  constexpr std::string_view kOthers = "_-. /";
  for (char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool plain = code < 0x80 && std::isalnum(code) != 0;
    if (!plain && kOthers.find(c) == std::string_view::npos) c = '_';
  }
  text = text.substr(0, kMostBytes);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::string legal = part.empty()                  ? "_"
                              : part == "." || part == ".." ? std::string(part.size(), '_')
                                                            : part;
    text.replace(begin, part.size(), legal);
    begin += legal.size() + 1;
  }
  if (text.size() > kMostBytes) {
    text.resize(kMostBytes);
    text.back() = '_';  // replaces a cut character
  }
  return text;
}

const std::string& MlflowKeys::of(const std::string& name) {
  if (const auto found = keys_.find(name); found != keys_.end()) return found->second;
  std::string plain = mlflow_key(name);
  const bool below_file = std::any_of(keys_.begin(), keys_.end(),
                                      [&](const auto& entry) { return is_below(plain, entry.second); });
  if (below_file) std::replace(plain.begin(), plain.end(), '/', '_');
  std::string key = plain;
  for (std::size_t number = 2; !is_free(key); ++number) {
    const std::string suffix = "_" + std::to_string(number);
    key = plain.substr(0, kMostBytes - suffix.size()) + suffix;
  }
  return keys_.emplace(name, std::move(key)).first->second;
}

bool MlflowKeys::is_free(const std::string& key) const {
  return std::none_of(keys_.begin(), keys_.end(), [&](const auto& entry) {
    return entry.second == key || is_below(entry.second, key) || is_below(key, entry.second);
  });
}

}  // namespace skyline::report
