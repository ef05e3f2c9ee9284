#include "store/journal/asked_trials.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "store/journal/journal.hpp"
#include "store/journal/journal_header.hpp"
#include "store/journal/journal_line.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <string_view>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::string_view kStart = "results.";
constexpr std::string_view kEnd = ".jsonl";

std::filesystem::path results_path(const RunPaths& paths, int rank) {
  return paths.checkpoints() / (std::string(kStart) + std::to_string(rank) + std::string(kEnd));
}

std::filesystem::path asked_path(const RunPaths& paths) {
  return paths.checkpoints() / "asked.jsonl";
}

std::vector<std::filesystem::path> all_results_paths(const RunPaths& paths) {
  std::vector<std::filesystem::path> found;
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    const std::string name = path.filename().string();
    if (name.starts_with(kStart) && name.ends_with(kEnd)) found.push_back(path);
  }
  return found;
}

/// Reads the usable lines of files that begin with the header of the journal.
class LinesReader {
 public:
  /// @param use  gets a line; it may throw
  LinesReader(const JournalHeader& header, std::function<void(const nlohmann::ordered_json&)> use)
      : header_(header), use_(std::move(use)) {}

  void read(const std::filesystem::path& path) const {
    try {
      const std::string text = read_file(path);
      std::size_t number = 0;
      for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end);
        rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
        if (++number == 1) {
          check_header(line);
        } else {
          read_line(path, number, line);
        }
      }
    } catch (const std::exception& error) {
      log::warning(path.string() + ": " + error.what() + "; its trials are trained again");
    }
  }

 private:
  static nlohmann::ordered_json parse(std::string_view line) {
    auto parsed = parse_line(line);
    if (!parsed) throw UserError("checksum does not match");
    return *std::move(parsed);
  }

  void check_header(std::string_view line) const {
    JournalHeader found = decode_header(parse(line));
    // The file, or the run, may come from a version that did not record the device.
    if (found.device.empty() || header_.device.empty()) found.device = header_.device;
    if (same_metrics(found, header_.metrics)) found.metrics = header_.metrics;
    found.has_names_only = header_.has_names_only;
    // A run is resumed by these rules only if those of before keep the same genotypes.
    found.conditions = header_.conditions;
    found.programs = header_.programs;  // only rank 0 knows them
    if (found != header_) {
      throw UserError("results of another run (other settings or another version of Skyline)");
    }
  }

  void read_line(const std::filesystem::path& path, std::size_t number, std::string_view line) const {
    try {
      use_(parse(line));
    } catch (const std::exception& error) {
      log::warning(path.string() + ": line " + std::to_string(number) + ": " + error.what() +
                   "; the trial is trained again");
    }
  }

  const JournalHeader& header_;
  const std::function<void(const nlohmann::ordered_json&)> use_;
};

}  // namespace

void write_waiting_results(const RunPaths& paths, int rank, const JournalHeader& header,
                           const trial::ResultsByName& results, const space::SearchSpace& space,
                           Effort effort) {
  std::string text = header_line(header);
  for (const auto& [name, result] : results) text += result_line(result, header.metrics, space);
  publish_file(results_path(paths, rank), text, effort);
}

trial::ResultsByName read_waiting_results(const RunPaths& paths, const JournalHeader& header,
                                          const space::SearchSpace& space,
                                          const trial::CommitLog& committed) {
  trial::ResultsByName results;
  const std::vector<std::filesystem::path> files = all_results_paths(paths);
  if (files.empty()) return results;
  EntryDecoder decoder(space, header.metrics, committed);
  const LinesReader reader(header, [&](const nlohmann::ordered_json& line) {
    trial::CommittedTrial result = decoder.decode(line, decoder.architecture(line));
    decoder.know(result.trial);
    if (!committed.contains(result.trial)) results.emplace(result.trial.name(), std::move(result));
  });
  for (const std::filesystem::path& path : files) reader.read(path);
  return results;
}

bool has_waiting_results(const RunPaths& paths) {
  return std::ranges::any_of(all_results_paths(paths), [](const std::filesystem::path& path) {
    const std::string text = read_file(path);
    const std::size_t header_end = text.find('\n');
    return header_end != std::string::npos && header_end + 1 < text.size();
  });
}

void remove_waiting_results(const RunPaths& paths, std::optional<int> kept) {
  for (const std::filesystem::path& path : all_results_paths(paths)) {
    if (!kept || path != results_path(paths, *kept)) remove_file(path);
  }
}

void write_asked_trials(const RunPaths& paths, const JournalHeader& header,
                        const std::vector<trial::Trial>& asked, const space::SearchSpace& space) {
  std::string text = header_line(header);
  for (const trial::Trial& trial : asked) text += asked_line(trial, space);
  publish_file(asked_path(paths), text, Effort::kOnce);
}

AskedTrials read_asked_trials(const RunPaths& paths, const JournalHeader& header,
                              const space::SearchSpace& space, const trial::CommitLog& committed) {
  AskedTrials asked;
  if (!store::exists(asked_path(paths))) return asked;
  EntryDecoder decoder(space, header.metrics, committed);
  const LinesReader reader(header, [&](const nlohmann::ordered_json& line) {
    trial::Trial trial = decoder.decode_asked(line, decoder.architecture(line));
    decoder.know(trial);
    asked.insert_or_assign(trial.number, std::move(trial.proposal));
  });
  reader.read(asked_path(paths));
  return asked;
}

void remove_asked_trials(const RunPaths& paths) {
  remove_file(asked_path(paths));
}

}  // namespace skyline::store
