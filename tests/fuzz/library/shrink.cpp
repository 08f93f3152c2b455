#include <fuzz/library/shrink.h>

#include <algorithm>
#include <numeric>
#include <set>

#include <fuzz/library/build.h>
#include <fuzz/library/shapes.h>

namespace nvfuser::fuzz {

namespace {

void replaceValue(Argument& argument, int64_t from, int64_t to) {
  if (argument.kind == Argument::Kind::Value && argument.integer == from) {
    argument.integer = to;
  }
  for (Argument& item : argument.items) {
    replaceValue(item, from, to);
  }
}

void replaceNumber(Argument& argument, int64_t from, int64_t to) {
  if (argument.kind == Argument::Kind::Int && argument.integer == from) {
    argument.integer = to;
  }
  for (Argument& item : argument.items) {
    replaceNumber(item, from, to);
  }
}

Input plainInput(int64_t id, DataType dtype, const std::vector<int64_t>& sizes,
                 const std::string& axes) {
  return {.id = id,
          .dtype = dtype,
          .sizes = sizes,
          .strides = rowMajorStrides(sizes),
          .offset = 0,
          .axes = axes,
          .contiguity = std::vector<int64_t>(sizes.size(), 1)};
}

/// `program` with every extent `from` being `to`; strides in proportion to a dense layout.
Program resized(const Program& program, int64_t from, int64_t to) {
  Program result = program;
  for (Input& input : result.inputs) {
    bool changed = input.below == from;
    input.below = input.below == from ? to : input.below;
    for (size_t i = 0; i < input.sizes.size(); ++i) {
      if (input.sizes[i] != from || input.axes[i] == 'b') {
        continue;
      }
      for (size_t k = 0; k < input.sizes.size(); ++k) {
        if (input.strides[k] > input.strides[i] && from > 0 && input.strides[k] % from == 0) {
          input.strides[k] = input.strides[k] / from * std::max<int64_t>(to, 1);
        }
      }
      input.sizes[i] = to;
      changed = true;
    }
    if (changed && input.same >= 0) {
      input.same = -1;
    }
  }
  for (Again& again : result.again) {
    for (Again::Layout& layout : again.layouts) {
      if (std::count(layout.sizes.begin(), layout.sizes.end(), from) != 0) {
        std::replace(layout.sizes.begin(), layout.sizes.end(), from, to);
        layout.strides = rowMajorStrides(layout.sizes);
      }
    }
  }
  for (Call& call : result.calls) {
    for (Argument& argument : call.arguments) {
      if (argument.kind == Argument::Kind::List) {
        replaceNumber(argument, from, to);
      }
    }
  }
  return result;
}

class Steps {
 public:
  explicit Steps(const Program& program) : program_(program) {
    try {
      builder_.emplace(build(program));
    } catch (const std::exception&) {
      builder_.reset();  // it may be the definition that fails
    }
  }

  std::vector<Program> all() {
    furtherCalls();
    outputs();
    updates();
    shares();
    calls();
    schedule();
    extents();
    layouts();
    return std::move(found_);
  }

 private:
  void offer(Program candidate) {
    candidate = withoutDeadCode(candidate);
    const bool gives = !candidate.outputs.empty() || !candidate.updates.empty();
    if (gives && !(candidate == program_)) {
      found_.push_back(std::move(candidate));
    }
  }

  /// Whether axes that are declared to have one element have one in the first call.
  static bool isDeclared(const Program& program) {
    return std::all_of(program.inputs.begin(), program.inputs.end(), [](const Input& input) {
      for (size_t i = 0; i < input.sizes.size(); ++i) {
        if (input.axes[i] == 'b' && input.sizes[i] != 1) {
          return false;
        }
      }
      return true;
    });
  }

  /// Of a program with several calls: one less, or another one first and those behind it alone.
  void furtherCalls() {
    for (size_t i = 0; i < program_.again.size(); ++i) {
      Program later = callOf(program_, i + 1);
      later.again.assign(program_.again.begin() + static_cast<int64_t>(i) + 1,
                         program_.again.end());
      if (isDeclared(later)) {
        offer(later);
      }
      Program less = program_;
      less.again.erase(less.again.begin() + static_cast<int64_t>(i));
      offer(less);
    }
    for (size_t i = 0; i < program_.again.size(); ++i) {
      for (size_t k = 0; k < program_.again[i].layouts.size(); ++k) {
        Program plainer = program_;
        Again::Layout& layout = plainer.again[i].layouts[k];
        layout.strides = rowMajorStrides(layout.sizes);
        layout.offset = 0;
        offer(plainer);
      }
    }
  }

  /// In a call, from 0; where that has none, in the first one.
  std::optional<std::vector<int64_t>> sizesOf(int64_t id, const Value& made, size_t call) const {
    if (!program_.sizes_vary) {
      return made.sizes;
    }
    for (const size_t at : {call, size_t{0}}) {
      try {
        const Shapes shapes = shapesOf(program_, at);
        if (shapes.isTensor(id)) {
          return shapes.of(id);
        }
      } catch (const std::exception&) {
        continue;  // a program that is no longer valid
      }
    }
    return std::nullopt;
  }

  void outputs() {
    if (program_.outputs.size() < 2) {
      return;
    }
    for (int64_t output : program_.outputs) {
      Program alone = program_;
      alone.outputs = {output};
      offer(alone);
    }
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      Program less = program_;
      less.outputs.erase(less.outputs.begin() + static_cast<int64_t>(i));
      offer(less);
    }
  }

  void updates() {
    for (size_t i = 0; i < program_.updates.size(); ++i) {
      Program less = program_;
      less.updates.erase(less.updates.begin() + static_cast<int64_t>(i));
      offer(less);
    }
  }

  /// Of a program for several devices: fewer axes of the mesh, fewer tensors on it, fewer cuts.
  void shares() {
    if (program_.devices.size() > 1) {
      Program flat = program_;
      flat.devices.pop_back();
      for (Share& share : flat.shares) {
        share.cut.pop_back();
      }
      offer(flat);
    }
    for (size_t i = 0; i < program_.shares.size(); ++i) {
      Program less = program_;
      less.shares.erase(less.shares.begin() + static_cast<int64_t>(i));
      if (!less.shares.empty()) {
        offer(less);
      }
      for (size_t along = 0; along < program_.devices.size(); ++along) {
        Program whole = program_;
        whole.shares[i].cut[along] = -1;
        offer(whole);
      }
    }
  }

  const Value* known(int64_t id) const {
    return builder_ && builder_->has(id) ? &builder_->at(id) : nullptr;
  }

  /// Tensors that it takes, and those that its scalars are made of.
  std::vector<int64_t> tensorsOf(const Call& call) const {
    std::vector<int64_t> pending, tensors;
    for (const Argument& argument : call.arguments) {
      collectValues(argument, pending);
    }
    for (size_t i = 0; i < pending.size(); ++i) {
      const Value* value = known(pending[i]);
      if (value != nullptr && value->val->isA<TensorView>()) {
        tensors.push_back(pending[i]);
        continue;
      }
      for (const Call& other : program_.calls) {
        if (std::count(other.results.begin(), other.results.end(), pending[i]) != 0) {
          for (const Argument& argument : other.arguments) {
            collectValues(argument, pending);
          }
        }
      }
    }
    return tensors;
  }

  void calls() {
    for (size_t i = program_.calls.size(); i-- > 0;) {
      const Call& call = program_.calls[i];
      const std::vector<int64_t> operands = tensorsOf(call);
      for (int64_t result : call.results) {
        const Value* made = known(result);
        if (made == nullptr) {
          continue;
        }
        const bool is_output =
            std::count(program_.outputs.begin(), program_.outputs.end(), result) != 0;
        // All that led here is left out.
        cutAbove(i, result, *made, is_output);
        for (int64_t operand : operands) {
          const Value* value = known(operand);
          if (value == nullptr || !made->val->isA<TensorView>()) {
            continue;
          }
          if (value->sizes == made->sizes || is_output) {
            bypass(i, result, operand);
          }
        }
      }
    }
  }

  void cutAbove(size_t call, int64_t result, const Value& made, bool is_output) {
    if (is_output || !made.val->isA<TensorView>() || program_.calls.size() < 2) {
      return;
    }
    Program cut = program_;
    std::string axes;
    for (const IterDomain* axis :
         TensorDomain::noReductions(made.val->as<TensorView>()->getLogicalDomain())) {
      axes += axis->isBroadcast() && !axis->hasExpandedExtent() ? 'b' : 's';
    }
    const auto sizes = sizesOf(result, made, 0);
    if (!sizes) {
      return;
    }
    cut.inputs.push_back(plainInput(result, made.val->dtype(), *sizes, axes));
    for (size_t i = 0; i < cut.again.size(); ++i) {
      const std::vector<int64_t> again = *sizesOf(result, made, i + 1);
      cut.again[i].layouts.push_back({result, again, rowMajorStrides(again), 0});
    }
    std::replace(cut.calls[call].results.begin(), cut.calls[call].results.end(), result,
                 int64_t{-1});
    if (std::all_of(cut.calls[call].results.begin(), cut.calls[call].results.end(),
                    [](int64_t id) { return id < 0; })) {
      cut.calls.erase(cut.calls.begin() + static_cast<int64_t>(call));
    }
    offer(cut);
  }

  /// Everything reads `operand` where it read `result`.
  void bypass(size_t call, int64_t result, int64_t operand) {
    Program shorter = program_;
    for (size_t k = call + 1; k < shorter.calls.size(); ++k) {
      for (Argument& argument : shorter.calls[k].arguments) {
        replaceValue(argument, result, operand);
      }
    }
    std::replace(shorter.outputs.begin(), shorter.outputs.end(), result, operand);
    const auto is_input = [&](int64_t id) {
      return std::any_of(shorter.inputs.begin(), shorter.inputs.end(),
                         [&](const Input& input) { return input.id == id; });
    };
    std::erase_if(shorter.outputs, is_input);
    std::sort(shorter.outputs.begin(), shorter.outputs.end());
    shorter.outputs.erase(std::unique(shorter.outputs.begin(), shorter.outputs.end()),
                          shorter.outputs.end());
    offer(shorter);
  }

  void schedule() {
    for (int64_t steps : {int64_t{0}, program_.schedule_steps / 2, program_.schedule_steps - 1}) {
      if (steps >= 0 && steps < program_.schedule_steps) {
        Program fewer = program_;
        fewer.schedule_steps = steps;
        offer(fewer);
      }
    }
    if (program_.wide_index) {
      Program narrow = program_;
      narrow.wide_index = false;
      offer(narrow);
    }
  }

  void extents() {
    std::set<int64_t, std::greater<>> sizes;
    for (const Input& input : program_.inputs) {
      sizes.insert(input.sizes.begin(), input.sizes.end());
    }
    for (int64_t size : sizes) {
      std::set<int64_t> smaller{2, 3, size / 2, size - 1};
      for (int64_t to : smaller) {
        if (to >= 1 && to < size && size > 2) {
          offer(resized(program_, size, to));
        }
      }
    }
  }

  void layouts() {
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const Input& input = program_.inputs[i];
      const auto with = [&](const auto& change) {
        Program plainer = program_;
        change(plainer.inputs[i]);
        offer(plainer);
      };
      with([&](Input& plain) {
        std::string axes;
        for (char axis : input.axes) {
          axes += axis == 'b' ? 'b' : 's';
        }
        plain = plainInput(input.id, input.dtype, input.sizes, axes);
        plain.below = input.below;
      });
      with([](Input& plain) { plain.offset = 0; });
      with([](Input& plain) { plain.same = -1; });
      with([](Input& plain) { std::replace(plain.axes.begin(), plain.axes.end(), 'c', 's'); });
      if (isFloatingPointType(input.dtype) && input.dtype != DataType::Float) {
        with([](Input& plain) { plain.dtype = DataType::Float; });
      }
    }
  }

  const Program& program_;
  std::optional<Builder> builder_;
  std::vector<Program> found_;
};

}  // namespace

std::vector<Program> smallerPrograms(const Program& program) { return Steps(program).all(); }

Program shrink(const Program& program, int64_t attempts,
               const std::function<bool(const Program&)>& fails) {
  Program best = program;
  for (bool progress = true; progress && attempts > 0;) {
    progress = false;
    for (const Program& candidate : smallerPrograms(best)) {
      if (attempts-- <= 0) {
        break;
      }
      if (fails(candidate)) {
        best = candidate;
        progress = true;
        break;
      }
    }
  }
  return best;
}

}  // namespace nvfuser::fuzz
