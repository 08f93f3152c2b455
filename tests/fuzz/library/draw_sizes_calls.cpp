/// Operations of programs whose sizes vary.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fuzz/library/sizes_drawer.h>

namespace nvfuser::fuzz {

void SizesDrawer::addCall() {
  const int64_t a = pick();
  switch (draw_.weighted({24, 16, 12, 8, 8, 6, 5, 7, 6, 5, 6, 4, 4})) {
    case 0:
      return addBinary(a);
    case 1:
      return addSlice(a);
    case 2:
      return addReshape(a);
    case 3:
      return addPad(a);
    case 4:
      return addExpand(a);
    case 5:
      return addCat(a);
    case 6:
      return addChunk(a);
    case 7:
      return addNew();
    case 8:
      return addSqueeze(a);
    case 9:
      return addSum(a);
    case 10:
      if (rank(a) < 5) {
        try_({"unsqueeze", {}, {value(a), integer(draw_.number(0, rank(a)))}}, bounds_[a]);
      }
      return;
    case 11:
      try_({"neg", {}, {value(a)}}, bounds_[a]);
      return;
    default:
      if (rank(a) > 1) {
        Sizes order(static_cast<size_t>(rank(a)));
        std::iota(order.begin(), order.end(), 0);
        std::rotate(order.begin(), order.begin() + draw_.number(1, rank(a) - 1), order.end());
        try_({"permute", {}, {value(a), integers(order)}}, bounds_[a]);
      }
  }
}

bool SizesDrawer::isStretched(int64_t a, int64_t b) const {
  return std::any_of(shapes_.begin(), shapes_.end(), [&](const Shapes& shapes) {
    std::string why;
    return shapes.refused().empty() && shapes.of(a) != shapes.of(b) &&
           !stretched({shapes.of(a), shapes.of(b)}, &why).empty();
  });
}

void SizesDrawer::addBinary(int64_t a) {
  a = draw_.chance(0.5) ? tensors_.back() : a;
  Sizes others;
  for (int64_t id : tensors_) {
    if (isStretched(a, id)) {
      others.push_back(id);
    }
  }
  const int64_t b = !others.empty() && draw_.chance(0.8) ? draw_.oneOf(others) : pick();
  const std::string name = std::vector<std::string>{"add", "sub", "maximum", "minimum",
                                                    "mul"}[draw_.weighted({5, 2, 2, 2, 2})];
  const double bound = name == "mul" ? bounds_[a] * bounds_[b] : bounds_[a] + bounds_[b];
  try_({name, {}, {value(a), value(b)}}, bound);
}

void SizesDrawer::addSlice(int64_t a) {
  const int64_t n = rank(a);
  if (n == 0) {
    return;
  }
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  std::vector<Argument> starts(static_cast<size_t>(n), integer(0));
  std::vector<Argument> ends(static_cast<size_t>(n), integer(kEnd));
  for (int64_t i = draw_.chance(0.7) ? 1 : n; i > 0; --i) {
    const auto axis = static_cast<size_t>(draw_.number(0, n - 1));
    switch (draw_.number(0, 4)) {
      case 0:  // [:k]
        ends[axis] = number({0, 1, 2, -1});
        break;
      case 1: {  // [k:k+1]
        starts[axis] = number({0, 1, 2});
        const int64_t next = next_;
        if (starts[axis].kind == Argument::Kind::Int) {
          ends[axis] = integer(starts[axis].integer + 1);
        } else if (try_({"add", {}, {starts[axis], integer(1)}})) {
          ends[axis] = value(next);
        }
        break;
      }
      case 2:
        starts[axis] = integer(-1);
        break;
      case 3:
        starts[axis] = number({0, 1, 2, -2});
        break;
      default:
        starts[axis] = number({0, 1, -2});
        ends[axis] = number({1, 2, 3, -1});
    }
  }
  try_({"slice",
        {},
        {value(a), named("start_indices", list(starts)), named("end_indices", list(ends))}},
       bounds_[a]);
}

void SizesDrawer::addReshape(int64_t a) {
  const Sizes sizes = of(a);
  const int64_t n = rank(a);
  std::vector<Argument> shape;
  switch (draw_.number(0, 3)) {
    case 0:  // all in one
      shape = {integer(-1)};
      break;
    case 1: {  // rows of the length that an axis has
      if (n == 0) {
        return;
      }
      const int64_t id = next_;
      if (!try_({"size", {}, {value(a), integer(draw_.number(0, n - 1))}})) {
        return;
      }
      shape = draw_.chance(0.5) ? std::vector<Argument>{integer(-1), value(id)}
                                : std::vector<Argument>{value(id), integer(-1)};
      break;
    }
    case 2: {  // two axes in one, by the product of their sizes
      if (n < 2) {
        return;
      }
      const int64_t at = draw_.number(0, n - 2);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t id = next_;
        if (!try_({"size", {}, {value(a), integer(i)}})) {
          return;
        }
        shape.push_back(value(id));
      }
      const int64_t product = next_;
      if (!try_(
              {"mul", {}, {shape[static_cast<size_t>(at)], shape[static_cast<size_t>(at) + 1]}})) {
        return;
      }
      shape[static_cast<size_t>(at)] = value(product);
      shape.erase(shape.begin() + at + 1);
      break;
    }
    default:  // numbers
      shape = {number({1, 2, 3}), integer(-1)};
      if (draw_.chance(0.4)) {
        shape.push_back(integer(1));
      }
  }
  try_({"reshape", {}, {value(a), list(shape)}}, bounds_[a]);
}

void SizesDrawer::addPad(int64_t a) {
  if (rank(a) == 0) {
    return;
  }
  std::vector<Argument> widths{number({0, 1, -1, 2, -2}), number({0, 0, 1, -1})};
  if (draw_.chance(0.3)) {  // to one element, or to none
    const Argument length = extent();
    const int64_t id = next_;
    if (length.kind == Argument::Kind::Value &&
        try_({"sub", {}, {integer(draw_.number(0, 1)), length}})) {
      widths = {integer(0), value(id)};
    }
  }
  try_({"pad", {}, {value(a), named("pad_widths", list(widths))}}, bounds_[a]);
}

void SizesDrawer::addExpand(int64_t a) {
  const int64_t n = rank(a);
  const int64_t b = pick();
  switch (draw_.number(0, 2)) {
    case 0:
      if (rank(b) >= n) {
        try_({"expand_as", {}, {value(a), value(b)}}, bounds_[a]);
      }
      return;
    case 1: {
      std::vector<Argument> shape;
      if (n < 4 && draw_.chance(0.3)) {
        shape.push_back(number({1, 2, 3, 0}));
      }
      for (int64_t i = 0; i < n; ++i) {
        shape.push_back(draw_.chance(0.4)   ? integer(-1)
                        : draw_.chance(0.5) ? extent()
                                            : number({1, 2, 3}));
      }
      try_({"expand", {}, {value(a), list(shape)}}, bounds_[a]);
      return;
    }
    default: {
      if (n > 3) {
        return;
      }
      std::vector<Argument> shape;
      Sizes dims;
      const int64_t skipped = draw_.number(0, n);
      for (int64_t i = 0; i < n + 1; ++i) {
        if (i != skipped) {
          dims.push_back(i);
        }
        shape.push_back(i != skipped && draw_.chance(0.4) ? integer(-1) : extent());
      }
      try_({"broadcast_in_dim", {}, {value(a), list(shape), integers(dims)}}, bounds_[a]);
    }
  }
}

void SizesDrawer::addCat(int64_t a) {
  if (rank(a) == 0) {
    return;
  }
  const int64_t b = pick();
  if (rank(b) == rank(a) && dtype(b) == dtype(a)) {
    try_({"cat",
          {},
          {list({value(a), value(b)}), named("dim", integer(draw_.number(0, rank(a) - 1)))}},
         std::max(bounds_[a], bounds_[b]));
  }
}

void SizesDrawer::addChunk(int64_t a) {
  if (rank(a) > 0) {
    const int64_t chunks = draw_.number(2, 3);
    try_({"chunk", {}, {value(a), integer(chunks), integer(draw_.number(0, rank(a) - 1))}},
         bounds_[a], chunks);
  }
}

void SizesDrawer::addNew() {
  const Argument length = draw_.chance(0.5) ? extent() : number({0, 1, 2, 5});
  if (draw_.chance(0.4)) {
    try_({"iota", {}, {length}}, 64);
    return;
  }
  std::vector<Argument> shape{length};
  if (draw_.chance(0.5)) {
    shape.push_back(draw_.chance(0.5) ? extent() : integer(1));
  }
  try_({"full", {}, {list(shape), integer(3), dtypeOf(DataType::Float)}}, 3);
}

void SizesDrawer::addSqueeze(int64_t a) {
  for (int64_t i = 0; i < rank(a); ++i) {
    if (of(a)[static_cast<size_t>(i)] == 1) {
      try_({"squeeze", {}, {value(a), named("dims", integers({i}))}}, bounds_[a]);
      return;
    }
  }
}

void SizesDrawer::addSum(int64_t a) {
  if (rank(a) == 0) {
    return;
  }
  std::vector<Argument> arguments{value(a),
                                  named("axes", integers({draw_.number(0, rank(a) - 1)}))};
  if (draw_.chance(0.5)) {
    arguments.push_back(named("keepdim", truth(true)));
  }
  try_({"sum", {}, arguments}, bounds_[a] * 64);
}

}  // namespace nvfuser::fuzz
