// What may go on beside a plan's exchanges between devices: which steps come before anybody reads
// what is exchanged, which products take the parts of an allgather as rows, and which give an
// alltoall its parts.
#include <algorithm>

#include <runtime/prepared_fusion.h>

namespace nvfuser {

namespace {

bool isRowMajor(const ViewLayout& layout) {
  int64_t stride = 1;
  for (size_t i = layout.sizes.size(); i-- > 0;) {
    if (layout.sizes[i] != 1 && layout.strides[i] != stride) {
      return false;
    }
    stride *= layout.sizes[i];
  }
  return layout.offset == 0;
}

}  // namespace

class FusionExecutorCache::ExchangePlanner {
 public:
  explicit ExchangePlanner(Prepared& plan) : plan_(plan) {}

  void run() {
    for (Step& step : plan_.steps) {
      findExchange(step);
    }
    for (Step& step : plan_.steps) {
      if (plan_.exchanges && step.external && !isExchange(step)) {
        findProduct(step);
      }
    }
    for (size_t s = 0; s < plan_.steps.size() && plan_.exchanges; ++s) {
      if (isExchange(plan_.steps[s])) {
        planExchange(s);
      } else if (isProduct(plan_.steps[s])) {
        planProduct(s);
      }
    }
  }

 private:
  /// A step that reads a tensor, as it is or by views of it.
  struct Reader {
    size_t step;                 ///< behind the last one: the caller
    size_t input;                ///< of the step
    bool is_dense;               ///< it reads all elements, in their order
    std::vector<int64_t> sizes;  ///< of what it reads; none: of the tensor as it is
  };

  static bool isExchange(const Step& step) { return step.exchange && step.exchange->op != nullptr; }
  static bool isProduct(const Step& step) { return step.exchange && step.exchange->op == nullptr; }
  static bool makesViews(const Step& step) { return step.kernel == nullptr && !step.external; }

  void findExchange(Step& step) {
    if (!step.external) {
      return;
    }
    const std::vector<Expr*> exprs = tensorExprs(step.segment->fusion());
    if (exprs.size() == 1 && exprs[0]->isA<CommunicationOp>()) {
      PlannedExchange& exchange = step.exchange.emplace();
      exchange.op = exprs[0]->as<CommunicationOp>();
      exchange.name = exchange.op->getOpString();
      exchange.results = externalResults(step.segment->fusion(), {}, plan_.sizes);
      plan_.exchanges = true;
    }
  }

  void findProduct(Step& step) const {
    const Fusion& segment = step.segment->fusion();
    if (const std::optional<size_t> rows = placeOfRows(segment)) {
      step.exchange.emplace();
      step.exchange->rows = *rows;
      step.exchange->product_result = externalResults(segment, {}, plan_.sizes)[0];
    }
  }

  /// An exchange does not read what it waits for.
  static bool reads(const Step& step, size_t input) {
    if (!isExchange(step)) {
      return true;
    }
    const auto& operands = step.exchange->op->inputs();
    const auto end = operands.begin() + static_cast<std::ptrdiff_t>(step.exchange->op->count());
    return std::find(operands.begin(), end, step.segment->fusion().inputs()[input]) != end;
  }

  bool leavesBy(size_t slot) const {
    return std::find(plan_.outputs.begin(), plan_.outputs.end(), slot) != plan_.outputs.end() ||
           std::any_of(plan_.views.begin(), plan_.views.end(),
                       [&](const Prepared::ViewStep& view) { return view.source == slot; });
  }

  std::vector<Reader> readersOf(size_t slot, const Reader& as = {0, 0, true, {}}) const {
    std::vector<Reader> readers;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i] == slot && makesViews(step)) {
          addReadersOfViews(step, i, as, readers);
        } else if (step.inputs[i] == slot && reads(step, i)) {
          readers.push_back({s, i, as.is_dense, as.sizes});
        }
      }
    }
    if (leavesBy(slot)) {
      readers.push_back({plan_.steps.size(), 0, false, {}});
    }
    return readers;
  }

  void addReadersOfViews(const Step& step, size_t input, const Reader& as,
                         std::vector<Reader>& readers) const {
    for (size_t v = 0; v < step.views.size(); ++v) {
      if (static_cast<size_t>(step.views[v].input) == input) {
        const ViewLayout& layout = step.views[v].layout;
        const std::vector<Reader> more =
            readersOf(step.outputs[v], {0, 0, as.is_dense && isRowMajor(layout), layout.sizes});
        readers.insert(readers.end(), more.begin(), more.end());
      }
    }
  }

  /// Whether an operand is a tensor between steps that this exchange alone reads, as it is.
  bool isOfNobodyElse(size_t s, size_t operand) const {
    const Step& step = plan_.steps[s];
    const auto& inputs = step.segment->fusion().inputs();
    const auto place =
        std::find(inputs.begin(), inputs.end(), step.exchange->op->input(operand)) - inputs.begin();
    const size_t slot = step.inputs[static_cast<size_t>(place)];
    size_t readers = leavesBy(slot) ? 2 : 0;
    bool is_made = false;
    for (const Step& other : plan_.steps) {
      readers += static_cast<size_t>(std::count(other.inputs.begin(), other.inputs.end(), slot));
      const bool makes =
          std::find(other.outputs.begin(), other.outputs.end(), slot) != other.outputs.end();
      is_made |= makes && !makesViews(other) &&
                 (other.kernel == nullptr || other.kernel->in_place.empty());
    }
    return is_made && readers == 1;
  }

  bool readsRows(const Reader& reader) const {
    return reader.step < plan_.steps.size() && reader.is_dense && reader.sizes.size() == 2 &&
           isProduct(plan_.steps[reader.step]) &&
           plan_.steps[reader.step].exchange->rows == reader.input;
  }

  void planExchange(size_t s) {
    PlannedExchange& own = *plan_.steps[s].exchange;
    own.in_place.assign(own.op->count(), false);
    for (size_t i = 0; i < own.op->count() && own.op->type() == CommunicationType::Allreduce; ++i) {
      own.in_place[i] = isOfNobodyElse(s, i);
    }
    std::vector<Reader> readers;
    for (const size_t output : plan_.steps[s].outputs) {
      const std::vector<Reader> more = readersOf(output);
      readers.insert(readers.end(), more.begin(), more.end());
    }
    size_t first = plan_.steps.size();
    for (const Reader& reader : readers) {
      first = std::min(first, reader.step);
    }
    for (size_t between = s + 1; between < first; ++between) {
      own.has_work_beside |= !makesViews(plan_.steps[between]) && !isExchange(plan_.steps[between]);
    }
    if (own.op->type() != CommunicationType::Allgather || own.op->count() != 1) {
      return;
    }
    const auto product = std::find_if(readers.begin(), readers.end(),
                                      [&](const Reader& reader) { return readsRows(reader); });
    if (product != readers.end()) {
      own.product = product->step;
      own.is_read_by_others = readers.size() > 1;
    }
  }

  void planProduct(size_t s) {
    const std::vector<Reader> readers = readersOf(plan_.steps[s].outputs[0]);
    if (readers.size() != 1 || readers[0].step == plan_.steps.size() || !readers[0].is_dense ||
        readers[0].sizes.empty()) {
      return;
    }
    const Step& to = plan_.steps[readers[0].step];
    // Exchanges come in one order: none may stand between.
    bool is_next = isExchange(to);
    for (size_t between = s; between < readers[0].step; ++between) {
      is_next &= !isExchange(plan_.steps[between]);
    }
    if (is_next && to.exchange->op->type() == CommunicationType::Alltoall &&
        to.exchange->op->count() == 1 &&
        readers[0].sizes[0] == to.exchange->op->mesh().size(to.exchange->op->along())) {
      PlannedExchange& own = *plan_.steps[s].exchange;
      own.name = to.exchange->name;
      own.alltoall = readers[0].step;
      own.results = to.exchange->results;
    }
  }

  Prepared& plan_;
};

void FusionExecutorCache::planExchanges(Prepared& plan) { ExchangePlanner(plan).run(); }

}  // namespace nvfuser
