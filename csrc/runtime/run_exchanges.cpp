#include <runtime/run_exchanges.h>

#include <algorithm>
#include <chrono>

#include <runtime/cuda/current_device.h>
#include <runtime/dense_copy.h>

namespace nvfuser {

using external::Exchange;
using external::ExchangedTensor;

namespace {

/// Of a part: less is exchanged before its product could be cut.
constexpr int64_t kLeastBytesOfPart = int64_t{2} << 20;
/// More parts cost more than they hide: a launch and a shift between neighbours each
/// (benchmarks/history/2026-11-26-ranks-h100-x4.csv).
constexpr size_t kMostParts = 2;
/// Rows and columns of a result that a multiprocessor computes at a time: a part fills the GPU.
constexpr int64_t kTileOfProduct = 128;
/// Of an operand of a sum of parts that does not wait for the others.
constexpr int64_t kLeastBytesOfEarly = int64_t{4} << 20;

bool takesParts(CommunicationType type) {
  return type == CommunicationType::ReduceScatter || type == CommunicationType::Alltoall;
}

bool isSum(CommunicationType type) {
  return type == CommunicationType::Allreduce || type == CommunicationType::ReduceScatter;
}

bool areRowMajor(const std::vector<ViewLayout>& layouts) {
  return std::all_of(layouts.begin(), layouts.end(), [](const ViewLayout& layout) {
    return layout.strides == rowMajorStrides(layout.sizes);
  });
}

/// The slot of an exchange's result; none where nobody reads it.
template <typename Step>
size_t outputSlot(const Step& step, size_t result) {
  const auto& outputs = step.segment->fusion().outputs();
  const auto place = std::find(outputs.begin(), outputs.end(), step.exchange->op->output(result));
  return place != outputs.end() ? step.outputs[static_cast<size_t>(place - outputs.begin())]
                                : kNoSlot;
}

}  // namespace

FusionExecutorCache::Exchanges::Exchanges(const Prepared& plan, const Call& call)
    : plan_(plan),
      call_(call),
      communicator_(call.context.communicator.get()),
      overlaps_(!call.params.options->isDisabled(DisableOption::Overlap)) {}

cuda::SideStream& FusionExecutorCache::Exchanges::side() {
  if (!side_) {
    side_.emplace(*call_.device, call_.context.stream);
  }
  return *side_;
}

void FusionExecutorCache::Exchanges::waitFor(Coming& coming) {
  side().waitFor(coming.all);
  coming.held.clear();
}

void FusionExecutorCache::Exchanges::prepare(size_t number) {
  const Step& step = plan_.steps[number];
  const bool makes_views = step.kernel == nullptr && !step.external;
  for (size_t i = 0; i < step.inputs.size() && makes_views; ++i) {
    const auto found = coming_.find(step.inputs[i]);
    for (size_t v = 0; found != coming_.end() && v < step.views.size(); ++v) {
      if (static_cast<size_t>(step.views[v].input) == i) {
        coming_[step.outputs[v]] = found->second;
      }
    }
  }
  if (makes_views || (step.exchange && step.exchange->op != nullptr) || coming_.empty()) {
    return;  // an exchange has one order with those before it
  }
  if (step.kernel != nullptr && !step.kernel->in_place.empty() && side_) {
    side_->waitForAll();  // what it writes to may be on its way
  }
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const auto found = coming_.find(step.inputs[i]);
    if (found != coming_.end() &&
        !(step.exchange && step.exchange->rows == i && !found->second->parts.empty())) {
      waitFor(*found->second);
    }
  }
}

bool FusionExecutorCache::Exchanges::run(size_t number, const KernelArgumentHolder& args,
                                         KernelArgumentHolder& results) {
  const Step& step = plan_.steps[number];
  if (communicator_ == nullptr || !communicator_->takes(call_.device->kind())) {
    return false;
  }
  if (const auto filled = filled_.find(number); filled != filled_.end()) {
    results.push(filled->second);
    return true;
  }
  if (step.exchange && step.exchange->op != nullptr) {
    return runExchange(step, args, results);
  }
  if (!step.exchange) {
    return false;
  }
  const auto found = coming_.find(step.inputs[step.exchange->rows]);
  if (found != coming_.end() && !found->second->parts.empty()) {
    if (runProductOfParts(step, *found->second, args, results)) {
      return true;
    }
    waitFor(*found->second);
  }
  return step.exchange->alltoall && overlaps_ && runProductForParts(step, args, results);
}

FusionExecutorCache::Exchanges::Team FusionExecutorCache::Exchanges::teamOf(
    const CommunicationOp& op) const {
  const DeviceMesh mesh = op.mesh();
  if (!mesh.has(communicator_->rank())) {
    userError(op.getOpString(), ": device ", communicator_->rank(), " is not in ", mesh.toString(),
              ", which runs ", op);
  }
  return mesh.team(communicator_->rank(), op.along());
}

size_t FusionExecutorCache::Exchanges::placeIn(const Team& team) const {
  return static_cast<size_t>(std::find(team.begin(), team.end(), communicator_->rank()) -
                             team.begin());
}

void FusionExecutorCache::Exchanges::post(Exchange exchange) {
  const cuda::CurrentDevice current(*call_.device);
  exchange.gpu = call_.device->index();
  communicator_->exchange(exchange);
}

bool FusionExecutorCache::Exchanges::pays(size_t parts, int64_t rows, int64_t columns,
                                          int64_t bytes) const {
  if (!overlaps_ || rows == 0) {
    return false;
  }
  if (call_.params.options->isEnabled(EnableOption::Overlap)) {
    return true;
  }
  const int64_t tiles = rows * columns / (kTileOfProduct * kTileOfProduct);
  return call_.device->kind() == DeviceKind::Cuda && parts <= kMostParts &&
         bytes >= kLeastBytesOfPart && tiles >= call_.device->properties().multiprocessors;
}

/// Dense; what is not is copied, when it has come.
std::vector<Tensor> FusionExecutorCache::Exchanges::operandsOf(const Step& step,
                                                               const KernelArgumentHolder& args) {
  const CommunicationOp& op = *step.exchange->op;
  const auto& inputs = step.segment->fusion().inputs();
  std::vector<Tensor> operands;
  for (size_t i = 0; i < op.count(); ++i) {
    const auto place =
        static_cast<size_t>(std::find(inputs.begin(), inputs.end(), op.input(i)) - inputs.begin());
    const Tensor& given = args[place].tensor();
    if (early_.count(i) != 0) {
      operands.push_back(given);  // it has gone
      continue;
    }
    if (!given.isContiguous()) {
      if (const auto found = coming_.find(step.inputs[place]); found != coming_.end()) {
        waitFor(*found->second);
      }
    }
    operands.push_back(denseOnDevice(given, call_.context));
  }
  return operands;
}

Tensor FusionExecutorCache::Exchanges::madeFor(const ViewLayout& layout, DataType dtype) const {
  return Tensor::emptyStrided(layout.sizes, rowMajorStrides(layout.sizes), dtype, *call_.device,
                              call_.context);
}

/// Memory of its own, or the operand's where nobody else reads that.
Tensor FusionExecutorCache::Exchanges::resultFor(const PlannedExchange& exchange, size_t i,
                                                 const Tensor& operand) const {
  const ViewLayout& layout = exchange.results[i];
  const bool takes_operand = exchange.in_place[i] && operand.sizes() == layout.sizes &&
                             operand.strides() == layout.strides;
  return takes_operand ? operand : madeFor(layout, operand.dtype());
}

void FusionExecutorCache::Exchanges::note(const Step& step, const std::vector<Tensor>& operands,
                                          double host_ms) const {
  const CommunicationOp& op = *step.exchange->op;
  RanBy::Last last{std::string(communicator_->name())};
  last.devices = op.mesh().size(op.along());
  for (const Tensor& operand : operands) {
    const int64_t parts = takesParts(op.type()) ? last.devices : 1;
    last.received_bytes +=
        external::receivedBytes(op.type(), last.devices, bytesOf(operand) / parts);
  }
  last.host_ms = host_ms;
  step.external->ran_by->set(std::move(last));
}

bool FusionExecutorCache::Exchanges::runExchange(const Step& step, const KernelArgumentHolder& args,
                                                 KernelArgumentHolder& results) {
  const PlannedExchange& planned = *step.exchange;
  const CommunicationOp& op = *planned.op;
  if (!areRowMajor(planned.results)) {
    side().waitForAll();  // it runs on the call's stream
    return false;
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Tensor> operands = operandsOf(step, args);
  std::vector<Tensor> made;
  for (size_t i = 0; i < op.count(); ++i) {
    const auto early = early_.find(i);
    made.push_back(early != early_.end() ? early->second : resultFor(planned, i, operands[i]));
  }
  for (const Val* output : step.segment->fusion().outputs()) {
    const auto& all = op.outputs();
    results.push(
        made[static_cast<size_t>(std::find(all.begin(), all.end(), output) - all.begin())]);
  }
  const int64_t rows = operands[0].dim() > 0 ? operands[0].size(0) : 0;
  const ViewLayout* product =
      planned.product ? &plan_.steps[*planned.product].exchange->product_result : nullptr;
  if (product != nullptr &&
      pays(teamOf(op).size(), rows, product->sizes[1], bytesOf(operands[0]))) {
    gatherParts(step, operands[0], made[0]);
  } else {
    exchangeTogether(step, operands, made, overlaps_ && planned.has_work_beside);
  }
  early_.clear();
  looked_at_ = 0;
  note(step, operands,
       std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  return true;
}

void FusionExecutorCache::Exchanges::exchangeTogether(const Step& step,
                                                      const std::vector<Tensor>& operands,
                                                      const std::vector<Tensor>& made,
                                                      bool beside) {
  const CommunicationOp& op = *step.exchange->op;
  const Team team = teamOf(op);
  const int64_t parts = takesParts(op.type()) ? static_cast<int64_t>(team.size()) : 1;
  auto coming = std::make_shared<Coming>();
  std::vector<ExchangedTensor> tensors;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (early_.count(i) == 0) {
      tensors.push_back(
          {operands[i].dtype(), operands[i].numel() / parts, operands[i].data(), made[i].data()});
      coming->held.emplace_back(operands[i]);
      coming->held.emplace_back(made[i]);
    }
  }
  if (tensors.empty()) {
    if (!beside) {
      side().waitForAll();
    }
    return;
  }
  if (beside) {
    side().follow();
  } else if (side_) {
    side_->waitForAll();
  }
  post({op.type(), op.reduction(), team, tensors, step.exchange->name, call_.device->kind(),
        beside ? side().stream() : call_.context.stream});
  if (!beside) {
    return;
  }
  coming->all = side().mark();
  for (size_t i = 0; i < operands.size(); ++i) {
    if (early_.count(i) == 0) {
      coming_[outputSlot(step, i)] = coming;
    }
  }
}

bool FusionExecutorCache::Exchanges::goesEarly(const Tensor& operand) const {
  return call_.params.options->isEnabled(EnableOption::Overlap) ||
         bytesOf(operand) >= kLeastBytesOfEarly;
}

void FusionExecutorCache::Exchanges::postEarly(size_t number,
                                               const std::vector<KernelArgument>& slots) {
  if (!overlaps_ || communicator_ == nullptr || !communicator_->takes(call_.device->kind())) {
    return;
  }
  const Step* next = nullptr;
  for (size_t s = number + 1; s < plan_.steps.size() && next == nullptr; ++s) {
    const Step& step = plan_.steps[s];
    next = step.exchange && step.exchange->op != nullptr ? &step : nullptr;
  }
  if (next == nullptr || next == &plan_.steps[number + 1] || !isSum(next->exchange->op->type()) ||
      !areRowMajor(next->exchange->results)) {
    return;
  }
  const CommunicationOp& op = *next->exchange->op;
  const auto& inputs = next->segment->fusion().inputs();
  for (; looked_at_ < op.count(); ++looked_at_) {
    const auto place = static_cast<size_t>(
        std::find(inputs.begin(), inputs.end(), op.input(looked_at_)) - inputs.begin());
    const KernelArgument& value = slots[next->inputs[place]];
    if (!value.isTensor() || !value.tensor().defined()) {
      return;  // the ones behind it wait as well: there is one order
    }
    const Tensor& operand = value.tensor();
    if (!goesEarly(operand)) {
      continue;
    }
    const auto before = coming_.find(next->inputs[place]);
    if (!operand.isContiguous() && before != coming_.end()) {
      waitFor(*before->second);
    }
    const Tensor dense = denseOnDevice(operand, call_.context);
    const Tensor made = resultFor(*next->exchange, looked_at_, dense);
    const Team team = teamOf(op);
    const int64_t parts = takesParts(op.type()) ? static_cast<int64_t>(team.size()) : 1;
    const ExchangedTensor tensor{operand.dtype(), operand.numel() / parts, dense.data(),
                                 made.data()};
    side().follow();
    post({op.type(),
          op.reduction(),
          team,
          {&tensor, 1},
          next->exchange->name,
          call_.device->kind(),
          side().stream()});
    auto coming = std::make_shared<Coming>();
    coming->all = side().mark();
    coming->held = {dense, made};
    coming_[outputSlot(*next, looked_at_)] = coming;
    early_[looked_at_] = made;
  }
}

}  // namespace nvfuser
