#include "store/data/named_file.hpp"

#include "core/system/process.hpp"
#include "store/publish/publish.hpp"

namespace skyline::store {

std::array<std::filesystem::path, 2> places_of_file(const ConfigNode& node, const std::string& given) {
  const std::filesystem::path plain = expand_home(given);
  return {(std::filesystem::path(node.position().file).parent_path() / plain).lexically_normal(), plain};
}

std::string named_file(const ConfigNode& node, const std::string& given) {
  const auto [beside, plain] = places_of_file(node, given);
  return (store::exists(beside) ? beside : plain).string();
}

std::string named_file_that_exists(const ConfigNode& node, const std::string& given,
                                   const std::string& advice) {
  std::string file = named_file(node, given);
  if (!store::exists(file))
    node.fail("there is no " + file + ", nor is it beside the configuration" + advice);
  return file;
}

}  // namespace skyline::store
