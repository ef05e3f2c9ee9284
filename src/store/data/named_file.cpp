#include "store/data/named_file.hpp"

#include "core/system/process.hpp"
#include "store/publish/publish.hpp"

#include <filesystem>

namespace skyline::store {

std::string named_file(const ConfigNode& node, const std::string& given) {
  const std::string plain = expand_home(given);
  const auto beside = std::filesystem::path(node.position().file).parent_path() / plain;
  return store::exists(beside) ? beside.lexically_normal().string() : plain;
}

}  // namespace skyline::store
