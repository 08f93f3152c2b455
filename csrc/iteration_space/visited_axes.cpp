#include <iteration_space/visited_axes.h>

#include <algorithm>
#include <unordered_set>

namespace nvfuser {

VisitedAxes::VisitedAxes(const std::vector<int>& sources, const IdGraph& exact) : exact_(exact) {
  std::vector<int> open;
  const auto visit = [&](int id_class, const std::vector<Val*>* made_of) {
    if (made_of_.emplace(id_class, made_of).second) {
      open.push_back(id_class);
    }
  };
  const auto follow = [&](const std::vector<Val*>& from, const std::vector<Val*>& to) {
    if (std::all_of(from.begin(), from.end(), [&](const Val* id) {
          return made_of_.count(exact.classOf(id->as<IterDomain>())) != 0;
        })) {
      for (const Val* id : to) {
        visit(exact.classOf(id->as<IterDomain>()), &from);
      }
    }
  };
  for (int source : sources) {
    visit(source, nullptr);
  }
  while (!open.empty()) {
    const int id_class = open.back();
    open.pop_back();
    for (const Expr* made : exact.definitions(id_class)) {
      if (!made->isA<Resize>()) {
        follow(made->outputs(), made->inputs());
      }
    }
    for (const Expr* use : exact.uses(id_class)) {
      if (!use->isA<Resize>()) {
        follow(use->inputs(), use->outputs());
      }
    }
  }
}

namespace {

/// Axes that are taken of a loop's, each of them once.
class Taken {
 public:
  Taken(const std::unordered_map<int, const std::vector<Val*>*>& made_of, const IdGraph& exact)
      : made_of_(made_of), exact_(exact) {}

  bool take(int id_class) {
    const auto visited = made_of_.find(id_class);
    if (visited == made_of_.end() || !taken_.insert(id_class).second) {
      return false;
    }
    const std::vector<Val*>* from = visited->second;
    return from == nullptr || !transformed_.insert(from).second ||
           std::all_of(from->begin(), from->end(),
                       [&](const Val* id) { return take(exact_.classOf(id->as<IterDomain>())); });
  }

 private:
  const std::unordered_map<int, const std::vector<Val*>*>& made_of_;
  const IdGraph& exact_;
  std::unordered_set<int> taken_;
  std::unordered_set<const std::vector<Val*>*> transformed_;
};

}  // namespace

bool VisitedAxes::leadTo(const IterDomain* id) const {
  const auto& logical = exact_.tensorOf(id)->getLogicalDomain();
  Taken taken(made_of_, exact_);
  std::vector<const IterDomain*> open{id};
  std::unordered_set<const IterDomain*> seen;
  while (!open.empty()) {
    const IterDomain* axis = open.back();
    open.pop_back();
    if (!seen.insert(axis).second || axis->isBroadcast()) {
      continue;
    }
    const int id_class = exact_.classOf(axis);
    if (made_of_.count(id_class) != 0) {
      if (!taken.take(id_class)) {
        return false;
      }
      continue;
    }
    const bool is_logical = std::find(logical.begin(), logical.end(), axis) != logical.end();
    if (is_logical || axis->definition() == nullptr) {
      return false;
    }
    for (const Val* in : axis->definition()->inputs()) {
      open.push_back(in->as<IterDomain>());
    }
  }
  return true;
}

}  // namespace nvfuser
