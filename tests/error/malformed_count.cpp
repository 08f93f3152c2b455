// How a wrong case is judged, and how many there are.
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

}  // namespace nvfuser::malformed
