#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/config_file.hpp"
#include "app/tuner/sampler.hpp"
#include "evaluate/process/reported_lines.hpp"

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace skyline::app {
namespace {

constexpr std::size_t kInputPieceBytes = std::size_t{1} << 16U;

struct SamplerArguments {
  std::filesystem::path config;
  std::vector<std::string> overrides;
};

/// Answers the lines on standard input.
class SamplerInput final : public evaluate::ReportedLines {
 public:
  explicit SamplerInput(Sampler& sampler) : ReportedLines(kLongestTunerLine), sampler_(sampler) {}

 private:
  void read_line(std::string_view line) override {
    try {
      if (const auto answer = sampler_.answer_to(line)) std::cout << *answer << std::flush;
    } catch (const UserError& mistake) {
      refuse("sampler: line " + std::to_string(lines()) + " of its input: " + mistake.what());
    }
  }

  Sampler& sampler_;
};

int run_sampler(const SamplerArguments& arguments) {
  const RunConfig config = RunConfig::parse(load_config(arguments.config, arguments.overrides), false);
  Sampler sampler(config);
  std::cout << sampler.first_line() << std::flush;
  SamplerInput input(sampler);
  std::string piece(kInputPieceBytes, '\0');
  while (!input.mistake()) {
    const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw FaultError("cannot read standard input: " + system_error_text(errno));
    if (count == 0) return kExitDone;
    input.feed(std::string_view(piece).substr(0, static_cast<std::size_t>(count)),
               evaluate::ReportChannel::kDescriptor);
  }
  throw UserError(*input.mistake());
}

}  // namespace

RunCommand sampler_command(CLI::App& command) {
  const auto arguments = std::make_shared<SamplerArguments>();
  add_config(command, arguments->config, arguments->overrides);
  return [arguments] { return run_sampler(*arguments); };
}

}  // namespace skyline::app
