// The command that makes a configuration of the files of another system.
#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/output_file.hpp"
#include "app/config/config_file.hpp"
#include "app/config/run_config.hpp"
#include "app/prep/prep_process.hpp"
#include "core/config/config_text.hpp"
#include "core/system/temporary_folder.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::json;

constexpr int kMostValues = 100'000;  // upper bound for the values of a parameter

struct ImportArguments {
  std::string system;
  std::vector<fs::path> sources;
  fs::path out;
  int count = 100;  // values of a parameter that was continuous
  bool force = false;
};

/// Returns a tree with the place of each node in the user's files, for python/skyline/importers/source.py.
Json placed_json(const ConfigNode& node) {
  Json json{{"place", location(node.position())}, {"path", node.path()}};
  if (node.is_scalar()) {
    json["text"] = node.as_text();
    json["quoted"] = node.quoted();
  } else if (node.is_list()) {
    json["items"] = Json::array();
    for (const ConfigNode& item : node.items()) json["items"].push_back(placed_json(item));
  } else if (node.is_map()) {
    json["entries"] = Json::array();
    for (const auto& [key, value, position] : node.entries())
      json["entries"].push_back(Json::array({key, placed_json(value)}));
  }
  return json;
}

/// Reads YAML or JSON. The search space that NNI keeps in a file of its own is looked for beside it.
ConfigNode read_source(const fs::path& path) {
  ConfigNode root = load_config(path, {});
  for (const char* key : {"searchSpaceFile", "search_space_file", "searchSpacePath"}) {
    const ConfigNode* file = root.is_map() ? root.find(key) : nullptr;
    if (file == nullptr) continue;
    if (root.find("searchSpace") != nullptr || root.find("search_space") != nullptr)
      file->fail("cannot stand beside another search space");
    root.set("searchSpace", load_config(path.parent_path() / file->as_text(), {}));
    root.assign_paths();
  }
  return root;
}

/// @param made  the configuration, in a private folder whose name is not shown
/// @throws UserError, one line, if it is not valid
void check_made(const ImportArguments& arguments, const fs::path& made) {
  try {
    RunConfig::parse(load_config(made, {}), false);
  } catch (const UserError& error) {
    std::string message = error.what();
    message.resize(std::min(message.size(), message.find('\n')));
    if (message.starts_with(made.string())) message.replace(0, made.string().size(), arguments.out.string());
    throw UserError(arguments.sources.front().string() +
                    ": makes a configuration that is refused: " + message);
  }
}

/// Returns the configuration that a process of Python makes, which adds lines for the person.
std::string made_configuration(const ImportArguments& arguments, std::vector<std::string>& lines) {
  const HeldSignals signals;
  const TemporaryFolder folder(temporary_root(), "skyline-");
  const fs::path made = folder.path() / "made.yaml";
  PrepCall call{.title = "import " + arguments.system,
                .arguments = {"import", arguments.system, "--out=" + arguments.out.string(),
                              "--write-to=" + made.string(), "--count=" + std::to_string(arguments.count)}};
  const auto is_text = [](const fs::path& source) { return source.extension() != ".py"; };
  const auto text = std::ranges::find_if(arguments.sources, is_text);
  if (text != arguments.sources.end()) {
    const fs::path tree = folder.path() / "source.json";
    store::write_scratch_file(tree, placed_json(read_source(*text)).dump());
    call.arguments.push_back("--tree=" + tree.string());
  }
  call.arguments.emplace_back("--");
  for (const fs::path& source : arguments.sources) call.arguments.push_back(source.string());
  lines = run_prep(call, folder.path(), signals);
  check_made(arguments, made);
  return store::read_file(made);
}

int run_import(const ImportArguments& arguments) {
  const std::vector<std::string> systems{"nni", "archai"};
  if (std::ranges::find(systems, arguments.system) == systems.end())
    throw UserError("import: unknown system `" + arguments.system + "`, " +
                    suggestion(arguments.system, systems));
  if (arguments.out.empty()) throw UserError("import: missing -o FILE.yaml");
  check_output(arguments.out, arguments.force, arguments.sources);
  std::vector<std::string> lines;
  const std::string text = made_configuration(arguments, lines);
  write_output(arguments.out, text, arguments.force, arguments.sources);
  for (const std::string& line : lines) std::cout << line << '\n';
  return kExitDone;
}

}  // namespace

RunCommand import_command(CLI::App& command) {
  const auto arguments = std::make_shared<ImportArguments>();
  command.add_option("system", arguments->system, "system to come from: nni or archai")->required();
  add_path(
      command, "sources", arguments->sources,
      "NNI's config.yml or search_space.json; of Archai a Python file with the ArchParamTree, and perhaps "
      "the YAML of the search")
      ->required();
  add_path(command, "-o,--out", arguments->out, "configuration to write, e.g. mine.yaml");
  command
      .add_option("--count", arguments->count,
                  "values of each parameter that is continuous in the source (default: 100)")
      ->check(whole_number(2, kMostValues));
  command.add_flag("--force", arguments->force, "overwrite the configuration");
  return [arguments] { return run_import(*arguments); };
}

}  // namespace skyline::app
