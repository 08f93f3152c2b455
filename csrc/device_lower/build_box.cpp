/// Copies of boxes: several axes bound to Bulk, which the copy engine goes through by itself.
///
///   T1[r·64 + c] = T0[(i·32 + r)·i1 + j·64 + c]   r, c bound to Bulk   →
///   T1[0] = box T0_map{j·64, i·32} : 64 x 32
///
/// Whether the axes make a box is asked of indices, whatever transforms they come from:
///   - in the tensor, each axis bound to Bulk is a stretch of one axis, and that of the innermost
///     one is contiguous. Where the box ends, the engine looks at the tensor's sizes;
///   - in shared memory, the elements of the box lie one after the other in the tensor's order, or
///     as the engine swizzles them. A linear index shows it; of any other, all elements are tried.
///
/// What is no box is copied in loops over its outer axes: of smaller boxes, of stretches at last.
#include <algorithm>
#include <map>
#include <set>

#include <device_lower/kernel_builder.h>

namespace nvfuser {

using kir::Scalar;

namespace {

constexpr int64_t kMostExtent = 256;   ///< of a box, along an axis
constexpr int64_t kMostRank = 5;       ///< of a tensor
constexpr int64_t kUnit = 16;          ///< bytes, of a row of a box
constexpr int64_t kAlignment = 128;    ///< bytes, of a box in shared memory
constexpr int64_t kMostTried = 65536;  ///< elements

/// Where the engine puts a byte of a swizzled box.
int64_t swizzled(int64_t offset, int64_t swizzle) {
  return offset ^ ((offset >> 7 & (swizzle / 16 - 1)) << 4);
}

}  // namespace

/// One axis of the box: the tensor's, and the loop over it (null: one element).
struct KernelBuilder::BoxAxis {
  kir::TensorMap::Axis axis;
  Scalar at = nullptr;     ///< of the box's first element
  Scalar index = nullptr;  ///< of an element
  const LoopClass* loop = nullptr;
};

std::string KernelBuilder::findBoxAxes(const TensorView* tensor, const AxisIndex& known,
                                       std::span<const LoopClass* const> loops,
                                       std::vector<BoxAxis>* axes) {
  std::set<const LoopClass*> used;
  for (const Indexer::MemoryAxis& memory : indexer_.memoryAxes(tensor, known)) {
    BoxAxis one;
    one.index = one.at = memory.index;
    one.axis = {memory.extent, memory.stride, 1};
    for (const LoopClass* loop : loops) {
      if (!kir::ScalarPool::contains(one.at, loop->index)) {
        continue;
      }
      int64_t coefficient = 0;
      if (one.loop != nullptr || !pool_.splitLinear(one.at, loop->index, &coefficient, &one.at) ||
          coefficient != 1) {
        return text("along an axis of T", tensor->name(), " its elements are no neighbours (index ",
                    memory.index->toString(), ")");
      }
      if (!loop->extent->isConstant() || loop->extent->value > kMostExtent) {
        return text("a box has constant extents of ", kMostExtent, " at most, not ",
                    loop->extent->toString());
      }
      one.loop = loop;
      one.axis.box = loop->extent->value;
      used.insert(loop);
    }
    axes->insert(axes->begin(), one);
  }
  for (const LoopClass* loop : loops) {
    if (used.count(loop) == 0 && !loop->extent->isConstant(1)) {
      return text("an axis that is bound to Bulk is none of T", tensor->name());
    }
  }
  if (axes->empty() || static_cast<int64_t>(axes->size()) > kMostRank) {
    return text("T", tensor->name(), " has ", axes->size(), " axes in memory, and a box 1 to ",
                kMostRank);
  }
  const BoxAxis& inner = axes->front();
  if (!inner.axis.stride->isConstant(1)) {
    return text("the innermost axis of T", tensor->name(), " is not contiguous");
  }
  return {};
}

std::string KernelBuilder::findLayout(const std::vector<BoxAxis>& axes, kir::Ref* shared,
                                      int64_t* swizzle) {
  const int64_t bytes = dataTypeSizeByte(shared->buffer->dtype);
  const int64_t row = axes.front().axis.box * bytes;
  if (row % kUnit != 0) {
    return text("a row of the box has ", row, " bytes, no multiple of ", kUnit);
  }
  int64_t constant = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  pool_.decompose(shared->index, &constant, &terms);
  Scalar base = pool_.constant(constant);
  Scalar inside = pool_.zero();
  std::set<Scalar> symbols;
  for (const BoxAxis& axis : axes) {
    if (axis.loop != nullptr) {
      symbols.insert(axis.loop->index);
    }
  }
  for (const auto& [term, coefficient] : terms) {
    const std::vector<Scalar> found = kir::ScalarPool::symbolsOf(term);
    const auto of_box =
        std::count_if(found.begin(), found.end(), [&](Scalar s) { return symbols.count(s) != 0; });
    Scalar& sum = of_box == 0 ? base : inside;
    if (of_box != 0 && of_box != static_cast<std::ptrdiff_t>(found.size())) {
      return text("its place in shared memory is not the sum of the box's and an element's (index ",
                  shared->index->toString(), ")");
    }
    sum = pool_.add(sum, pool_.mul(term, coefficient));
  }
  // In order?
  *swizzle = 0;
  Scalar dense = pool_.zero();
  int64_t elements = 1;
  for (const BoxAxis& axis : axes) {
    if (axis.loop != nullptr) {
      dense = pool_.add(dense, pool_.mul(axis.loop->index, elements));
    }
    elements *= axis.axis.box;
  }
  if (dense != inside) {
    if ((row != 32 && row != 64 && row != 128) || elements > kMostTried) {
      return text("its elements do not lie one after the other in shared memory (index ",
                  shared->index->toString(), "), and a swizzle has rows of 32, 64 or 128 bytes");
    }
    *swizzle = row;
    if (!isSwizzled(axes, inside, bytes, row)) {
      return text("its elements lie in shared memory neither in order nor swizzled (index ",
                  shared->index->toString(), ")");
    }
  }
  const int64_t alignment = *swizzle == 0 ? kAlignment : *swizzle * 8;
  if (!pool_.provesDivisible(base, pool_.constant(alignment / bytes))) {
    return text("it begins in shared memory at element ", base->toString(),
                ", which may be no multiple of ", alignment, " bytes");
  }
  shared->index = base;
  auto* buffer = const_cast<kir::Buffer*>(shared->buffer);
  buffer->alignment = std::max(buffer->alignment, alignment);
  return {};
}

bool KernelBuilder::isSwizzled(const std::vector<BoxAxis>& axes, Scalar inside, int64_t bytes,
                               int64_t swizzle) const {
  int64_t elements = 1;
  for (const BoxAxis& axis : axes) {
    elements *= axis.axis.box;
  }
  std::map<Scalar, int64_t> values;
  for (int64_t i = 0; i < elements; ++i) {
    int64_t rest = i;
    for (const BoxAxis& axis : axes) {
      if (axis.loop != nullptr) {
        values[axis.loop->index] = rest % axis.axis.box;
      }
      rest /= axis.axis.box;
    }
    const int64_t at = kir::evaluate(inside, [&](Scalar symbol) { return values.at(symbol); });
    if (at * bytes != swizzled(i * bytes, swizzle)) {
      return false;
    }
  }
  return true;
}

const kir::TensorMap* KernelBuilder::tensorMap(const kir::Buffer* buffer,
                                               const std::vector<BoxAxis>& axes, int64_t swizzle) {
  auto map = std::make_unique<kir::TensorMap>();
  map->buffer = buffer;
  map->swizzle = swizzle;
  int64_t same_buffer = 1;
  for (const BoxAxis& axis : axes) {
    map->axes.push_back(axis.axis);
  }
  for (const auto& made : kernel_.tensor_maps) {
    const bool same =
        std::equal(made->axes.begin(), made->axes.end(), map->axes.begin(), map->axes.end(),
                   [](const auto& a, const auto& b) {
                     return a.extent == b.extent && a.stride == b.stride && a.box == b.box;
                   });
    if (made->buffer == buffer && made->swizzle == swizzle && same) {
      return made.get();
    }
    same_buffer += made->buffer == buffer ? 1 : 0;
  }
  map->name = text(buffer->name, "_map", same_buffer > 1 ? text(same_buffer) : std::string());
  kernel_.tensor_maps.push_back(std::move(map));
  return kernel_.tensor_maps.back().get();
}

std::string KernelBuilder::boxCopy(const Leaf& leaf, std::span<const LoopClass* const> loops,
                                   kir::Block& out) {
  auto* copy = leaf.expr->as<LoadStoreOp>();
  auto* in = copy->in()->as<TensorView>();
  const TensorView* tv = leaf.out;
  const Places places = indexer_.around(leaf);
  const bool load = asyncKindOf(copy, options_.target) == kir::AsyncKind::BulkLoad;
  const TensorView* tensor = load ? in : tv;
  const kir::Buffer* buffer = allocations_.of(tensor).buffer;
  if (buffer->role == kir::BufferRole::Intermediate) {
    return text("T", tensor->name(), " is no input or output of the kernel");
  }
  if (dataTypeSizeByte(buffer->dtype) > 8) {
    return text("elements of ", buffer->dtype, " are too wide");
  }
  const AxisIndex known = indexer_.producerAxes(copy, in, tv, places);
  std::vector<BoxAxis> axes;
  const std::string no_box =
      findBoxAxes(tensor, load ? known : indexer_.indicesOf(tv, places), loops, &axes);
  if (!no_box.empty()) {
    return no_box;
  }
  kir::BoxCopy statement;
  statement.shared = load ? indexer_.write(tv, places) : indexer_.read(in, tv, places, known);
  int64_t swizzle = 0;
  if (std::string no_layout = findLayout(axes, &statement.shared, &swizzle); !no_layout.empty()) {
    return no_layout;
  }
  Scalar condition = predicates_.writesOnce(
      tv, leaf, load ? MemoryType::Shared : MemoryType::Global, places, true);
  for (const auto& bound : predicates_.bounds(leaf, places)) {
    const bool of_box = std::any_of(loops.begin(), loops.end(), [&](const LoopClass* loop) {
      return kir::ScalarPool::contains(bound.index, loop->index);
    });
    if (!of_box) {
      condition = pool_.logicalAnd(condition, pool_.less(bound.index, bound.extent));
      continue;
    }
    // A load may bring more than is read; a store ends where the tensor does.
    const bool ends_there = std::any_of(axes.begin(), axes.end(), [&](const BoxAxis& axis) {
      return axis.index == bound.index && axis.axis.extent == bound.extent;
    });
    if (!load && !ends_there && !pool_.provesLess(bound.index, bound.extent)) {
      return text("where ", bound.index->toString(), " reaches ", bound.extent->toString(),
                  ", the tensor does not end");
    }
  }
  statement.shared = load ? markWritten(statement.shared) : markRead(statement.shared);
  statement.map = tensorMap(buffer, axes, swizzle);
  for (const BoxAxis& axis : axes) {
    statement.at.push_back(axis.at);
  }
  if (load) {
    statement.barrier = barrierOf(tv);
  }
  guarded(condition, {{std::move(statement)}}, out);
  return {};
}

void KernelBuilder::bulkCopies(const LoopNode& node, kir::Block& out) {
  std::vector<const LoopClass*> loops;
  const LoopNode* inner = &node;
  while (inner->leaf == nullptr) {
    loops.push_back(inner->loop);
    inner = &inner->children[0];
  }
  const Leaf& leaf = *inner->leaf;
  size_t around = 0;  // loops that are loops
  kir::Block body;
  std::string no_box;
  for (; around + 1 < loops.size(); ++around) {
    const std::string why = boxCopy(leaf, std::span(loops).subspan(around), body);
    if (why.empty()) {
      break;
    }
    no_box = no_box.empty() ? why : no_box;
  }
  if (around + 1 == loops.size()) {
    stretchCopy(leaf, loops.back(), no_box, body);
  }
  for (size_t i = around; i-- > 0;) {
    if (loops[i]->index->isConstant()) {
      continue;
    }
    kir::For loop;
    loop.var = loops[i]->index;
    loop.extent = loops[i]->extent;
    loop.comment = loopComment(*loops[i], exact_);
    loop.body = std::make_shared<kir::Block>(std::move(body));
    body.clear();
    body.push_back({std::move(loop)});
  }
  std::move(body.begin(), body.end(), std::back_inserter(out));
}

}  // namespace nvfuser
