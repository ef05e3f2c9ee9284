#include "app/commands/prep_command.hpp"

#include "skyline/core/error.hpp"

#include "app/commands/commands.hpp"
#include "app/commands/output_file.hpp"
#include "core/system/process.hpp"
#include "store/publish/publish.hpp"

#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace skyline::app {
namespace {

/// The words of `skyline prep`, of which a kind's own process reads most.
class PrepWords {
 public:
  explicit PrepWords(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) i += parse_word(words, i);
  }

  int run() {
    const std::string& kind = preparation_.source.kind;
    preparation_.source.title = kind.empty() ? "prep" : "prep " + kind;
    if (help_ || kind.empty()) {
      for (const std::string& line : prep_help(kind, help_)) std::cout << line << '\n';
    } else if (preparation_.out.empty()) {
      fail("--out is required");
    } else {
      prepare(preparation_);
    }
    return kExitDone;
  }

 private:
  /// Returns how many words behind this one belong to it.
  std::size_t parse_word(const std::vector<std::string>& words, std::size_t i) {
    const std::string& word = words[i];
    PrepSource& source = preparation_.source;
    const bool is_option = word.starts_with("-") && word != "-" && !behind_;
    if (!is_option && source.kind.empty()) {
      source.kind = word;
    } else if (is_option && (word == "-h" || word == "--help")) {
      help_ = true;
    } else if (is_option && word == "--force") {
      preparation_.force = true;
    } else if (is_option && word.starts_with("--out=")) {
      preparation_.out = expand_home(word.substr(std::string_view("--out=").size()));
    } else if (is_option && (word == "-o" || word == "--out")) {
      if (i + 1 == words.size()) fail("--out: expected a file");
      preparation_.out = expand_home(words[i + 1]);
      return 1;
    } else {
      behind_ = behind_ || word == "--";
      source.words.push_back(word);
    }
    return 0;
  }
  [[noreturn]] void fail(const std::string& message) const {
    const std::string& kind = preparation_.source.kind;
    throw UserError("prep " + kind + ": " + message + " (see skyline prep " + kind + " --help)");
  }

  PrepArguments preparation_;
  bool help_ = false;
  bool behind_ = false;  // whether `--` came
};

/// Finds problems with the output now, rather than after everything has been read.
void check_out(const PrepArguments& arguments) {
  const std::filesystem::path& out = arguments.out;
  std::error_code ignored;  // a missing file has no problem
  if (!out.has_filename() || std::filesystem::is_directory(out, ignored))
    throw UserError(out.string() + ": a folder, expected the name of a file, e.g. " +
                    (out / "set.h5").string());
  check_output(out, arguments.force, {arguments.source.words.begin(), arguments.source.words.end()});
}

}  // namespace

void prepare(const PrepArguments& arguments) {
  check_out(arguments);
  if (arguments.out.has_parent_path()) make_output_folder(arguments.out.parent_path());
  store::remove_temporaries_of(arguments.out);
  for (const std::string& line : make_dataset(arguments.source, arguments.out)) std::cout << line << '\n';
}

RunCommand prep_command(CLI::App& command) {
  command.set_help_flag();
  command.prefix_command();
  CLI::App& teacher = *command.add_subcommand("teacher", "write what a larger network says of a data set");
  return [&command, &teacher, teach = teacher_command(teacher)] {
    return teacher.parsed() ? teach() : PrepWords(command.remaining()).run();
  };
}

}  // namespace skyline::app
