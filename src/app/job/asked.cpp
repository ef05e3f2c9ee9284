#include "app/job/asked.hpp"

#include "skyline/core/error.hpp"

#include "app/config/config_file.hpp"
#include "comm/agreement.hpp"
#include "core/config/config_record.hpp"
#include "store/publish/publish.hpp"

#include <system_error>

#include <sys/stat.h>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

/// Returns the node of a path, or nullptr.
const ConfigNode* node_at(const ConfigNode& tree, const std::string& path) {
  if (tree.path() == path) return &tree;
  if (tree.is_list()) {
    for (const ConfigNode& item : tree.items()) {
      if (const ConfigNode* const found = node_at(item, path)) return found;
    }
  }
  if (tree.is_map()) {
    for (const ConfigNode::Entry& entry : tree.entries()) {
      if (const ConfigNode* const found = node_at(entry.value, path)) return found;
    }
  }
  return nullptr;
}

std::string value_of(const ConfigNode* node) {
  constexpr std::size_t kMostShown = 200;  // bytes
  if (node == nullptr) return "none";
  return node->is_scalar() && node->as_text().size() <= kMostShown ? node->as_text() : node->describe();
}

std::string told(const std::string& key, const std::string& first, const std::string& mine,
                 const std::string& name) {
  const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
  return key + ": rank 0 has " + shown(first) + ", " + name + " has " + shown(mine);
}

std::string difference_of_trees(const ConfigNode& first, const ConfigNode& mine, const std::string& name) {
  const std::string key = first_difference(first, mine);
  if (key.empty()) return {};
  const ConfigNode* const of_first = node_at(first, key);
  const ConfigNode* const of_mine = node_at(mine, key);
  if (key.starts_with("--") && of_first == nullptr)
    return key + ": " + name + " was given it, rank 0 was not";
  if (key.starts_with("--") && of_mine == nullptr) return key + ": rank 0 was given it, " + name + " was not";
  return told(key, value_of(of_first), value_of(of_mine), name);
}

AskedFolder asked_folder(const std::string& name, const fs::path& path) {
  std::error_code failure;
  fs::path absolute = fs::absolute(path, failure).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();  // `a/` is `a`
  fs::path there = absolute;
  struct stat status {};
  while (::stat(there.c_str(), &status) != 0 && there.has_relative_path()) there = there.parent_path();
  return {name, absolute.string(),
          std::to_string(status.st_ino) + "/" + absolute.lexically_relative(there).string()};
}

}  // namespace

template <typename Visitor>
void for_each_field(AskedFolder& folder, Visitor& visit) {
  visit(folder.name, folder.path, folder.number);
}

template <typename Visitor>
void for_each_field(Asked& asked, Visitor& visit) {
  visit(asked.words, asked.folders, asked.config_file, asked.config, asked.mistake);
}

Asked asked_of_rank(const SearchArguments& arguments) {
  const bool of_run = arguments.config.empty();
  const fs::path config = of_run ? store::RunPaths{arguments.run}.config() : arguments.config;
  Asked asked{{}, {asked_folder("working folder", ".")}, config.string(), {}, {}};
  for (const ConfigNode::Entry& word : arguments.words.entries()) {
    if (word.key == "--run" || word.key == "source")
      asked.folders.push_back(asked_folder(word.key, word.value.as_text()));
    else
      asked.words.set(word.key, word.value);
  }
  asked.words.assign_paths();
  if (!store::exists(config)) return asked;
  try {
    asked.config = load_config(config, arguments.overrides, of_run);
  } catch (const UserError& error) {
    asked.mistake = error.what();
  }
  return asked;
}

std::string asked_difference(const Asked& first, const Asked& mine, const std::string& name) {
  if (std::string found = difference_of_trees(first.words, mine.words, name); !found.empty()) return found;
  for (std::size_t i = 0; i < first.folders.size() && i < mine.folders.size(); ++i) {
    const AskedFolder& of_first = first.folders[i];
    const AskedFolder& of_mine = mine.folders[i];
    if (of_first.path != of_mine.path && of_first.number != of_mine.number)
      return told(of_mine.name, of_first.path, of_mine.path, name);
  }
  if (first.mistake != mine.mistake)
    return "configuration: " +
           (mine.mistake.empty() ? "rank 0: " + first.mistake : name + ": " + mine.mistake);
  if (first.config && mine.config) return difference_of_trees(*first.config, *mine.config, name);
  return first.config_file == mine.config_file
             ? ""
             : told("configuration", first.config_file, mine.config_file, name);
}

std::string asked_difference(comm::Environment& environment, const Asked& mine) {
  comm::Communicator& world = environment.world();
  if (comm::same_everywhere(world, to_record(mine))) return {};
  Asked first = comm::share(world, mine);  // in the usual case no rank sends a text
  first.words.assign_paths();
  if (first.config) first.config->assign_paths();
  const std::string name = "rank " + std::to_string(world.rank()) +
                           (environment.place().node_count > 1 ? " on " + environment.place().host : "");
  const std::string found = comm::first_problem(world, asked_difference(first, mine, name));
  if (found.empty()) return {};
  return "the ranks were asked for different things: " + found + "; start all with one command";
}

}  // namespace skyline::app
