#include "store/publish/yaml_file.hpp"

#include "core/config/yaml.hpp"
#include "store/publish/publish.hpp"

namespace skyline::store {

ConfigNode load_yaml_file(const std::filesystem::path& path) {
  return load_yaml_text(read_file(path), path.string());
}

}  // namespace skyline::store
