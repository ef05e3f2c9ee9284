#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"

#include <memory>

namespace skyline::app {

RunCommand search_command(CLI::App& command) {
  const auto arguments = std::make_shared<SearchArguments>();
  add_config(command, arguments->config, arguments->overrides);
  command.get_option("config")->required(false);
  add_job(command, *arguments);
  return [arguments, &command] {
    arguments->words = words_of(command);
    return run_search(*arguments);
  };
}

}  // namespace skyline::app
