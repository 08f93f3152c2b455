#include <fuzz/library/shapes.h>

#include <algorithm>
#include <numeric>

#include <support/error.h>

namespace nvfuser::fuzz {

int64_t elementsOf(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

namespace {

std::string shown(const std::vector<int64_t>& sizes) { return text("[", join(sizes, ", "), "]"); }

/// Whether the strides are those that the contiguity declares. An axis of one element, and a tensor
/// of none, lie anywhere.
bool liesAsDeclared(const Input& declared, const Input& input) {
  if (std::count(input.sizes.begin(), input.sizes.end(), 0) != 0) {
    return true;
  }
  int64_t expected = 1;
  for (size_t i = input.sizes.size(); i-- > 0;) {
    const size_t axis = declared.order.empty() ? i : static_cast<size_t>(declared.order[i]);
    if (declared.axes[axis] == 'b') {
      continue;
    }
    if (declared.axes[axis] == 'e') {
      if (input.sizes[axis] != 1 && input.strides[axis] != 0) {
        return false;
      }
      continue;
    }
    if (input.sizes[axis] == 1) {
      continue;
    }
    if (declared.contiguity[i] != 0 && input.strides[axis] != expected) {
      return false;
    }
    expected = input.strides[axis] * input.sizes[axis];
  }
  return true;
}

/// Whether two elements lie in the same place.
bool overlaps(const Input& input) {
  std::set<int64_t> places{0};
  size_t elements = 1;
  for (size_t axis = 0; axis < input.sizes.size(); ++axis) {
    std::set<int64_t> next;
    for (const int64_t place : places) {
      for (int64_t i = 0; i < input.sizes[axis]; ++i) {
        next.insert(place + i * (input.sizes[axis] > 1 ? input.strides[axis] : 0));
      }
    }
    places = std::move(next);
    elements *= static_cast<size_t>(input.sizes[axis]);
  }
  return places.size() < elements;
}

}  // namespace

const Argument* argumentOf(const Call& call, std::string_view name, size_t position) {
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Argument& argument = call.arguments[i];
    if (argument.name.empty() ? i == position : argument.name == name) {
      return &argument;
    }
  }
  return nullptr;
}

std::pair<int64_t, int64_t> pythonRange(int64_t size, int64_t start, int64_t end) {
  const auto place = [&](int64_t bound) {
    return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size);
  };
  return {place(start), std::max<int64_t>(place(end) - place(start), 0)};
}

std::vector<int64_t> stretched(const std::vector<std::vector<int64_t>>& shapes, std::string* why) {
  size_t rank = 0;
  for (const auto& shape : shapes) {
    rank = std::max(rank, shape.size());
  }
  std::vector<int64_t> result(rank, 1);
  for (const auto& shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t& size = result[rank - shape.size() + i];
      if (shape[i] != 1 && size != 1 && shape[i] != size) {
        *why = text(shown(shape), " does not go with ", size, " elements");
        return {};
      }
      size = shape[i] != 1 ? shape[i] : size;
    }
  }
  return result;
}

void Shapes::refuse(std::string why) {
  if (refused_.empty()) {
    refused_ = std::move(why);
  }
}

int64_t Shapes::number(const Argument& argument) const {
  switch (argument.kind) {
    case Argument::Kind::Value: {
      auto found = scalars_.find(argument.integer);
      if (found == scalars_.end()) {
        userError("fuzz: v", argument.integer, " is no scalar");
      }
      return static_cast<int64_t>(found->second);
    }
    case Argument::Kind::Double:
      return static_cast<int64_t>(argument.real);
    default:
      return argument.integer;
  }
}

std::vector<int64_t> Shapes::numbers(const Argument& list) const {
  std::vector<int64_t> result;
  for (const Argument& item : list.items) {
    result.push_back(number(item));
  }
  return result;
}

/// -1 has a meaning of its own as a constant; a scalar is a size.
std::vector<int64_t> Shapes::asked(const Argument& list) {
  std::vector<int64_t> sizes = numbers(list);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 && list.items[i].kind == Argument::Kind::Value) {
      refuse(text("a size of ", sizes[i]));
    }
  }
  return sizes;
}

void Shapes::add(const Input& declared, const Input& input) {
  tensors_[input.id] = input.sizes;
  for (size_t i = 0; i < input.sizes.size(); ++i) {
    const char axis = declared.axes[i];
    const int64_t fixed = axis == 'b' ? 1 : declared.sizes[i];
    if ((axis == 'b' || axis == 'c') && input.sizes[i] != fixed) {
      refuse(text("axis ", i, " of v", input.id, " is declared to have ", fixed, " elements, not ",
                  input.sizes[i]));
    }
  }
  fits_layout_ = fits_layout_ && liesAsDeclared(declared, input);
  if (overlaps(input)) {
    overlapping_.insert(input.id);
  }
}

void Shapes::add(const Update& update) {
  if (!refused_.empty()) {
    return;
  }
  if (of(update.result) != of(update.input)) {
    refuse(text("update: ", shown(of(update.result)), " in ", shown(of(update.input))));
  } else if (overlapping_.count(update.input) != 0) {
    refuse(text("update: elements of v", update.input, " share memory"));
  }
}

void Shapes::add(const ScalarInput& scalar) { scalars_[scalar.id] = scalar.value; }

std::vector<int64_t> Shapes::padded(std::vector<int64_t> sizes,
                                    const std::vector<int64_t>& widths) {
  for (size_t i = 0; i + 1 < widths.size() && i / 2 < sizes.size(); i += 2) {
    int64_t& size = sizes[sizes.size() - 1 - i / 2];
    size += widths[i] + widths[i + 1];
    if (size < 0) {
      refuse(text("pad: an axis of ", size, " elements"));
    }
  }
  return sizes;
}

std::vector<int64_t> Shapes::joined(const Argument& list, int64_t dim) {
  std::vector<int64_t> result;
  for (const Argument& item : list.items) {
    const std::vector<int64_t>& sizes = of(item.integer);
    if (result.empty()) {
      result = sizes;
      continue;
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (static_cast<int64_t>(i) == dim) {
        result.at(i) += sizes[i];
      } else if (result.at(i) != sizes[i]) {
        refuse(text("cat: ", shown(sizes), " beside ", shown(result)));
      }
    }
  }
  return result;
}

std::vector<int64_t> Shapes::reshaped(const std::vector<int64_t>& sizes,
                                      std::vector<int64_t> shape) {
  const std::string what = text("reshape: ", shown(sizes), " to ", shown(shape));
  int64_t rest = -1;
  int64_t known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && rest < 0) {
      rest = static_cast<int64_t>(i);
    } else if (shape[i] < 0) {
      refuse(what);
    } else {
      known *= shape[i];
    }
  }
  if (rest >= 0) {
    if (known == 0 || elementsOf(sizes) % known != 0) {
      refuse(what);
      return {};
    }
    shape[static_cast<size_t>(rest)] = elementsOf(sizes) / known;
  }
  if (elementsOf(shape) != elementsOf(sizes)) {
    refuse(what);
  }
  return shape;
}

std::vector<int64_t> Shapes::expanded(const std::vector<int64_t>& sizes, std::vector<int64_t> shape,
                                      const std::vector<int64_t>& places) {
  const std::string what = text("expand: ", shown(sizes), " to ", shown(shape));
  if (sizes.size() > shape.size()) {
    refuse(what);
    return {};
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t& size = shape.at(static_cast<size_t>(places.at(i)));
    size = size == -1 ? sizes[i] : size;
    if (sizes[i] != 1 && sizes[i] != size) {
      refuse(what);
    }
  }
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; })) {
    refuse(what);
  }
  return shape;
}

void Shapes::add(const Call& call) {
  if (!refused_.empty()) {
    return;
  }
  const std::string& name = call.operation;
  const auto give = [&](std::vector<int64_t> sizes) {
    tensors_[call.results.at(0)] = std::move(sizes);
  };
  const auto argument = [&](std::string_view word, size_t position) -> const Argument& {
    const Argument* found = argumentOf(call, word, position);
    if (found == nullptr) {
      userError("fuzz: ", name, " without ", word);
    }
    return *found;
  };
  const auto operand = [&]() -> const std::vector<int64_t>& {
    return of(call.arguments.at(0).integer);
  };
  const auto last = [&](size_t count) {
    std::vector<int64_t> places(operand().size());
    std::iota(places.begin(), places.end(),
              static_cast<int64_t>(std::max(count, places.size()) - places.size()));
    return places;
  };
  if (name == "slice") {
    const std::vector<int64_t> starts = numbers(argument("start_indices", 1));
    const std::vector<int64_t> ends = numbers(argument("end_indices", 2));
    std::vector<int64_t> sizes = operand();
    for (size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = pythonRange(sizes[i], starts.at(i), ends.at(i)).second;
    }
    give(sizes);
  } else if (name == "strided_slice") {
    give(numbers(argument("sizes", 2)));
  } else if (name == "flip") {
    give(operand());
  } else if (name == "pad") {
    give(padded(operand(), numbers(argument("pad_widths", 1))));
  } else if (name == "cat") {
    give(joined(argument("tensors", 0), argument("dim", 1).integer));
  } else if (name == "chunk") {
    const int64_t chunks = argument("chunks", 1).integer;
    const auto dim = static_cast<size_t>(argument("dim", 2).integer);
    const int64_t size = operand().at(dim);
    const int64_t length = (size + chunks - 1) / chunks;
    for (int64_t i = 0; i < chunks; ++i) {  // the last ones may have nothing
      std::vector<int64_t> sizes = operand();
      sizes[dim] = std::min(length * (i + 1), size) - std::min(length * i, size);
      tensors_[call.results.at(static_cast<size_t>(i))] = sizes;
    }
  } else if (name == "reshape") {
    give(reshaped(operand(), asked(argument("new_shape", 1))));
  } else if (name == "expand") {
    const std::vector<int64_t> shape = asked(argument("shape", 1));
    give(expanded(operand(), shape, last(shape.size())));
  } else if (name == "expand_as") {
    const std::vector<int64_t>& shape = of(argument("other", 1).integer);
    give(expanded(operand(), shape, last(shape.size())));
  } else if (name == "broadcast_in_dim") {
    give(expanded(operand(), asked(argument("shape", 1)), numbers(argument("broadcast_dims", 2))));
  } else if (name == "squeeze") {
    std::vector<int64_t> sizes = operand();
    std::vector<int64_t> dims = numbers(argument("dims", 1));
    std::sort(dims.rbegin(), dims.rend());
    for (int64_t dim : dims) {
      if (sizes.at(static_cast<size_t>(dim)) != 1) {
        refuse(text("squeeze: axis ", dim, " of ", shown(sizes)));
      }
      sizes.erase(sizes.begin() + dim);
    }
    give(sizes);
  } else if (name == "unsqueeze") {
    std::vector<int64_t> sizes = operand();
    const int64_t dim = argument("dim", 1).integer;
    if (dim > static_cast<int64_t>(sizes.size())) {
      refuse(text("unsqueeze: there is no place ", dim));
      return;
    }
    sizes.insert(sizes.begin() + dim, 1);
    give(sizes);
  } else if (name == "permute") {
    std::vector<int64_t> sizes;
    for (int64_t axis : numbers(argument("dims", 1))) {
      sizes.push_back(operand().at(static_cast<size_t>(axis)));
    }
    give(sizes);
  } else if (name == "sum") {
    std::vector<int64_t> sizes = operand();
    std::vector<int64_t> dims = numbers(argument("axes", 1));
    std::sort(dims.rbegin(), dims.rend());
    const Argument* keepdim = argumentOf(call, "keepdim", 2);
    for (int64_t dim : dims) {
      sizes.at(static_cast<size_t>(dim)) = 1;
      if (keepdim == nullptr || keepdim->integer == 0) {
        sizes.erase(sizes.begin() + dim);
      }
    }
    give(sizes);
  } else if (name == "full" || name == "iota") {
    const Argument& shape = argument(name == "full" ? "shape" : "length", 0);
    std::vector<int64_t> sizes =
        name == "full" ? numbers(shape) : std::vector<int64_t>{number(shape)};
    if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
      refuse(text(name, ": ", shown(sizes)));
    }
    give(sizes);
  } else if (name == "size") {
    scalars_[call.results.at(0)] =
        static_cast<double>(operand().at(static_cast<size_t>(argument("dim", 1).integer)));
  } else {  // element by element
    std::vector<std::vector<int64_t>> shapes;
    for (const Argument& each : call.arguments) {
      if (each.kind == Argument::Kind::Value && isTensor(each.integer)) {
        shapes.push_back(of(each.integer));
      }
    }
    if (shapes.empty()) {
      const int64_t a = number(call.arguments.at(0));
      const int64_t b = number(call.arguments.at(1));
      scalars_[call.results.at(0)] = static_cast<double>(name == "add"   ? a + b
                                                         : name == "sub" ? a - b
                                                                         : a * b);
      return;
    }
    std::string why;
    std::vector<int64_t> sizes = stretched(shapes, &why);
    if (!why.empty()) {
      refuse(text(name, ": ", why));
    }
    give(sizes);
  }
}

Shapes shapesOf(const Program& program, size_t call) {
  const Program with = callOf(program, call);
  Shapes shapes;
  for (size_t i = 0; i < with.inputs.size(); ++i) {
    shapes.add(program.inputs[i], with.inputs[i]);
  }
  for (const ScalarInput& scalar : with.scalars) {
    shapes.add(scalar);
  }
  for (const Call& each : with.calls) {
    shapes.add(each);
  }
  for (const Update& update : with.updates) {
    shapes.add(update);
  }
  return shapes;
}

}  // namespace nvfuser::fuzz
