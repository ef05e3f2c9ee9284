#include "evaluate/process/error_words.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <optional>
#include <regex>
#include <string_view>
#include <utility>

namespace skyline::evaluate {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kMostLogLines = 2000;
constexpr std::size_t kLongestLogLine = 1000;
constexpr std::size_t kTailBytes = std::size_t{1} << 16;
constexpr std::size_t kMostErrorLines = 40;  // an error further from the end is another one
constexpr std::size_t kLongestWords = 240;
constexpr std::size_t kRuleOfOpenMpi = 74;  // dashes around a notice of mpirun

std::regex pattern(const char* text, bool any_case = false) {
  return std::regex(text, std::regex::ECMAScript | std::regex::optimize |
                              (any_case ? std::regex::icase : std::regex::flag_type{}));
}

bool found(const std::string& line, const std::regex& what) {
  return std::regex_search(line, what);
}

bool is_indented(const std::string& line) {
  // A traceback of the library `rich` stands in a box.
  return line.starts_with(' ') || line.starts_with('\t') || line.starts_with("│") || line.starts_with("╰");
}

bool ends_with_colon(const std::string& line) {
  const std::size_t last = line.find_last_not_of(" \t");
  return last != std::string::npos && line[last] == ':';
}

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t") + 1 - first);
}

/// Returns the lines without colours, without what says which process printed them, and without the notices
/// of mpirun.
Lines plain(const Lines& lines) {
  static const std::regex colour = pattern(R"(\\x1b\[[0-9;]*[A-Za-z])");
  static const std::regex label = pattern(R"(^(?:\[rank\d+\]: ?|\[\d+,\d+\]<std(?:out|err)>: ?))");
  const std::string rule(kRuleOfOpenMpi, '-');
  const bool has_notices = std::ranges::count(lines, rule) % 2 == 0;
  Lines plain;
  bool in_notice = false;
  for (const std::string& line : lines) {
    if (has_notices && line == rule) {
      in_notice = !in_notice;
    } else if (!in_notice) {
      const bool has_colour = line.find("\\x1b") != std::string::npos;
      std::string text = has_colour ? std::regex_replace(line, colour, "") : line;
      plain.push_back(text.starts_with('[') ? std::regex_replace(text, label, "") : std::move(text));
    }
  }
  return plain;
}

/// Reads exceptions of Python.
class Tracebacks {
 public:
  explicit Tracebacks(const Lines& lines) : lines_(lines) {}

  /// Returns type and first line of the last one that ended the program, or empty.
  std::string last() {
    std::string chosen;
    bool is_aside = true;
    for (next_ = 0; next_ < lines_.size();) {
      const std::size_t header = next_++;
      if (lines_[header].find("Traceback (most recent call last)") == std::string::npos) continue;
      const std::string line = exception();
      const bool aside = is_aside_at(header) || wraps(line);
      if (line.empty() || (aside && !is_aside)) continue;
      chosen = line;
      is_aside = aside;
    }
    return chosen;
  }

 private:
  /// Returns the line without what marks it as a part of a group: `  | `, `  +-+---- 1 ----`.
  static std::string bare(const std::string& line) {
    static const std::regex mark = pattern(R"(^ *[|+] ?)");
    return std::regex_replace(line, mark, "");
  }
  static bool is_in_group(const std::string& line) {
    const std::string text = trimmed(line);
    return text.starts_with('|') || text.starts_with('+');
  }
  /// Returns whether it was told that a child failed, which has said more before.
  static bool wraps(const std::string& line) {
    static const std::regex wrapper = pattern(R"(^[\w.]*(?:ChildFailedError|CalledProcessError)\b)");
    return found(line, wrapper);
  }
  /// Returns whether the lines before say that the program went on, or was at its end already.
  bool is_aside_at(std::size_t header) const {
    static const std::regex aside = pattern(
        "^(?:Exception ignored |Exception in thread |Error in (?:atexit|sys\\.)|--- Logging error|"
        "Task exception was never retrieved)");
    // asyncio may put a line `future: <Task ...>` between its message and the header of the traceback.
    const std::size_t first = header < 2 ? 0 : header - 2;
    return std::any_of(lines_.begin() + static_cast<std::ptrdiff_t>(first),
                       lines_.begin() + static_cast<std::ptrdiff_t>(header),
                       [](const std::string& line) { return found(line, aside); });
  }

  /// Reads the rest of a traceback. Returns its exception's line, which the first of a group follows.
  std::string exception() {
    const bool in_group = is_in_group(lines_[next_ - 1]);
    std::string line = line_after_frames(in_group);
    if (!in_group) return line;
    static const std::regex first = pattern(R"(^ *\+-\+-+ 1 -+)");
    static const std::regex group = pattern(R"( \(\d+ sub-exceptions?\)$)");
    std::string part;
    for (; next_ < lines_.size() && is_in_group(lines_[next_]); ++next_) {
      const bool begins = part.empty() && found(lines_[next_], first) && next_ + 1 < lines_.size();
      if (!begins) continue;
      ++next_;
      const bool has_frames = lines_[next_].find("Traceback (most") != std::string::npos;
      if (has_frames) ++next_;
      part = line_after_frames(true);
      if (found(part, group)) part.clear();  // its members say more
      --next_;
    }
    return part.empty() ? line : line + ": " + part;
  }

  std::string line_after_frames(bool in_group) {
    const auto text = [&] { return in_group ? bare(lines_[next_]) : lines_[next_]; };
    while (next_ < lines_.size() && is_indented(text())) ++next_;
    if (next_ == lines_.size()) return {};
    std::string line = trimmed(text());
    ++next_;
    const bool goes_on = ends_with_colon(line) && next_ < lines_.size() &&
                         lines_[next_].find("Traceback") == std::string::npos;
    return goes_on ? line + " " + trimmed(text()) : line;
  }

  const Lines& lines_;
  std::size_t next_ = 0;
};

/// Returns whether a line says that it is an error. A number behind the word is a measurement.
bool says_error(const std::string& line) {
  static const std::regex levels =
      pattern(R"(^.{0,40}\b(?:ERROR|FATAL|CRITICAL|SEVERE)\b(?!\s*[:=]?\s*[-+]?\d))");
  static const std::regex words =
      pattern(R"((?:^|[\s:\])])(?:fatal )?(?:error|fatal|panic)(?:\[\w+\])?\s*[:!]\s*(?![-+]?\d)\S)", true);
  static const std::regex types = pattern(R"(^(?:Uncaught )?[\w.$]*(?:Error|Exception)\b(?: \[\w+\])?: *\S)");
  static const std::regex others = pattern(
      "^(?:\\w+ )?Error (?:in|using|at) |^Exception in thread |^Unhandled exception|panicked at |"
      "^\\*\\* \\(|^terminate called after |^\\S*:? ?Assertion .*failed|Check failed|: command not found$|"
      ": (?:No such file or directory|Permission denied)$|\\berror:$");
  if (is_indented(line)) return false;
  return found(line, levels) || found(line, words) || found(line, types) || found(line, others);
}

/// Returns whether a line only goes with an error: a note, a wrapper's word of it, the calls.
bool goes_with_error(const std::string& line) {
  static const std::regex parts = pattern(
      "^(?:note|hint|help|tip|usage|warning|caused by|calls|in addition|example) ?:|"
      "^(?:make(?:\\[\\d+\\])?: \\*\\*\\*|srun: |slurmstepd: |prterun|mpirun|npm err!|node\\.js v|"
      "stack ?trace(?:back)?:|callstack|goroutine |backtrace|execution halted|exit status|a complete log)|"
      "\\bconda run\\b|failed \\(exitcode|^Error in .*\\(line \\d+\\)$|^\\W+$",
      true);
  return is_indented(line) || found(line, parts);
}

/// Returns whether a line is advice, or tells how far a program is or how fast, unless it says what is wrong.
bool is_no_reason(const std::string& line) {
  static const std::regex beginnings = pattern(
      "^(?:try|run|rerun|re-run|see|use|set|type|check|please|for (?:more|details|help|further)|if you|"
      "did you "
      "mean|consider|exit(?:ing|ed)?|abort(?:ing|ed)?)\\b(?!.*\\b(?:fail|error|cannot|can't|not|missing|no)"
      ")|--help|see above|%\\||\\dit/s|s/it\\b",
      true);
  return found(line, beginnings);
}

/// Returns whether a line tells how far a program is or how fast, which is no reason.
bool tells_progress(const std::string& line) {
  static const std::regex progress = pattern(
      R"(^\W*(?:epoch|step|iter(?:ation)?|batch|trial|train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|loss|acc(?:uracy)?)\b|\b(?:elapsed|took|time|eta|remaining|speed|throughput|mem(?:ory)?)\b[^a-z]{0,3}\d)",
      true);
  return found(line, progress);
}

/// Returns the number of a line that says that it is an error, if there is one: the last, or the first of
/// those between which only details stand, e.g. of a compiler.
std::optional<std::size_t> error_line(const Lines& lines) {
  std::optional<std::size_t> chosen;
  std::size_t seen = 0;
  for (std::size_t i = lines.size(); i-- > 0 && seen < kMostErrorLines;) {
    const bool is_error = says_error(lines[i]) && !goes_with_error(lines[i]);
    if (is_error) chosen = i;
    if (!is_indented(lines[i])) ++seen;
    if (chosen && !is_error && !goes_with_error(lines[i])) break;
  }
  return chosen;
}

/// Returns the words of a line that says that it is an error, with the next line where that has them.
std::string words_at(const Lines& lines, std::size_t place) {
  static const std::regex introduction = pattern(
      R"(^(?:Exception in thread ".*?" |Unhandled exception[.:] |Uncaught (?=\w+:)|terminate called after throwing an instance of |thread '.*?' (?:\(\d+\) )?(?=panicked)))");
  const std::string next = place + 1 < lines.size() ? trimmed(lines[place + 1]) : std::string();
  std::string line = trimmed(std::regex_replace(lines[place], introduction, ""));
  constexpr std::string_view kWhat = "what():";
  if (next.starts_with(kWhat)) {
    std::erase(line, '\'');
    return line + ":" + next.substr(kWhat.size() + (next.substr(kWhat.size()).starts_with("  ") ? 1 : 0));
  }
  const bool is_of_matlab = line.starts_with("Error using ") && line.find(':') == std::string::npos;
  if (next.empty() || !(is_of_matlab || ends_with_colon(line))) return line;
  return line + (is_of_matlab ? ": " : " ") + next;
}

/// Replaces a word wherever it stands as a whole.
void replace_name(std::string& text, const std::string& name, const std::string& by) {
  const auto is_part = [&](std::size_t place) {
    return place < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[place])) != 0 || text[place] == '_');
  };
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
    const bool is_whole = !(at > 0 && is_part(at - 1)) && !is_part(at + name.size());
    if (is_whole) text.replace(at, name.size(), by);
    at += is_whole ? by.size() : name.size();
  }
}

}  // namespace

std::string error_words(const Lines& log) {
  const Lines lines = plain(log);
  if (std::string exception = Tracebacks(lines).last(); !exception.empty()) return exception;
  if (const auto line = error_line(lines)) return words_at(lines, *line);
  const auto last = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
    return !goes_with_error(line) && !is_no_reason(line);
  });
  static const std::regex word = pattern(R"(\b[A-Za-z]{3,}\b)");  // else a line of numbers
  const bool is_reason = last != lines.rend() && !tells_progress(*last) && found(*last, word);
  return is_reason ? trimmed(*last) : std::string();
}

std::string without_places(std::string words, const OwnNames& names) {
  struct Rule {
    std::regex what;
    const char* by;
  };
  static const std::vector<Rule> rules{
      {pattern(R"(^\[?[EFWIC]\d{4,8} \d\d:\d\d:\d\d(?:[.,]\d+)? +(?:\d+ )?)"), ""},  // glog, with a thread
      {pattern(R"(^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,:]\d+)?)?(?:Z|[-+]\d\d:?\d\d)?\]?:? )"),
       ""},
      {pattern(
           R"(\b\d{4}[-/]\d\d[-/]\d\d(?:[T_ ]\d\d[:-]\d\d(?:[:-]\d\d(?:[.,]\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?)"),
       "TIME"},
      {pattern(R"(\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b)"), "TIME"},
      {pattern(R"(\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)", true), "UUID"},
      {pattern(R"(\b0x[0-9a-f]{5,}\b)", true), "0x..."},
      {pattern(R"(\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b)"), "ADDRESS"},
      {pattern(
           R"(\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b|\b[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*::[0-9a-f:]*\d[0-9a-f:]*)",
           true),
       "ADDRESS"},
      {pattern(R"((^|[^\w:])::[0-9a-f:]*\d[0-9a-f:]*)", true), "$1ADDRESS"},
      {pattern(R"((?:/tmp|/var/tmp|/dev/shm|\bTMPDIR)/[^\s'"`:,;()<>\]]+)"), "TMPDIR/..."},
      {pattern(R"(\b((?:pid|tid|process(?: id)?|thread(?: id)?|port)(?: ?[:=#(]+ ?| ))\d+\b)", true), "$1N"},
      {pattern(R"(\bHOST(?:\.[\w-]+)*(?::\d+)?\b)"), "HOST"},
      {pattern(
           R"(\b\d+(?:\.\d+)?(?:e[-+]?\d+)? ?(s|ms|us|ns|sec|secs|seconds?|min|minutes?|hours?|\w+/s)(?![\w/]))"),
       "N $1"},
      {pattern(R"([.;]? *\(?GPU \d+(?: has a total capacity|;).*$)"), ""},  // how full it was
  };
  for (const auto& [name, by] : names) {
    if (name.find_first_not_of("0123456789") != std::string::npos) {
      replace_name(words, name, by);
    } else if (!name.empty()) {
      words =
          std::regex_replace(words, std::regex("^([\\w.-]*\\[)?" + name + "(?=:|\\](?::| |$))"), "$1" + by);
    }
  }
  for (const Rule& rule : rules) words = std::regex_replace(words, rule.what, rule.by);
  return words;
}

std::string said_in(const std::filesystem::path& log, const OwnNames& names) {
  const std::string words = without_places(error_words(log_tail(log, kMostLogLines, kLongestLogLine)), names);
  return words.empty() ? std::string() : ": " + shortened(words, kLongestWords);
}

std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t most_lines,
                                  std::size_t longest_line) {
  const std::string text = store::read_end(log, kTailBytes);
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (!rest.empty() && lines.size() < most_lines) {
    const std::size_t before = rest.rfind('\n');
    std::string_view line = before == std::string_view::npos ? rest : rest.substr(before + 1);
    rest = rest.substr(0, before == std::string_view::npos ? 0 : before);
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (const std::size_t start = line.rfind('\r'); start != std::string_view::npos)
      line.remove_prefix(start + 1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    lines.push_back(shortened(printable(line.substr(0, kTailBytes), "\t"), longest_line));
  }
  std::ranges::reverse(lines);
  return lines;
}

void warn_with_tail(const std::string& failure, const std::filesystem::path& log) {
  const std::vector<std::string> lines = log_tail(log);
  log::warning(failure + (lines.empty() ? "; nothing was printed" : "; the end of " + log.string() + ":"));
  for (const std::string& line : lines) log::warning("  | " + line);
}

}  // namespace skyline::evaluate
