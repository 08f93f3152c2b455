#include <fuzz/library/draw_program.h>

#include <algorithm>
#include <set>

#include <fuzz/library/draw_input.h>
#include <fuzz/library/drawer.h>

namespace nvfuser::fuzz {

Program Drawer::run() {
  elements_ = draw_.chance(0.02) ? 100000 : draw_.chance(0.2) ? 16000 : 2000;
  newInput(drawSizes(draw_, elements_));
  const size_t length = draw_.weighted({50, 36, 14});
  const int64_t calls = length == 0   ? draw_.number(1, 6)
                        : length == 1 ? draw_.number(7, 15)
                                      : draw_.number(16, 36);
  for (int64_t attempt = 0;
       attempt < 4 * calls && static_cast<int64_t>(program_.calls.size()) < calls && !broken_;
       ++attempt) {
    addCall();
  }
  if (program_.calls.empty()) {
    try_(Call{"set", {}, {value(program_.inputs[0].id)}}, 0);
  }
  chooseOutputs();
  return withoutDeadCode(program_);
}

void Drawer::addCall() {
  switch (draw_.weighted({20, 22, 6, 8, 12, 5, 6, 7, 11, 3, 1, 2})) {
    case 0:
      return addUnary();
    case 1:
      return addBinary();
    case 2:
      return addTernary();
    case 3:
      return addCast();
    case 4:
      return addBroadcast();
    case 5:
      return addPermute();
    case 6:
      return addReshape();
    case 7:
      return addResize();
    case 8:
      return addReduction();
    case 9:
      return addComposite();
    case 10:
      return addRandom();
    default:
      return addIndexing();
  }
}

void Drawer::chooseOutputs() {
  if (broken_) {
    return;
  }
  std::set<int64_t> used;
  std::vector<int64_t> made;
  for (const Call& call : program_.calls) {
    std::vector<int64_t> ids;
    for (const Argument& argument : call.arguments) {
      collectValues(argument, ids);
    }
    used.insert(ids.begin(), ids.end());
    for (int64_t id : call.results) {
      if (builder_.has(id)) {
        made.push_back(id);
      }
    }
  }
  const int64_t most = draw_.number(1, 4);
  for (auto id = made.rbegin(); id != made.rend(); ++id) {
    const bool is_leaf = used.count(*id) == 0;
    if (static_cast<int64_t>(program_.outputs.size()) < most &&
        (is_leaf ? draw_.chance(0.9) : draw_.chance(0.2))) {
      program_.outputs.push_back(*id);
    }
  }
  if (program_.outputs.empty()) {
    program_.outputs.push_back(made.back());
  }
  std::reverse(program_.outputs.begin(), program_.outputs.end());
}

Program drawProgram(uint64_t seed) { return Drawer(seed).run(); }

}  // namespace nvfuser::fuzz
