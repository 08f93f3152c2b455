#include <codegen/scalar_text.h>

#include <cctype>

#include <support/error.h>

namespace nvfuser::codegen {

using kir::Scalar;
using kir::ScalarOp;

bool ScalarText::isBoolean(Scalar scalar) {
  switch (scalar->op) {
    case ScalarOp::Less:
    case ScalarOp::Equal:
    case ScalarOp::And:
    case ScalarOp::Or:
    case ScalarOp::Not:
      return true;
    default:
      return false;
  }
}

std::string ScalarText::launchIndex(std::string_view symbol) const {
  for (const LaunchIndex& index : kLaunchIndices) {
    if (index.symbol == symbol) {
      launch_indices_.insert(index.name);
      return std::string(index.name);
    }
  }
  return "";
}

std::string ScalarText::name(Scalar symbol) const {
  check(symbol->op == ScalarOp::Symbol, "only symbols have names");
  if (std::string launch = launchIndex(symbol->name); !launch.empty()) {
    return launch;
  }
  std::string out = symbol->name;
  for (char& c : out) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      c = '_';
    }
  }
  return out;
}

std::string ScalarText::constant(int64_t value) const {
  // The least number has no literal of its own.
  return value == INT64_MIN ? text("(", value + 1, " - 1)") : text(value);
}

}  // namespace nvfuser::codegen
