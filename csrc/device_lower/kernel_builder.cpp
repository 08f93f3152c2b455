#include <device_lower/kernel_builder.h>

#include <algorithm>
#include <map>

#include <device_lower/loop_copies.h>
#include <device_lower/rounded_results.h>
#include <device_lower/shared_divisors.h>
#include <ir/exact_numerics.h>

namespace nvfuser {

using kir::Scalar;

KernelBuilder::KernelBuilder(const Fusion& fusion, const IdGraph& exact, LoopModel& loops,
                             Symbols& symbols, Allocations& allocations,
                             const LowerOptions& options, kir::Kernel& kernel)
    : exact_(exact),
      loops_(loops),
      symbols_(symbols),
      allocations_(allocations),
      options_(options),
      kernel_(kernel),
      pool_(symbols.pool()),
      indexer_(exact, loops, symbols, allocations),
      predicates_(fusion, exact, loops, symbols, options.predicate_elimination) {
  if (!isComputedExactly(fusion)) {
    digits_shown_ = digitsShown(fusion);
    quotients_by_shared_ = quotientsByShared(fusion);
  }
  for (TensorView* tv : computedTensors(fusion)) {
    if (allocations_.of(tv).buffer->memory != MemoryType::Local) {
      continue;
    }
    const LoopClass* scope = nullptr;
    // A circular buffer outlives the iterations of the loop that it runs ahead in.
    const int64_t position = tv->getComputeAtPosition() - (allocations_.of(tv).stages > 1 ? 1 : 0);
    if (position > 0) {
      scope = &loops_.of(tv, static_cast<int>(position) - 1);
    }
    declared_in_[scope].push_back(allocations_.of(tv).buffer);
  }
  for (const Expr* expr : fusion.exprs()) {
    if (isReduction(expr)) {
      makeAccumulators(expr);
    } else if (expr->isA<ScanOp>()) {
      makeCarries(expr->as<ScanOp>());
    }
  }
  findRoles(fusion);
  // Part of a larger fusion keeps that fusion's numbers.
  const bool numbered = fusion.hasManaged("random_draws");
  int64_t draws = 0;
  for (Expr* expr : fusion.exprs()) {
    if (!expr->isA<RNGOp>()) {
      continue;
    }
    const bool own_seed = expr->as<RNGOp>()->seed() != nullptr;
    if (!own_seed && numbered) {
      draws = fusion.getManaged<std::map<int64_t, int64_t>>("random_draws").at(expr->name());
    }
    draw_of_[expr] = own_seed ? 0 : draws++;
  }
}

void KernelBuilder::build(LoopNode& root) {
  forEachLeaf(root, [&](Leaf& leaf, const auto&) {
    indexer_.noteWriter(leaf);
    requireIterations(leaf);
  });
  // What divides strides is known before conditions are made: of rows it divides the extent, too.
  forEachLeaf(root, [&](Leaf& leaf, const auto&) {
    const LoopClass* vector = nullptr;
    if (isVectorized(leaf, &vector) && !vector->extent->isConstant(0) && !isAtIndex(leaf.expr)) {
      vectorStatement(leaf, vector);
    }
  });
  initialiseBarriers(kernel_.body);
  if (!special_loads_.empty()) {
    buildRoles(root);
    return;
  }
  declare(root, kernel_.body);
  children(root, kernel_.body);
}

void KernelBuilder::requireIterations(const Leaf& leaf) {
  const bool whole = leaf.role == LeafRole::Whole || leaf.role == LeafRole::Step;
  if (!takesElements(leaf.role) || areOwn(leaf.out, leaf.path, exact_)) {
    return;
  }
  // Only readers behind the loop miss what stays in registers.
  const bool in_registers = whole && allocations_.of(leaf.out).buffer->memory == MemoryType::Local;
  const auto shared =
      leaf.path.begin() + std::min<std::ptrdiff_t>(leaf.out->getComputeAtPosition(),
                                                   static_cast<std::ptrdiff_t>(leaf.path.size()));
  const Places places = indexer_.around(leaf);
  for (const LoopAxis& axis : places.foreign(leaf.out, true)) {
    const bool readers_inside =
        in_registers &&
        std::all_of(axis.loops.begin(), axis.loops.end(), [&](const LoopClass* loop) {
          return std::find(leaf.path.begin(), shared, loop) != shared;
        });
    if (!readers_inside) {
      requireElements(axis.id, leaf.out);
    }
  }
}

void KernelBuilder::requireElements(const IterDomain* axis, const TensorView* tv) {
  if (axis->isBroadcast() || !with_elements_.insert(axis).second) {
    return;
  }
  // Parts of an axis have the elements that the axis has, whatever their extents.
  if (axis->definition() != nullptr) {
    for (const Val* in : axis->definition()->inputs()) {
      requireElements(in->as<IterDomain>(), tv);
    }
  }
  Scalar extent = symbols_.extent(axis);
  const bool known =
      (extent->isConstant() && extent->value > 0) ||
      std::any_of(kernel_.checks.begin(), kernel_.checks.end(), [&](const kir::LaunchCheck& check) {
        return check.kind == kir::LaunchCheck::Kind::NotEmpty && check.value == extent;
      });
  if (!known) {
    kernel_.checks.push_back({kir::LaunchCheck::Kind::NotEmpty, extent, nullptr, 1,
                              text("T", tv->name(), " is computed in a loop over it")});
  }
}

kir::Ref KernelBuilder::markRead(kir::Ref ref) {
  const_cast<kir::Buffer*>(ref.buffer)->read = true;
  return ref;
}

kir::Ref KernelBuilder::markWritten(kir::Ref ref) {
  const_cast<kir::Buffer*>(ref.buffer)->written = true;
  return ref;
}

// ---- loops

void KernelBuilder::declare(const LoopNode& scope, kir::Block& out) {
  auto found = declared_in_.find(scope.loop);
  if (found == declared_in_.end() || role_ == kir::Role::Loading) {
    return;
  }
  for (const kir::Buffer* buffer : found->second) {
    out.push_back({kir::Declare{buffer}});
  }
}

void KernelBuilder::children(LoopNode& node, kir::Block& out) {
  for (LoopNode& child : node.children) {
    this->node(child, out);
  }
}

void KernelBuilder::node(LoopNode& node, kir::Block& out) {
  if (!isForRole(node)) {
    return;
  }
  if (node.sync) {
    out.push_back({kir::Sync{*node.sync, nullptr, node.comment}});
  } else if (node.async_wait) {
    commit(*node.async_wait, node.waits_for, out);
    wait(*node.async_wait, 0, node.waits_for, out);
  } else if (node.async_fence) {
    out.push_back({kir::FenceAsyncProxy{}});
  } else if (node.leaf) {
    leaf(*node.leaf, out);
  } else {
    loop(node, out);
  }
}

namespace {

bool onlyLeavesBelow(const LoopNode& node) {
  return std::all_of(node.children.begin(), node.children.end(),
                     [](const LoopNode& child) { return child.leaf != nullptr; });
}

}  // namespace

std::string loopComment(const LoopClass& loop, const IdGraph& exact) {
  const TensorView* tv = exact.tensorOf(loop.promoted);
  std::string out = tv ? text("T", tv->name(), " ") : std::string();
  return out + loop.promoted->toString();
}

void KernelBuilder::loop(LoopNode& node, kir::Block& out) {
  const LoopClass& loop = *node.loop;
  if (loop.parallel == ParallelType::Bulk && options_.target != LowerTarget::Cpu) {
    if (role_ == kir::Role::Computing && hasSpecialLoads(node)) {
      return;
    }
    bulkCopies(node, out);
    return;
  }
  const bool unswitched = loop.parallel == ParallelType::Unswitch;
  if (loop.isThread() || (loop.index->isConstant() && !isCircular(node) && !unswitched)) {
    declare(node, out);
    children(node, out);
    return;
  }
  if (loop.parallel == ParallelType::Vectorize) {
    // Copies become vector accesses; each is one statement without a loop.
    const bool all_copies =
        onlyLeavesBelow(node) &&
        std::all_of(node.children.begin(), node.children.end(), [&](const LoopNode& child) {
          const LoopClass* vector = nullptr;
          return isVectorized(*child.leaf, &vector);
        });
    if (all_copies) {
      declare(node, out);
      for (LoopNode& child : node.children) {
        vectorCopy(*child.leaf, &loop, out);
      }
      return;
    }
    if (options_.target != LowerTarget::Cpu) {
      std::string names;
      for (auto [tv, position] : loop.members) {
        names += text("\n  note: ", tv);
      }
      userError(
          "lower: an axis bound to Vectorize is shared with, or computed by, something that is no "
          "copy; put a cache (cacheBefore, cacheAfter) at the input or output, vectorize that, "
          "and inline it at a position before the axis",
          names);
    }
  }
  if (isGroup(node)) {
    finishReduction(*node.children[0].leaf, &loop, out);
    return;
  }
  if (isCircular(node)) {
    circularLoop(node, out);
    return;
  }
  if (loop.parallel == ParallelType::Unswitch) {
    unswitch(node, out);
    return;
  }
  kir::For statement;
  statement.var = loop.index;
  statement.extent = loop.extent;
  statement.descending = loop.descending;
  statement.comment = loopComment(loop, exact_);
  if (loop.parallel == ParallelType::Unroll || loop.parallel == ParallelType::Group) {
    statement.kind = kir::LoopKind::Unrolled;
  }
  if (options_.target == LowerTarget::Cpu && isSimd(node)) {
    statement.kind = kir::LoopKind::Simd;
  }
  statement.body = std::make_shared<kir::Block>();
  declare(node, *statement.body);
  children(node, *statement.body);
  if (options_.target != LowerTarget::Cpu && loop.extent->isConstant() &&
      loop.extent->value <= 16 && statement.kind == kir::LoopKind::Serial &&
      wantsCopies(statement)) {
    // (On the CPU, nests of them would take the compiler minutes.)
    statement.kind = kir::LoopKind::Unrolled;
  }
  if (!statement.body->empty()) {
    out.push_back({std::move(statement)});
  }
}

bool KernelBuilder::isSimd(const LoopNode& node) const {
  // Threads have no order, nor have elements that are computed each by itself, nor have sums that
  // lie beside each other. A sum along the loop has an order, and so has a scan, whichever axis
  // its loop is over.
  const LoopClass& loop = *node.loop;
  auto axisOf = [](const auto& member) {
    return member.first->getLoopDomain()[static_cast<size_t>(member.second)];
  };
  auto hasOrder = [&](const Leaf& leaf) {
    return leaf.role != LeafRole::Whole &&
           std::none_of(loop.members.begin(), loop.members.end(), [&](const auto& member) {
             return member.first == leaf.out && !axisOf(member)->isReduction();
           });
  };
  bool innermost = true;
  bool ordered = false;
  bool scanned = false;
  std::function<void(const LoopNode&)> look = [&](const LoopNode& inner) {
    for (const LoopNode& child : inner.children) {
      innermost &= child.loop == nullptr ||
                   (child.loop->index->isConstant() && !isGroup(child) && !isCircular(child));
      ordered |= child.leaf != nullptr && hasOrder(*child.leaf);
      scanned |= child.leaf != nullptr &&
                 ((child.leaf->role == LeafRole::Step && isFoldedIn(*child.leaf, loop)) ||
                  writesInOrder(*child.leaf, loop));
      look(child);
    }
  };
  look(node);
  const bool thread =
      std::any_of(loop.members.begin(), loop.members.end(), [&](const auto& member) {
        return isParallelTypeThreadDim(axisOf(member)->getParallelType());
      });
  return innermost && !scanned &&
         (thread || loop.parallel == ParallelType::Vectorize ||
          loop.parallel == ParallelType::Bulk ||
          (!ordered && loop.parallel == ParallelType::Serial));
}

bool KernelBuilder::exchangesData(const LoopNode& node) const {
  const bool bulk = node.loop != nullptr && node.loop->parallel == ParallelType::Bulk;
  return node.sync || node.async_wait || bulk ||
         (node.leaf && node.leaf->role == LeafRole::Finish && isSpreadReduction(node.leaf->out)) ||
         (node.leaf && node.leaf->role == LeafRole::Exchange) ||
         std::any_of(node.children.begin(), node.children.end(),
                     [&](const LoopNode& child) { return exchangesData(child); });
}

// ---- statements

void KernelBuilder::guarded(Scalar condition, kir::Block body, kir::Block& out) {
  if (condition->isConstant(0)) {
    return;
  }
  if (condition->isConstant()) {
    std::move(body.begin(), body.end(), std::back_inserter(out));
    return;
  }
  out.push_back({kir::If{condition, std::make_shared<kir::Block>(std::move(body)), nullptr}});
}

void KernelBuilder::leaf(Leaf& leaf, kir::Block& out) {
  if (leaf.expr->isA<WrittenOp>()) {
    return;  // the target holds it
  }
  const Places places = indexer_.around(leaf);
  if (leaf.expr->isA<ScanOp>()) {
    scan(leaf, places, out);
    return;
  }
  if (leaf.role != LeafRole::Whole) {
    reduction(leaf, places, out);
    return;
  }
  Scalar condition = bounds_proven_ ? pool_.one() : predicates_.inBounds(leaf, places);
  // (None where the reduction turns out to have one block.)
  const auto last = last_of_.find(loops_.lastTaskOf(leaf.out));
  if (last != last_of_.end()) {
    condition = pool_.logicalAnd(last->second, condition);
  }
  const Allocation& allocation = allocations_.of(leaf.out);
  if (allocation.buffer->memory != MemoryType::Local && !allocation.per_task) {
    const TensorView* by_last =
        last != last_of_.end() ? last->first->output(0)->as<TensorView>() : nullptr;
    condition = pool_.logicalAnd(
        condition,
        predicates_.writesOnce(leaf.out, leaf, allocation.buffer->memory, places, false, by_last));
  }
  kir::Block body;
  if (leaf.expr->isA<WriteAtOp>()) {
    pointwise(leaf, places, {}, body);  // has no memory of its own
    guarded(condition, std::move(body), out);
    return;
  }
  const kir::Ref dst = markWritten(indexer_.write(leaf.out, places));
  if (isAsyncCopy(leaf.expr)) {
    kir::Operand src = operand(leaf.expr->input(0), leaf.expr, leaf.out, places);
    body.push_back(asyncCopy(leaf.expr->as<LoadStoreOp>(), dst, std::get<kir::Ref>(src)));
  } else {
    pointwise(leaf, places, dst, body);
  }
  guarded(condition, std::move(body), out);
}

kir::Operand KernelBuilder::scalarOperand(const Val* val) {
  if (val->isConst()) {
    return kir::Literal{val->value(), val->dtype()};
  }
  if (std::find(scalar_operands_.begin(), scalar_operands_.end(), val) == scalar_operands_.end()) {
    scalar_operands_.push_back(val);
  }
  const DataType dtype = val->dtype() == DataType::Index ? DataType(DataType::Int) : val->dtype();
  return kir::ParamRef{text("s_", val->toString()), dtype};
}

kir::Operand KernelBuilder::operand(const Val* val, const Expr* expr, const TensorView* out,
                                    const Places& places) {
  if (!val->isA<TensorView>()) {
    return scalarOperand(val);
  }
  auto* tv = val->as<TensorView>();
  return markRead(indexer_.read(tv, out, places, indexer_.producerAxes(expr, tv, out, places)));
}

}  // namespace nvfuser
