#include <fuzz/library/settled.h>

#include <algorithm>

namespace nvfuser::fuzz {

namespace {

class Settling {
 public:
  Settling(const Program& call, const Shapes& shapes) : call_(call), shapes_(shapes) {
    result_ = call;
    result_.sizes_vary = false;
    result_.updates.clear();
    result_.scalars.clear();
    result_.calls.clear();
    for (Input& input : result_.inputs) {
      next_ = std::max(next_, input.id + 1);
      input.order.clear();
      std::fill(input.contiguity.begin(), input.contiguity.end(), 0);
      for (size_t i = 0; i < input.sizes.size(); ++i) {
        input.axes[i] = input.sizes[i] == 1 ? 'b' : 'c';
      }
    }
    for (const ScalarInput& scalar : call.scalars) {
      next_ = std::max(next_, scalar.id + 1);
    }
    for (const Call& each : call.calls) {
      for (int64_t id : each.results) {
        next_ = std::max(next_, id + 1);
      }
    }
  }

  Program run() {
    for (const Call& call : call_.calls) {
      add(call);
    }
    return std::move(result_);
  }

 private:
  int64_t emit(std::string operation, std::vector<Argument> arguments) {
    result_.calls.push_back({std::move(operation), {next_}, std::move(arguments)});
    return next_++;
  }

  /// `id`, whose axes are at `places` of the shape, with all of the shape.
  int64_t stretch(int64_t id, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& places) {
    const std::vector<int64_t>& sizes = shapes_.of(id);
    if (sizes == shape) {
      return id;
    }
    std::vector<int64_t> kept;
    Argument is_new{.kind = Argument::Kind::List};
    is_new.items.assign(shape.size(), truth(true));
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto place = static_cast<size_t>(places.at(i));
      if (sizes[i] == shape[place]) {
        kept.push_back(sizes[i]);
        is_new.items[place] = truth(false);
      }
    }
    if (kept.size() < sizes.size()) {
      id = emit("reshape", {value(id), integers(kept)});
    }
    if (kept.size() < shape.size()) {
      id = emit("broadcast", {value(id), is_new});
    }
    return emit("expand", {value(id), integers(shape)});
  }
  int64_t stretch(int64_t id, const std::vector<int64_t>& shape) {
    std::vector<int64_t> places;
    const size_t rank = shapes_.of(id).size();
    for (size_t i = 0; i < rank; ++i) {
      places.push_back(static_cast<int64_t>(shape.size() - rank + i));
    }
    return stretch(id, shape, places);
  }

  /// Scalars become their values.
  Argument constant(const Argument& argument) const {
    Argument result = argument;
    if (argument.kind == Argument::Kind::Value && !shapes_.isTensor(argument.integer)) {
      result = named(argument.name, integer(shapes_.number(argument)));
    }
    for (Argument& item : result.items) {
      item = constant(item);
    }
    return result;
  }

  void add(const Call& original) {
    if (!shapes_.isTensor(original.results.at(0))) {
      return;  // a scalar
    }
    Call call = original;
    for (Argument& argument : call.arguments) {
      argument = constant(argument);
    }
    if (call.operation == "chunk") {
      cut(call);
      return;
    }
    const std::vector<int64_t>& shape = shapes_.of(call.results[0]);
    const auto renamed = [&](int64_t id) { call = {"set", call.results, {value(id)}}; };
    if (call.operation == "expand" || call.operation == "expand_as") {
      renamed(stretch(call.arguments[0].integer, shape));
    } else if (call.operation == "broadcast_in_dim") {
      renamed(stretch(call.arguments[0].integer, shape,
                      shapes_.numbers(*argumentOf(original, "broadcast_dims", 2))));
    } else if (call.operation == "squeeze" || call.operation == "reshape") {
      call = {"reshape", call.results, {call.arguments[0], integers(shape)}};
    } else if (isElementwise(call)) {
      for (Argument& argument : call.arguments) {
        // (One without axes is no tensor to the rules of promotion.)
        if (argument.kind == Argument::Kind::Value && !shapes_.of(argument.integer).empty()) {
          argument.integer = stretch(argument.integer, shape);
        }
      }
    }
    result_.calls.push_back(std::move(call));
  }

  /// Pieces as slices: of a constant size there would be no empty ones at the end.
  void cut(const Call& chunk) {
    const int64_t id = chunk.arguments.at(0).integer;
    const auto dim = static_cast<size_t>(chunk.arguments.at(2).integer);
    std::vector<int64_t> starts(shapes_.of(id).size(), 0);
    std::vector<int64_t> ends = shapes_.of(id);
    ends[dim] = 0;
    for (int64_t piece : chunk.results) {
      starts[dim] = ends[dim];
      ends[dim] += shapes_.of(piece)[dim];
      result_.calls.push_back({"slice",
                               {piece},
                               {value(id), named("start_indices", integers(starts)),
                                named("end_indices", integers(ends))}});
    }
  }

  /// Whether all tensors that it takes meet element by element.
  static bool isElementwise(const Call& call) {
    static const std::vector<std::string_view> kOthers = {
        "slice",     "strided_slice", "flip", "pad",  "cat",
        "unsqueeze", "permute",       "sum",  "full", "iota"};
    return std::find(kOthers.begin(), kOthers.end(), call.operation) == kOthers.end();
  }

  const Program& call_;
  const Shapes& shapes_;
  Program result_;
  int64_t next_ = 0;
};

}  // namespace

Program settled(const Program& program, size_t call, const Shapes& shapes) {
  const Program with = callOf(program, call);
  return Settling(with, shapes).run();
}

}  // namespace nvfuser::fuzz
