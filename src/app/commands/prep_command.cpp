#include "skyline/store/importer.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/preparation.hpp"

#include <memory>
#include <string>

namespace skyline::app {
namespace {

/// Adds the subcommand of `prep` for a kind of source, with the options of its importer.
void add_importer(CLI::App& prep, const std::string& kind, Preparation& arguments) {
  const auto importer = store::find_importer(kind);
  CLI::App& command = *prep.add_subcommand(kind, importer->meaning());
  command.callback([&arguments, kind] { arguments.kind = kind; });
  add_path(command, "source", arguments.sources, importer->sources());
  add_path(command, "-o,--out", arguments.out, "data set file to write, e.g. data/mine.h5")->required();
  command.add_flag("--force", arguments.force, "overwrite the file if it is there");
  command.add_option("--threads", arguments.threads, "threads that read (default: one per core)")
      ->check(whole_number(1, kMostThreads));
  const auto keys = importer->keys();
  if (keys == nullptr) return;
  for (const OptionKey& key : keys->keys()) {
    const auto add = [&options = arguments.options, name = key.name](const std::string& text) {
      options.emplace_back(name, text);
    };
    command.add_option_function<std::string>("--" + key.name, add, key.meaning);
  }
}

}  // namespace

RunCommand prep_command(CLI::App& command) {
  const auto arguments = std::make_shared<Preparation>();
  command.require_subcommand(1);
  for (const std::string& kind : store::importer_names()) add_importer(command, kind, *arguments);
  return [arguments] {
    prepare(*arguments);
    return kExitDone;
  };
}

}  // namespace skyline::app
