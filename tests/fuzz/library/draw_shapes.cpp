#include <algorithm>
#include <numeric>

#include <fuzz/library/drawer.h>

namespace nvfuser::fuzz {

void Drawer::addBroadcast() {
  const int64_t a = pick();
  const int64_t n = rank(a);
  if (n > 6) {
    return;
  }
  const double limit = bound(a);
  if (focus_ == Focus::Axes && draw_.chance(0.5)) {
    return addOuter(a);
  }
  switch (draw_.number(0, 3)) {
    case 0:
      try_({"unsqueeze", {}, {value(a), integer(draw_.number(0, n))}}, limit);
      return;
    case 1: {  // stretched to the shape of another
      const int64_t b = pickWhere([&](int64_t id) { return stretches(a, id); });
      if (b < 0) {
        return;
      }
      try_({"expand_as", {}, {value(a), value(b)}}, limit);
      return;
    }
    case 2: {
      std::vector<int64_t> shape;
      if (draw_.chance(0.5)) {
        shape.push_back(draw_.number(2, 5));
      }
      for (int64_t i = 0; i < n; ++i) {
        shape.push_back(isBroadcast(a, i) && draw_.chance(0.7) ? draw_.number(2, 7) : -1);
      }
      try_({"expand", {}, {value(a), integers(shape)}}, limit);
      return;
    }
    default: {
      for (int64_t i = 0; i < n; ++i) {
        if (isBroadcast(a, i)) {
          try_({"squeeze", {}, {value(a), named("dims", integers({i}))}}, limit);
          return;
        }
      }
      Argument flags{.kind = Argument::Kind::List};
      int64_t added = 0;
      for (int64_t i = 0; i < n + 1; ++i) {
        const bool is_new = added == 0 && (draw_.chance(0.4) || i == n);
        added += is_new ? 1 : 0;
        flags.items.push_back(truth(is_new));
      }
      try_({"broadcast", {}, {value(a), flags}}, limit);
    }
  }
}

/// `a` with new axes behind it, for all those of another, and what the two make.
void Drawer::addOuter(int64_t a) {
  const int64_t b = pickWhere([&](int64_t id) {
    return rank(a) + rank(id) <= 6 && count(sizes(a)) * count(sizes(id)) <= 8 * elements_;
  });
  if (b < 0) {
    return;
  }
  Argument flags{.kind = Argument::Kind::List};
  for (int64_t i = 0; i < rank(a) + rank(b); ++i) {
    flags.items.push_back(truth(i >= rank(a)));
  }
  const int64_t wide = next_;
  if (try_({"broadcast", {}, {value(a), flags}}, bound(a))) {
    try_({"maximum", {}, {value(wide), value(b)}}, std::max(bound(a), bound(b)));
  }
}

void Drawer::addPermute() {
  const int64_t a = pick();
  if (rank(a) < 2) {
    return;
  }
  std::vector<int64_t> order(static_cast<size_t>(rank(a)));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<size_t>(draw_.number(0, static_cast<int64_t>(i) - 1))]);
  }
  if (draw_.chance(0.5)) {
    try_({"permute", {}, {value(a), integers(order)}}, bound(a));
  } else {
    try_({"transpose", {}, {value(a), integer(order[0]), integer(order[1])}}, bound(a));
  }
}

void Drawer::addReshape() {
  const int64_t a = pick();
  if (draw_.chance(0.25)) {
    const int64_t start = draw_.number(0, std::max<int64_t>(0, rank(a) - 1));
    try_({"flatten",
          {},
          {value(a), integer(start), integer(draw_.number(start, std::max(start, rank(a) - 1)))}},
         bound(a));
    return;
  }
  std::vector<int64_t> shape = sizes(a);
  for (int64_t step = draw_.number(1, 3); step > 0; --step) {
    if (shape.size() > 1 && draw_.chance(0.5)) {  // two become one
      const auto at = static_cast<size_t>(draw_.number(0, static_cast<int64_t>(shape.size()) - 2));
      shape[at] *= shape[at + 1];
      shape.erase(shape.begin() + static_cast<int64_t>(at) + 1);
    } else if (!shape.empty() && shape.size() < 6) {  // one becomes two
      const auto at = static_cast<size_t>(draw_.number(0, static_cast<int64_t>(shape.size()) - 1));
      const int64_t size = shape[at];
      std::vector<int64_t> factors;
      for (int64_t factor = 1; factor <= std::min<int64_t>(size, 64); ++factor) {
        if (size % factor == 0) {
          factors.push_back(factor);
        }
      }
      if (!factors.empty()) {
        const int64_t factor = draw_.oneOf(factors);
        shape[at] = size / factor;
        shape.insert(shape.begin() + static_cast<int64_t>(at) + 1, factor);
      }
    }
  }
  if (!shape.empty() && draw_.chance(0.3) && count(shape) > 0) {
    shape[static_cast<size_t>(draw_.number(0, static_cast<int64_t>(shape.size()) - 1))] = -1;
  }
  try_({"reshape", {}, {value(a), integers(shape)}}, bound(a));
}

void Drawer::addResize() {
  const int64_t a = pick();
  const int64_t n = rank(a);
  if (n == 0) {
    return;
  }
  switch (draw_.number(0, 4)) {
    case 4: {
      std::vector<int64_t> starts;
      std::vector<int64_t> counts;
      std::vector<int64_t> strides;
      for (int64_t size : sizes(a)) {
        const int64_t start = draw_.chance(0.3) || size == 0 ? 0 : draw_.number(0, size - 1);
        const int64_t stride = draw_.number(1, 3) * (draw_.chance(0.5) ? -1 : 1);
        const int64_t most = size == 0    ? 0
                             : stride < 0 ? start / -stride + 1
                                          : (size - 1 - start) / stride + 1;
        starts.push_back(start);
        strides.push_back(stride);
        counts.push_back(draw_.chance(0.7) ? most : draw_.number(0, most));
      }
      try_({"strided_slice",
            {},
            {value(a), named("start_indices", integers(starts)), named("sizes", integers(counts)),
             named("strides", integers(strides))}},
           bound(a));
      return;
    }
    case 0: {
      std::vector<int64_t> starts;
      std::vector<int64_t> ends;
      for (int64_t size : sizes(a)) {
        const int64_t start = draw_.chance(0.5) ? 0 : draw_.number(0, size);
        starts.push_back(start);
        ends.push_back(draw_.chance(0.4) ? size : draw_.number(start, size + 1));
      }
      try_({"slice",
            {},
            {value(a), named("start_indices", integers(starts)),
             named("end_indices", integers(ends))}},
           bound(a));
      return;
    }
    case 1: {
      std::vector<int64_t> widths;
      for (int64_t i = 0; i < draw_.number(1, n); ++i) {
        widths.push_back(draw_.number(-1, 3));
        widths.push_back(draw_.number(0, 4));
      }
      std::vector<Argument> arguments{value(a), named("pad_widths", integers(widths))};
      if (draw_.chance(0.4)) {
        arguments.push_back(named("value", integer(draw_.number(-3, 3))));
      }
      try_({"pad", {}, arguments}, std::max(bound(a), 3.0));
      return;
    }
    case 2: {
      const int64_t dim = draw_.number(0, n - 1);
      Argument list{.kind = Argument::Kind::List, .items = {value(a)}};
      double limit = bound(a);
      for (int64_t i = draw_.number(1, 2); i > 0; --i) {
        const int64_t b = pickWhere([&](int64_t id) {
          if (rank(id) != n) {
            return false;
          }
          for (int64_t k = 0; k < n; ++k) {
            if (k != dim && sizes(id)[static_cast<size_t>(k)] != sizes(a)[static_cast<size_t>(k)]) {
              return false;
            }
          }
          return true;
        });
        list.items.push_back(value(b));
        limit = std::max(limit, bound(b));
      }
      try_({"cat", {}, {list, named("dim", integer(dim))}}, limit);
      return;
    }
    default: {
      std::vector<int64_t> times;
      for (int64_t i = 0; i < n; ++i) {
        times.push_back(draw_.chance(0.4) ? draw_.number(1, 3) : 1);
      }
      try_({"repeat", {}, {value(a), integers(times)}}, bound(a));
    }
  }
}

/// Places below `size` that are made of the entries themselves, for each or for each row: their
/// sizes are the entries', whatever they are.
int64_t Drawer::indexOfOwn(int64_t source, int64_t dim, int64_t size) {
  int64_t index = next_;
  if (!try_({"cast", {}, {value(source), named("dtype", dtypeOf(DataType::Int))}}, bound(source))) {
    return -1;
  }
  std::vector<int64_t> others;
  for (int64_t i = 0; i < rank(source); ++i) {
    if (i != dim) {
      others.push_back(i);
    }
  }
  if (!others.empty() && draw_.chance(0.6)) {
    const int64_t most = next_;
    if (!try_({"max",
               {},
               {value(index), named("axes", integers(others)), named("keepdim", truth(true))}},
              bound(source))) {
      return -1;
    }
    index = next_;
    if (!try_({"expand_as", {}, {value(most), value(source)}}, bound(source))) {
      return -1;
    }
  }
  const int64_t result = next_;
  return try_({"remainder", {}, {value(index), integer(size)}}, static_cast<double>(size)) ? result
                                                                                           : -1;
}

/// What goes to one place is combined: of what is only written, any may stay.
void Drawer::addScatter(int64_t a, int64_t dim) {
  const int64_t source = pickWhere([&](int64_t id) {
    std::vector<int64_t> shape = sizes(id);
    if (shape.size() != sizes(a).size() || dtype(id) != dtype(a)) {
      return false;
    }
    shape[static_cast<size_t>(dim)] = sizes(a)[static_cast<size_t>(dim)];
    return shape == sizes(a);
  });
  if (source < 0 || count(sizes(source)) == 0) {
    return;
  }
  const int64_t size = sizes(a)[static_cast<size_t>(dim)];
  int64_t index = -1;
  if (isExact() && !isComplexType(dtype(source)) && draw_.chance(0.7)) {
    index = indexOfOwn(source, dim, size);
  } else {
    index = newIndex(sizes(source), size);
  }
  if (index < 0) {
    return;
  }
  const std::vector<Argument> arguments{value(a), value(index), value(source),
                                        named("dim", integer(dim))};
  if (draw_.chance(0.6)) {
    std::vector<Argument> adding = arguments;
    adding.push_back(named("accumulate", truth(true)));
    const auto entries = static_cast<double>(sizes(source)[static_cast<size_t>(dim)]);
    try_({"scatter", {}, adding}, bound(a) + entries * bound(source));
    return;
  }
  try_({draw_.chance(0.5) ? "scatter_max" : "scatter_min", {}, arguments},
       std::max(bound(a), bound(source)));
}

void Drawer::addIndexing() {
  const int64_t a = pick();
  const int64_t n = rank(a);
  if (n == 0 || count(sizes(a)) == 0) {
    try_({"iota", {}, {integer(draw_.number(1, 40)), named("start", integer(draw_.number(-3, 3)))}},
         43);
    return;
  }
  const int64_t dim = draw_.number(0, n - 1);
  const int64_t size = sizes(a)[static_cast<size_t>(dim)];
  switch (draw_.number(0, 6)) {
    case 0:
      try_({"select",
            {},
            {value(a), named("index", integer(draw_.number(0, size - 1))),
             named("dim", integer(dim))}},
           bound(a));
      return;
    case 1: {
      const int64_t index = newIndex({draw_.number(1, 9)}, size);
      try_({"index_select", {}, {value(a), value(index), named("dim", integer(dim))}}, bound(a));
      return;
    }
    case 2:
    case 3: {
      std::vector<int64_t> shape = sizes(a);
      shape[static_cast<size_t>(dim)] = draw_.number(1, 9);
      const bool along = draw_.chance(0.5);
      const int64_t index = newIndex(shape, size);
      try_({along ? "take_along_axis" : "gather",
            {},
            {value(a), value(index), named("dim", integer(dim))}},
           bound(a));
      return;
    }
    case 4:
    case 5:
      addScatter(a, dim);
      return;
    default:
      try_({"iota", {}, {integer(size), named("start", integer(draw_.number(-3, 3)))}},
           static_cast<double>(size) + 3);
  }
}

}  // namespace nvfuser::fuzz
