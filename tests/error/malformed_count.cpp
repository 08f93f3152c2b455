// How a wrong case is judged, how many there are, and that docs/errors.md quotes what they say.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include <malformed.h>

namespace nvfuser::malformed {

namespace {

/// The object that saw the mistake still takes a right program.
void checkUsable(Fusion& fusion) {
  fusion.clear();
  TensorView* x = makeContigConcreteTensor({4, 6});
  fusion.addInput(x);
  fusion.addOutput(add(x, x));
  fusion.verify();
  CHECK_FALSE(lower(&fusion, LowerOptions()).kernel.body.empty());
}

}  // namespace

std::string checkCase(const Case& wrong) {
  CAPTURE(wrong.name);
  if (std::getenv("NVFUSER_SHOW_ERRORS") != nullptr) {
    std::cout << "[" << wrong.name << "]" << std::endl;
  }
  Program program;
  const std::string message = messageOf([&] { wrong.use(program); });
  CAPTURE(message);
  CHECK_MESSAGE(message.find(wrong.words) != std::string::npos, wrong.words);
  CHECK(message.starts_with("not a user error") == false);
  // One clear error: no pointers, no internal words.
  CHECK(message.find("0x") == std::string::npos);
  if (program.before) {
    CHECK(program.fusion.toString() == *program.before);
  }
  checkUsable(program.fusion);
  if (std::getenv("NVFUSER_SHOW_ERRORS") != nullptr) {
    std::cout << message << "\n\n";
  }
  return message;
}

namespace {

std::vector<Case> joined(std::vector<Case> first, const std::vector<Case>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

std::vector<Case> schedules() {
  return joined(joined(joined(refusedByPrimitives(), refusedByLowering()), sharedMemory()),
                joined(joined(bulkCopies(), hopperSchedules()), scans()));
}
std::vector<Case> inputs() { return joined(wrongArguments(), wrongStorage()); }

namespace {

/// The words of the tables in docs/errors.md: the second cell of each row, without its quotes.
std::vector<std::string> documentedWords() {
  std::ifstream file(std::string(NVFUSER_TESTS_DIR) + "/../docs/errors.md");
  REQUIRE_MESSAGE(file.good(), "docs/errors.md is missing");
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    const size_t from = line.find("| `");
    const size_t to = line.rfind("` |");
    if (line.starts_with("| ") && from != std::string::npos && to != std::string::npos) {
      words.push_back(line.substr(from + 3, to - from - 3));
    }
  }
  return words;
}

/// Whether the parts between "…" occur in this order.
bool matches(const std::string& message, const std::string& words) {
  static const std::string kAnything = "…";
  size_t at = 0;
  for (size_t from = 0; from <= words.size();) {
    const size_t to = std::min(words.find(kAnything, from), words.size());
    const std::string part = words.substr(from, to - from);
    at = message.find(part, at);
    if (at == std::string::npos) {
      return false;
    }
    at += part.size();
    from = to + kAnything.size();
  }
  return true;
}

}  // namespace

TEST_CASE("malformed cases: docs/errors.md quotes what is said") {
  std::vector<std::string> messages;
  for (const auto& table : {programs(), schedules(), inputs()}) {
    for (const Case& wrong : table) {
      messages.push_back(checkCase(wrong));
    }
  }
  const std::vector<std::string> documented = documentedWords();
  CHECK(documented.size() >= 40);
  for (const std::string& words : documented) {
    const bool said =
        std::any_of(messages.begin(), messages.end(),
                    [&](const std::string& message) { return matches(message, words); });
    CHECK_MESSAGE(said, "no case says: ", words);
  }
}

TEST_CASE("malformed cases: at least 100, all distinct") {
  const size_t counts[] = {programs().size(), schedules().size(), inputs().size()};
  std::set<std::string> names;
  for (const auto& table : {programs(), schedules(), inputs()}) {
    for (const Case& wrong : table) {
      CHECK_MESSAGE(names.insert(wrong.name).second, wrong.name, " is in the tables twice");
      CHECK_MESSAGE(wrong.words.size() >= 8, wrong.name, ": '", wrong.words, "' says too little");
    }
  }
  std::cout << "malformed: " << counts[0] << " programs, " << counts[1] << " schedules, "
            << counts[2] << " arguments: " << names.size() << " cases\n";
  CHECK(names.size() >= 100);
}

}  // namespace nvfuser::malformed
