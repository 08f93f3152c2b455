/// Vector accesses. A copy whose consumer's innermost axis is bound to Vectorize moves the whole
/// axis at once. On each side the elements must be neighbours, and the first one at a multiple of
/// the width:
///
///   T2[k·4 + v] = T0[k·4 + v]   v vectorized, width 4    →    vector4 T2[k·4] = T0[k·4]
///
/// What strides and addresses must be divisible by for that, and is not proven, is checked at each
/// launch. An extent need not be a multiple of the width: the last vector goes element by element.
///
///   if (k·4 + 3 < i0) vector4 T2[k·4] = T0[k·4]
///   else for v < 4: if (k·4 + v < i0) T2[k·4 + v] = T0[k·4 + v]
///
/// A slice or a pad of something in memory is such a copy, too. Where a pad's vector is not wholly
/// inside its input, it is filled, or its elements are read one by one. Rows at an index are
/// read, and combined, in vectors, too, which are whole.
#include <algorithm>

#include <device_lower/kernel_builder.h>
#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

bool KernelBuilder::isAtIndex(const Expr* expr) {
  return expr->isOneOf<WriteAtOp, IndexSelectOp>() ||
         (expr->isA<GatherOp>() && expr->as<GatherOp>()->exactSizes());
}

bool KernelBuilder::isVectorized(const Leaf& leaf, const LoopClass** loop) const {
  if (!leaf.expr->isOneOf<LoadStoreOp, SliceOp, PadOp>() && !isAtIndex(leaf.expr)) {
    return false;
  }
  if (leaf.path.empty()) {
    return false;
  }
  if (!leaf.expr->input(0)->isA<TensorView>() ||
      leaf.path.back()->parallel != ParallelType::Vectorize) {
    return false;
  }
  if (!leaf.path.back()->extent->isConstant() || leaf.path.back()->index->isConstant()) {
    return false;
  }
  if (options_.target == LowerTarget::Cpu) {
    return false;  // a SIMD loop does the same there
  }
  *loop = leaf.path.back();
  return true;
}

kir::CopyVector KernelBuilder::vectorStatement(const Leaf& leaf, const LoopClass* vector) {
  auto* in = leaf.expr->input(0)->as<TensorView>();
  const int64_t width = vector->extent->value;
  if (in->dtype() != leaf.out->dtype()) {
    throw InternalError("a copy does not convert");
  }
  const int64_t bytes = width * dataTypeSizeByte(leaf.out->dtype());
  if (bytes > kMaxVectorBytes || (width & (width - 1)) != 0) {
    userError("lower: T", leaf.out->name(), " is vectorized by ", width, " elements of ",
              leaf.out->dtype(), " (", bytes,
              " bytes); a vector access has 1, 2, 4, 8 or 16 bytes at most");
  }
  const Replaced at_first{{vector, pool_.zero()}};
  const Places places = indexer_.around(leaf);
  const Places first = indexer_.around(leaf, at_first);
  const bool copies = leaf.expr->isA<LoadStoreOp>();
  auto source = [&](const Places& at) {
    return indexer_.read(
        in, leaf.out, at,
        copies ? indexer_.producerAxes(leaf.expr, in, leaf.out, at) : windowAxes(leaf.expr, at));
  };
  kir::CopyVector statement;
  if (copies) {
    statement.cache_op = leaf.expr->as<LoadStoreOp>()->cacheOp();
  }
  statement.src = markRead(vectorRef(source(places), source(first), vector, width, in));
  statement.dst = markWritten(vectorRef(indexer_.write(leaf.out, places),
                                        indexer_.write(leaf.out, first), vector, width, leaf.out));
  return statement;
}

Scalar KernelBuilder::wholeVectorInside(const Leaf& leaf, const LoopClass* vector, bool* partial) {
  const int64_t width = vector->extent->value;
  Scalar condition = pool_.one();
  // In order of the bounds: whether each depends on the vector's variable.
  std::vector<bool> varies;
  for (const auto& bound : predicates_.bounds(leaf, indexer_.around(leaf))) {
    varies.push_back(kir::ScalarPool::contains(bound.index, vector->index));
  }
  const Places first = indexer_.around(leaf, {{vector, pool_.zero()}});
  const Places last = indexer_.around(leaf, {{vector, pool_.constant(width - 1)}});
  const std::vector<Predicates::Bound> at_last = predicates_.bounds(leaf, last);
  size_t next = 0;
  for (const auto& bound : predicates_.bounds(leaf, first)) {
    const size_t i = next++;
    // Of a multiple of the width a vector is wholly inside or wholly outside.
    const bool cut = varies.at(i) && !pool_.provesDivisible(bound.extent, pool_.constant(width)) &&
                     !pool_.provesLess(at_last.at(i).index, bound.extent);
    if (cut && (isAsyncCopy(leaf.expr) || isAtIndex(leaf.expr))) {
      requireDivisible(bound.extent, width, leaf.out);  // it has no form for part of a vector
    } else if (cut) {
      *partial = true;
      condition = pool_.logicalAnd(condition, pool_.less(at_last.at(i).index, bound.extent));
      continue;
    }
    condition = pool_.logicalAnd(condition, pool_.less(bound.index, bound.extent));
  }
  return condition;
}

KernelBuilder::VectorWindow KernelBuilder::windowOfVector(const Leaf& leaf,
                                                          const LoopClass* vector) {
  auto* pad = leaf.expr->as<PadOp>();
  const Scalar width = vector->extent;
  const Scalar last_element = pool_.sub(width, pool_.one());
  const std::vector<Bound> first =
      windowBounds(pad, indexer_.around(leaf, {{vector, pool_.zero()}}));
  const std::vector<Bound> last =
      windowBounds(pad, indexer_.around(leaf, {{vector, last_element}}));
  VectorWindow window{pool_.logicalAnd(insideWindow(first), insideWindow(last)), pool_.zero(),
                      false};
  const bool in_registers = allocations_.of(leaf.out).buffer->memory == MemoryType::Local;
  for (size_t i = 0; i < first.size(); ++i) {
    window.may_straddle |=
        first[i].index != last[i].index && !(pool_.provesDivisible(first[i].index, width) &&
                                             pool_.provesDivisible(first[i].extent, width));
    if (in_registers) {  // which have elements beyond the extents, too
      window.outside = pool_.logicalOr(window.outside, pool_.less(last[i].index, pool_.zero()));
      window.outside =
          pool_.logicalOr(window.outside, pool_.lessEqual(first[i].extent, first[i].index));
    }
  }
  return window;
}

void KernelBuilder::vectorAtIndex(const Leaf& leaf, const LoopClass* vector, const Places& first,
                                  kir::Block& out) {
  const Expr* expr = leaf.expr;
  const int64_t width = vector->extent->value;
  auto* table = expr->input(0)->as<TensorView>();
  const Places places = indexer_.around(leaf);
  const auto read = [&](const Val* val, const Places& where) {
    auto* tv = val->as<TensorView>();
    return indexer_.read(tv, leaf.out, where, indexer_.producerAxes(expr, tv, leaf.out, where));
  };
  if (read(expr->input(1), places).index != read(expr->input(1), first).index) {
    userError("lower: T", leaf.out->name(), " is bound to Vectorize along an axis of its index T",
              expr->input(1)->name(), ", whose elements name places that are no neighbours",
              "\n  note: ", leaf.out, "\n  help: bind an axis to it that the index does not have");
  }
  kir::Block body;
  IterDomain* counted =
      TensorDomain::noReductions(table->getLogicalDomain())[static_cast<size_t>(indexedAxis(expr))];
  const Scalar index = loadIndex(expr, counted, first, body);
  const auto atIndex = [&](const Places& where) {
    AxisIndex known = indexer_.producerAxes(expr, table, leaf.out, where);
    known[counted] = counted->isBroadcast() ? pool_.zero() : index;
    return indexer_.read(table, leaf.out, where, std::move(known));
  };
  const kir::Ref there = vectorRef(atIndex(places), atIndex(first), vector, width, table);
  if (const auto* write = dynamic_cast<const WriteAtOp*>(expr)) {
    auto* source = write->input(2)->as<TensorView>();
    const kir::Ref value =
        vectorRef(read(source, places), read(source, first), vector, width, source);
    body.push_back(
        {kir::CombineAt{write->accumulateOp(), markRead(markWritten(there)), markRead(value)}});
  } else {
    const kir::Ref here = vectorRef(indexer_.write(leaf.out, places),
                                    indexer_.write(leaf.out, first), vector, width, leaf.out);
    kir::CopyVector copy;
    copy.dst = markWritten(here);
    copy.src = markRead(there);
    body.push_back({std::move(copy)});
  }
  bool partial = false;
  Scalar condition = bounds_proven_ ? pool_.one() : wholeVectorInside(leaf, vector, &partial);
  check(!partial, "vectors at an index are whole");
  const MemoryType memory = allocations_.of(leaf.out).buffer->memory;
  if (memory != MemoryType::Local) {
    condition = pool_.logicalAnd(condition, predicates_.writesOnce(leaf.out, leaf, memory, first));
  }
  guarded(condition, std::move(body), out);
}

namespace {

/// One of two statements; neighbours under one condition share it.
void addChoice(Scalar condition, kir::Stmt yes, kir::Stmt no, kir::Block& out) {
  auto* before = out.empty() ? nullptr : std::get_if<kir::If>(&out.back().node);
  if (before == nullptr || before->condition != condition || !before->else_body) {
    kir::If branch;
    branch.condition = condition;
    branch.then_body = std::make_shared<kir::Block>();
    branch.else_body = std::make_shared<kir::Block>();
    out.push_back({std::move(branch)});
    before = &std::get<kir::If>(out.back().node);
  }
  before->then_body->push_back(std::move(yes));
  before->else_body->push_back(std::move(no));
}

}  // namespace

void KernelBuilder::vectorCopy(Leaf& leaf, const LoopClass* vector, kir::Block& out) {
  const int64_t width = vector->extent->value;
  if (width == 0) {
    return;  // of an axis without elements
  }
  const Replaced at_first{{vector, pool_.zero()}};
  const Places first = indexer_.around(leaf, at_first);
  if (isAtIndex(leaf.expr)) {
    vectorAtIndex(leaf, vector, first, out);
    return;
  }
  kir::CopyVector statement = vectorStatement(leaf, vector);
  Scalar condition = pool_.one();
  bool partial = false;
  if (!bounds_proven_) {
    condition = wholeVectorInside(leaf, vector, &partial);
  }
  const MemoryType memory = allocations_.of(leaf.out).buffer->memory;
  if (memory != MemoryType::Local) {
    condition = pool_.logicalAnd(condition, predicates_.writesOnce(leaf.out, leaf, memory, first));
  }
  if (isAsyncCopy(leaf.expr)) {
    guarded(condition, {asyncCopy(leaf.expr->as<LoadStoreOp>(), statement.dst, statement.src)},
            out);
    return;
  }
  auto forEachElement = [&](kir::Block body) {
    kir::For elements;
    elements.var = vector->index;
    elements.extent = vector->extent;
    elements.kind = kir::LoopKind::Unrolled;
    elements.comment = loopComment(*vector, exact_);
    elements.body = std::make_shared<kir::Block>(std::move(body));
    return elements;
  };
  const bool is_cut = partial;
  VectorWindow window{pool_.one(), pool_.zero(), false};
  if (auto* pad = dynamic_cast<PadOp*>(leaf.expr)) {
    window = windowOfVector(leaf, vector);
    const bool all_or_nothing = !is_cut && !window.may_straddle && !window.outside->isConstant();
    if (all_or_nothing && options_.target != LowerTarget::Cpu) {
      guarded(condition,
              {{kir::Guarded{statement.dst, window.inside, statement.src,
                             scalarOperand(pad->value())}}},
              out);
      return;
    }
    partial |= !window.inside->isConstant(1);
    condition = pool_.logicalAnd(condition, window.inside);
  }
  if (!partial) {
    guarded(condition, {{std::move(statement)}}, out);
    return;
  }
  kir::Block one;
  this->leaf(leaf, one);
  kir::Stmt elements{forEachElement(std::move(one))};
  if (!window.outside->isConstant()) {
    kir::Block filled{{kir::Assign{indexer_.write(leaf.out, indexer_.around(leaf)),
                                   scalarOperand(leaf.expr->as<PadOp>()->value())}}};
    kir::Stmt fill{forEachElement(std::move(filled))};
    if (!is_cut && !window.may_straddle) {
      elements = std::move(fill);  // what is not wholly inside is wholly outside
    } else {
      kir::If branch{window.outside, std::make_shared<kir::Block>(),
                     std::make_shared<kir::Block>()};
      branch.then_body->push_back(std::move(fill));
      branch.else_body->push_back(std::move(elements));
      elements = {std::move(branch)};
    }
  }
  addChoice(condition, {std::move(statement)}, std::move(elements), out);
}

}  // namespace nvfuser
