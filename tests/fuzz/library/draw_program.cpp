#include <fuzz/library/draw_program.h>

#include <algorithm>
#include <set>

#include <fuzz/library/draw_input.h>
#include <fuzz/library/draw_shares.h>
#include <fuzz/library/drawer.h>

namespace nvfuser::fuzz {

namespace {

// Weights: of up to 6, 15 and 36 calls; of the kinds of calls in the order of `addCall`.
const std::vector<double> kLengths = {50, 36, 14};
const std::vector<double> kLengthsOnAxes = {50, 50};
const std::vector<double> kCalls = {20, 22, 6, 8, 12, 5, 6, 7, 11, 3, 1, 2};
const std::vector<double> kCallsOnAxes = {4, 24, 0, 1, 14, 10, 22, 9, 12, 0, 0, 0};

}  // namespace

Program Drawer::run() {
  const bool of_axes = focus_ == Focus::Axes;
  elements_ = of_axes ? 500 : draw_.chance(0.02) ? 100000 : draw_.chance(0.2) ? 16000 : 2000;
  newInput(drawSizes(draw_, elements_));
  const size_t length = draw_.weighted(of_axes ? kLengthsOnAxes : kLengths);
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
  switch (draw_.weighted(focus_ == Focus::Axes ? kCallsOnAxes : kCalls)) {
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
  const bool all = focus_ == Focus::Axes;
  const int64_t most = all ? 8 : draw_.number(1, 4);
  for (auto id = made.rbegin(); id != made.rend(); ++id) {
    const bool is_leaf = used.count(*id) == 0;
    if (static_cast<int64_t>(program_.outputs.size()) < most &&
        (is_leaf ? all || draw_.chance(0.9) : draw_.chance(0.2))) {
      program_.outputs.push_back(*id);
    }
  }
  if (program_.outputs.empty()) {
    program_.outputs.push_back(made.back());
  }
  std::reverse(program_.outputs.begin(), program_.outputs.end());
}

Program drawProgram(uint64_t seed, const Kind& kind) {
  Program program =
      kind.focus == Focus::Sizes ? drawProgramOfSizes(seed) : Drawer(seed, kind.focus).run();
  if (kind.on_devices) {
    drawShares(program, seed);
  }
  return program;
}

}  // namespace nvfuser::fuzz
