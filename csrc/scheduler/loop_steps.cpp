#include <scheduler/loop_steps.h>

#include <algorithm>

#include <support/error.h>

namespace nvfuser {

LoopSteps::LoopSteps(std::vector<std::string> loops) {
  for (std::string& name : loops) {
    loops_.push_back({std::move(name), ParallelType::Serial});
  }
}

int64_t LoopSteps::placeOf(std::string_view loop) const {
  const auto found = std::find_if(loops_.begin(), loops_.end(),
                                  [&](const Loop& known) { return known.name == loop; });
  check(found != loops_.end(), text("a nest has no loop '", loop, "'"));
  return found - loops_.begin();
}

bool LoopSteps::has(std::string_view loop) const {
  return std::any_of(loops_.begin(), loops_.end(),
                     [&](const Loop& known) { return known.name == loop; });
}

std::vector<ParallelType> LoopSteps::bindings() const {
  std::vector<ParallelType> types;
  for (const Loop& loop : loops_) {
    types.push_back(loop.type);
  }
  return types;
}

void LoopSteps::splitAt(Step::Kind kind, std::string_view loop, int64_t factor,
                        std::vector<std::string> names) {
  const int64_t place = placeOf(loop);
  check(loops_[static_cast<size_t>(place)].type == ParallelType::Serial,
        "a loop is split before it is bound");
  loops_[static_cast<size_t>(place)].name = names[1];
  loops_.insert(loops_.begin() + place + 1, {names[2], ParallelType::Serial});
  steps_.push_back({kind, {place}, factor, std::move(names)});
}

void LoopSteps::split(std::string_view loop, int64_t factor, std::string_view outer,
                      std::string_view inner) {
  splitAt(Step::Kind::Split, loop, factor,
          {std::string(loop), std::string(outer), std::string(inner)});
}

void LoopSteps::splitIn(std::string_view loop, int64_t parts, std::string_view outer,
                        std::string_view inner) {
  splitAt(Step::Kind::SplitIn, loop, parts,
          {std::string(loop), std::string(outer), std::string(inner)});
}

void LoopSteps::rename(std::string_view loop, std::string_view name) {
  const int64_t place = placeOf(loop);
  loops_[static_cast<size_t>(place)].name = name;
  steps_.push_back({Step::Kind::Name, {place}, 0, {std::string(loop), std::string(name)}});
}

std::vector<std::string> LoopSteps::names() const {
  std::vector<std::string> names;
  for (const Loop& loop : loops_) {
    names.push_back(loop.name);
  }
  return names;
}

void LoopSteps::merge(std::string_view outer, std::string_view inner) {
  const int64_t place = placeOf(outer);
  check(placeOf(inner) == place + 1, "merged loops are neighbours");
  loops_.erase(loops_.begin() + place);
  steps_.push_back({Step::Kind::Merge, {place}, 0, {std::string(outer), std::string(inner)}});
}

void LoopSteps::order(std::vector<std::string> loops) {
  check(loops.size() == loops_.size(), "an order has all loops");
  std::vector<Loop> ordered;
  std::vector<int64_t> from;
  bool changes = false;
  for (const std::string& name : loops) {
    const int64_t place = placeOf(name);
    changes |= place != static_cast<int64_t>(from.size());
    from.push_back(place);
    ordered.push_back(loops_[static_cast<size_t>(place)]);
  }
  if (changes) {
    loops_ = std::move(ordered);
    steps_.push_back({Step::Kind::Order, std::move(from), 0, std::move(loops)});
  }
}

std::vector<std::string> LoopSteps::others(std::string_view loop) const {
  std::vector<std::string> names;
  for (const Loop& known : loops_) {
    if (known.name != loop) {
      names.push_back(known.name);
    }
  }
  return names;
}

void LoopSteps::moveBehind(std::string_view loop, std::string_view other) {
  std::vector<std::string> names = others(loop);
  names.insert(std::find(names.begin(), names.end(), other) + 1, std::string(loop));
  order(std::move(names));
}

void LoopSteps::moveBefore(std::string_view loop, std::string_view other) {
  std::vector<std::string> names = others(loop);
  names.insert(std::find(names.begin(), names.end(), other), std::string(loop));
  order(std::move(names));
}

void LoopSteps::bind(std::string_view loop, ParallelType type) {
  const int64_t place = placeOf(loop);
  loops_[static_cast<size_t>(place)].type = type;
  steps_.push_back({Step::Kind::Bind, {place}, 0, {std::string(loop)}, type});
}

void LoopSteps::apply(TensorView* tv) const {
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Step::Kind::Split:
        tv->split(step.places[0], step.factor);
        break;
      case Step::Kind::SplitIn:
        tv->split(step.places[0], step.factor, false);
        break;
      case Step::Kind::Merge:
        tv->merge(step.places[0]);
        break;
      case Step::Kind::Order: {
        std::unordered_map<int64_t, int64_t> old2new;
        for (size_t to = 0; to < step.places.size(); ++to) {
          old2new[step.places[to]] = static_cast<int64_t>(to);
        }
        tv->reorder(old2new);
        break;
      }
      case Step::Kind::Name:
      case Step::Kind::Bind:
        break;
    }
  }
  check(tv->nDims() == static_cast<int64_t>(loops_.size()),
        "a tensor's loops are those that were planned");
}

std::vector<std::string> LoopSteps::lines() const {
  std::vector<std::string> lines;
  for (const Step& step : steps_) {
    const std::vector<std::string>& names = step.names;
    switch (step.kind) {
      case Step::Kind::Split:
        lines.push_back(
            text("split ", names[0], " by ", step.factor, " -> ", names[1], ", ", names[2]));
        break;
      case Step::Kind::SplitIn:
        lines.push_back(
            text("split ", names[0], " in ", step.factor, " -> ", names[1], ", ", names[2]));
        break;
      case Step::Kind::Merge:
        lines.push_back(text("merge ", names[0], ", ", names[1]));
        break;
      case Step::Kind::Name:
        lines.push_back(text("name ", names[0], " ", names[1]));
        break;
      case Step::Kind::Order:
        lines.push_back(text("order ", join(names, ", ")));
        break;
      case Step::Kind::Bind:
        lines.push_back(text("bind ", names[0], " ", parallelTypeName(step.type)));
        break;
    }
  }
  return lines;
}

}  // namespace nvfuser
