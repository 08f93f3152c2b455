#include "knobs.h"

#include <string_view>

#include "infer_types.h"

namespace nvfuser::torchscript {

bool Knobs::skips(const std::string& kind) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return skipped_.count(kind) > 0;
}

bool Knobs::skip(const std::string& kind, bool toggle) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool was_off = skipped_.count(kind) > 0;
  if (toggle && was_off) {
    skipped_.erase(kind);
  } else if (toggle) {
    skipped_.insert(kind);
  }
  return was_off;
}

Knobs& knobs() {
  static Knobs knobs;
  return knobs;
}

}  // namespace nvfuser::torchscript

// What Python calls.
extern "C" {

/// See infer_types.h.
void nvf_ts_profile_operators(int wanted) {
  nvfuser::torchscript::profileOurOperators(wanted != 0);
}

/// The value before; -1 if there is no such knob.
int nvf_ts_set_knob(const char* name, int value) {
  using namespace nvfuser::torchscript;
  const std::string_view wanted = name;
  std::atomic<bool>* knob = wanted == "enabled"       ? &knobs().enabled
                            : wanted == "single_node" ? &knobs().single_node
                            : wanted == "horizontal"  ? &knobs().horizontal
                            : wanted == "guard"       ? &knobs().guard
                                                      : nullptr;
  return knob == nullptr ? -1 : knob->exchange(value != 0);
}

int nvf_ts_skip_node_kind(const char* kind, int toggle) {
  return nvfuser::torchscript::knobs().skip(kind, toggle != 0) ? 1 : 0;
}

}  // extern "C"
