#include <ir/interface_nodes.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/field_values.h>

namespace nvfuser {

TensorView::TensorView(IrBuilderPasskey passkey, TensorDomain* domain, DataType dtype,
                       MemoryType memory_type)
    : TensorView(passkey, TensorFields{.domain = domain, .memory_type = memory_type}, dtype) {}

TensorView::TensorView(IrBuilderPasskey passkey, TensorFields fields, DataType dtype)
    : Val(passkey, ValType::TensorView, dtype), fields_(std::move(fields)) {}

void TensorView::setLoopDomain(std::vector<IterDomain*> loop) {
  fields_.domain->setLoopDomain(std::move(loop));
}

void TensorView::setAllocationDomain(std::vector<IterDomain*> allocation, Contiguity contiguity) {
  fields_.domain->setAllocationDomain(std::move(allocation), std::move(contiguity));
}

void TensorView::setAllocationDomain(std::vector<IterDomain*> allocation, bool contiguity) {
  Contiguity filled = TensorDomain::getContiguityFilledWith(allocation, contiguity);
  fields_.domain->setAllocationDomain(std::move(allocation), std::move(filled));
}

void TensorView::setContiguity(Contiguity contiguity) {
  fields_.domain->setContiguity(std::move(contiguity));
}

void TensorView::setContiguity(bool contiguity) {
  setContiguity(TensorDomain::getContiguityFilledWith(getMaybeAllocationDomain(), contiguity));
}

bool TensorView::sameAs(const Statement* other) const {
  if (this == other) {
    return true;
  }
  if (other == nullptr || !other->isA<TensorView>()) {
    return false;
  }
  auto* tv = other->as<TensorView>();
  return dtype() == tv->dtype() && definition() != nullptr && tv->definition() != nullptr &&
         sameFields(fields_, tv->fields_) && definition()->sameAs(tv->definition());
}

// ---- TensorViewBuilder

TensorViewBuilder& TensorViewBuilder::ndims(int64_t n) {
  if (n < 0) {
    userError("TensorViewBuilder: the number of dimensions must not be negative, got ", n);
  }
  ndims_ = n;
  return *this;
}

TensorViewBuilder& TensorViewBuilder::dtype(DataType dtype) {
  dtype_ = dtype;
  return *this;
}

TensorViewBuilder& TensorViewBuilder::contiguity(Contiguity contiguity) {
  contiguity_ = std::move(contiguity);
  return *this;
}

TensorViewBuilder& TensorViewBuilder::contiguity(bool contiguous) {
  contiguity_ = contiguous;
  return *this;
}

TensorViewBuilder& TensorViewBuilder::shape(std::vector<Val*> shape) {
  shape_ = std::move(shape);
  ndims_ = static_cast<int64_t>(shape_.size());
  return *this;
}

TensorViewBuilder& TensorViewBuilder::shape(const std::vector<int64_t>& shape) {
  std::vector<Val*> extents;
  for (int64_t size : shape) {
    if (size < -1) {
      userError("TensorViewBuilder: a size is -1 (symbolic), 1 (broadcast) or a constant, got ",
                size, " for dimension ", extents.size());
    }
    extents.push_back(size == -1 ? IrBuilder::create<Val>(DataType::Index)
                                 : IrBuilder::create<Val>(PolymorphicValue(size), DataType::Index));
  }
  return this->shape(std::move(extents));
}

TensorViewBuilder& TensorViewBuilder::expanded(std::vector<bool> expanded) {
  expanded_ = std::move(expanded);
  return *this;
}

TensorViewBuilder& TensorViewBuilder::strideOrder(std::vector<int64_t> stride_order) {
  stride_order_ = std::move(stride_order);
  return *this;
}

namespace {

/// Axes in memory order: order[i] is the position of axis i from the innermost.
std::vector<IterDomain*> inMemoryOrder(const std::vector<IterDomain*>& logical,
                                       const std::vector<int64_t>& order) {
  const auto n = static_cast<int64_t>(logical.size());
  if (static_cast<int64_t>(order.size()) != n) {
    userError("TensorViewBuilder: stride_order has ", order.size(), " entries for ", n,
              " dimensions");
  }
  std::vector<IterDomain*> allocation(logical.size(), nullptr);
  for (size_t i = 0; i < logical.size(); ++i) {
    int64_t place = order[i] < 0 ? order[i] + n : order[i];
    if (place < 0 || place >= n) {
      userError("TensorViewBuilder: stride_order argument is out of range: ", order[i]);
    }
    IterDomain*& slot = allocation[static_cast<size_t>(n - 1 - place)];
    if (slot != nullptr) {
      userError("TensorViewBuilder: duplicated stride_order entries: ", order[i]);
    }
    slot = logical[i];
  }
  return allocation;
}

}  // namespace

namespace {

/// Constant sizes must not have more elements than an index can count.
void requireCountable(const std::vector<IterDomain*>& axes) {
  int64_t count = 1;
  bool overflow = false;
  for (const IterDomain* id : axes) {
    const Val* extent = id->getMaybeExpandedExtent();
    if (!extent->isConst()) {
      continue;
    }
    const auto size = extent->value().as<int64_t>();
    if (size == 0) {
      return;
    }
    overflow |= __builtin_mul_overflow(count, size, &count);
  }
  if (overflow) {
    userError(
        "TensorViewBuilder: a tensor of sizes [",
        join(axes, ", ",
             [](const IterDomain* id) { return id->getMaybeExpandedExtent()->toInlineString(); }),
        "] has more than 2^63 - 1 elements, which no index can count");
  }
}

}  // namespace

TensorView* TensorViewBuilder::build() const {
  Fusion* fusion = FusionGuard::getCurFusion();
  if (fusion == nullptr) {
    userError("TensorViewBuilder: there is no active Fusion; make a FusionGuard first");
  }
  const auto n = static_cast<size_t>(std::max<int64_t>(ndims_, 0));
  if (!expanded_.empty() && expanded_.size() != n) {
    userError("TensorViewBuilder: expanded has ", expanded_.size(), " entries for ", n,
              " dimensions");
  }
  if (dtype_ == DataType::Null) {
    userError("TensorViewBuilder: a tensor needs a data type");
  }
  std::vector<IterDomain*> logical;
  for (size_t i = 0; i < n; ++i) {
    Val* extent = shape_.empty() ? IrBuilder::create<Val>(DataType::Index) : shape_[i];
    const bool is_expanded = !expanded_.empty() && expanded_[i];
    IterDomainBuilder axis(fusion->zeroVal(DataType::Index), extent);
    if (is_expanded) {
      axis.extent(fusion->oneVal(DataType::Index))
          .expanded_extent(extent)
          .iter_type(IterType::Broadcast);
    } else if (extent->isConst() && extent->value().as<int64_t>() == 1) {
      axis.iter_type(IterType::Broadcast);
    }
    logical.push_back(axis.build());
  }
  requireCountable(logical);
  std::vector<IterDomain*> allocation;
  if (!stride_order_.empty()) {
    allocation = inMemoryOrder(logical, stride_order_);
    if (allocation == logical) {
      allocation.clear();
    }
  }
  const auto& in_memory = allocation.empty() ? logical : allocation;
  Contiguity contiguity = TensorDomain::getContiguityFilledWith(in_memory, false);
  if (contiguity_) {
    if (const bool* all = std::get_if<bool>(&*contiguity_)) {
      contiguity = TensorDomain::getContiguityFilledWith(in_memory, *all);
    } else {
      contiguity = std::get<Contiguity>(*contiguity_);
    }
  }
  auto* domain = IrBuilder::create<TensorDomain>(std::vector<IterDomain*>{}, logical, allocation,
                                                 logical, contiguity);
  return IrBuilder::create<TensorView>(domain, dtype_);
}

TensorView* makeContigTensor(int64_t ndims, DataType dtype) {
  return TensorViewBuilder().ndims(ndims).dtype(dtype).contiguity(true).build();
}

TensorView* makeSymbolicTensor(int64_t ndims, DataType dtype) {
  return TensorViewBuilder().ndims(ndims).dtype(dtype).build();
}

TensorView* makeSymbolicTensor(const std::vector<int64_t>& shape, DataType dtype) {
  std::vector<int64_t> symbolic;
  for (int64_t size : shape) {
    symbolic.push_back(size == 1 ? 1 : -1);
  }
  return TensorViewBuilder().shape(symbolic).dtype(dtype).build();
}

TensorView* makeConcreteTensor(const std::vector<int64_t>& shape, DataType dtype) {
  return TensorViewBuilder().shape(shape).dtype(dtype).build();
}

TensorView* makeContigConcreteTensor(const std::vector<int64_t>& shape, DataType dtype) {
  return TensorViewBuilder().shape(shape).dtype(dtype).contiguity(true).build();
}

}  // namespace nvfuser
