#include "skyline/trial/trial.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "trial/refit.hpp"

namespace skyline::trial {

namespace {

template <typename Enum>
struct Word {
  Enum value;
  std::string_view text;
};

constexpr std::array<Word<Phase>, 2> kPhases{{{Phase::kSearch, "search"}, {Phase::kFinal, "final"}}};

constexpr std::array<Word<FailureKind>, 7> kFailureKinds{{{FailureKind::kDiverged, "diverged"},
                                                          {FailureKind::kOutOfMemory, "out_of_memory"},
                                                          {FailureKind::kException, "exception"},
                                                          {FailureKind::kStopped, "stopped"},
                                                          {FailureKind::kProgram, "program"},
                                                          {FailureKind::kStorage, "storage"},
                                                          {FailureKind::kFilledStorage, "filled_storage"}}};

template <typename Enum, std::size_t count>
std::string_view text_of(const std::array<Word<Enum>, count>& words, Enum value) {
  for (const Word<Enum>& word : words) {
    if (word.value == value) return word.text;
  }
  throw InternalError("an enumerator without a text");
}

template <typename Enum, std::size_t count>
Enum value_of(const std::array<Word<Enum>, count>& words, std::string_view text, const std::string& noun) {
  std::vector<std::string> known;
  for (const Word<Enum>& word : words) {
    if (word.text == text) return word.value;
    known.emplace_back(word.text);
  }
  throw UserError("unknown " + noun + " `" + std::string(text) + "`, " + suggestion(text, known));
}

}  // namespace

void Origin::refuse(std::string_view word) {
  throw UserError("origin: expected 1 to " + std::to_string(kMostCharacters) +
                  " of the characters a-z, 0-9, _ and -, got " + in_quotes(word));
}

std::string to_text(TrialName name) {
  if (name.repeat == kRefit) return std::to_string(name.number) + ".refit";
  return std::to_string(name.number) + (name.is_final ? ".final" : "") +
         (name.repeat > 0 ? "." + std::to_string(name.repeat) : "");
}

std::string_view to_text(Phase phase) {
  return text_of(kPhases, phase);
}

std::string_view to_text(FailureKind kind) {
  return text_of(kFailureKinds, kind);
}

std::string_view status_of(const Outcome& outcome) {
  if (const auto* failure = std::get_if<Failure>(&outcome)) return to_text(failure->kind);
  return kExtents.at(static_cast<std::size_t>(std::get<Measurements>(outcome).extent));
}

std::string reason_of(const Outcome& outcome) {
  return std::visit([](const auto& either) { return either.reason; }, outcome);
}

Phase parse_phase(std::string_view text) {
  return value_of(kPhases, text, "phase");
}

FailureKind parse_failure_kind(std::string_view text) {
  return value_of(kFailureKinds, text, "kind of failure");
}

}  // namespace skyline::trial
