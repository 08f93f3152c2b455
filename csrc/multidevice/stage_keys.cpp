#include <multidevice/stage_keys.h>

#include <algorithm>

#include <ir/axis_map.h>

namespace nvfuser::multidevice {

StageKeys::StageKeys(const Fusion& global) {
  for (Expr* expr : global.exprs()) {
    if (!tensorOutputs(expr).empty()) {
      exprs_.push_back(expr);
    }
  }
  findMeshes(global);
  findKeys();
}

void StageKeys::findMeshes(const Fusion& global) {
  for (const TensorView* tv : global.allTvs()) {
    if (tv->hasDeviceMesh()) {
      mesh_[tv] = tv->getDeviceMesh();
      first_ = first_.empty() ? tv->getDeviceMesh() : first_;
    }
  }
  for (const Expr* expr : exprs_) {
    for (const TensorView* in : tensorInputs(expr)) {
      for (const TensorView* out : tensorOutputs(expr)) {
        if (mesh_.count(in) != 0) {
          mesh_.emplace(out, mesh_.at(in));
        }
      }
    }
  }
  for (size_t i = exprs_.size(); i-- > 0;) {  // made of inputs that are everywhere, or of nothing
    for (const TensorView* out : tensorOutputs(exprs_[i])) {
      mesh_.emplace(out, first_);
      for (const TensorView* in : tensorInputs(exprs_[i])) {
        if (!in->isFusionInput()) {
          mesh_.emplace(in, mesh_.at(out));
        }
      }
    }
  }
}

DeviceMesh StageKeys::meshOf(const TensorView* tv) const {
  const auto found = mesh_.find(tv);
  return found != mesh_.end() ? found->second : DeviceMesh();
}

DeviceMesh StageKeys::meshOf(const Expr* expr) const { return meshOf(tensorOutputs(expr)[0]); }

size_t StageKeys::levelOf(const TensorView* tv) const {
  const auto found = level_.find(tv);
  return found != level_.end() ? found->second : 0;
}

void StageKeys::add(const StageKey& key) {
  if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) {
    keys_.push_back(key);
  }
}

void StageKeys::findKeys() {
  for (const Expr* expr : exprs_) {
    size_t level = 0;
    for (const TensorView* in : tensorInputs(expr)) {
      const bool waits = crosses(in, meshOf(expr));
      level = std::max(level, levelOf(in) + (waits ? 1 : 0));
      if (waits && in->isFusionInput()) {
        add({0, meshOf(in)});
      }
    }
    for (const TensorView* out : tensorOutputs(expr)) {
      level_[out] = level;
    }
    add({level, meshOf(expr)});
  }
  if (keys_.empty()) {
    add({0, first_});
  }
  std::stable_sort(keys_.begin(), keys_.end(),
                   [](const StageKey& a, const StageKey& b) { return a.level < b.level; });
}

std::vector<Expr*> StageKeys::exprsOf(const StageKey& key) const {
  std::vector<Expr*> own;
  for (Expr* expr : exprs_) {
    if (meshOf(expr) == key.mesh && levelOf(tensorOutputs(expr)[0]) == key.level) {
      own.push_back(expr);
    }
  }
  return own;
}

}  // namespace nvfuser::multidevice
