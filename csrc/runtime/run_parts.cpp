// Products in parts: rows that an allgather brings, and rows that are sums of parts of other
// devices.
#include <chrono>

#include <runtime/run_exchanges.h>

namespace nvfuser {

using external::Exchange;
using external::ExchangedTensor;

namespace {

/// Part `place` of `count` along the first axis of a dense tensor, which has `rows` there.
Tensor partOf(const Tensor& dense, size_t place, size_t count) {
  const int64_t rows = dense.size(0) / static_cast<int64_t>(count);
  const auto first = static_cast<int64_t>(place) * rows;
  return dense.slice(0, first, first + rows);
}

}  // namespace

/// From the device before, the one before that, …: each part when it has been sent.
void FusionExecutorCache::Exchanges::gatherParts(const Step& step, const Tensor& part,
                                                 const Tensor& whole) {
  const PlannedExchange& planned = *step.exchange;
  const Team team = teamOf(*planned.op);
  auto coming = std::make_shared<Coming>();
  coming->own = placeIn(team);
  coming->own_part = part;
  coming->parts.resize(team.size());
  side().follow();
  for (size_t shift = 1; shift < team.size(); ++shift) {
    const size_t from = (coming->own + team.size() - shift) % team.size();
    const Tensor to = whole.select(0, static_cast<int64_t>(from));
    const ExchangedTensor tensor{part.dtype(), part.numel(), part.data(), to.data()};
    Exchange exchange{std::nullopt, BinaryOpType::Add,    team,           {&tensor, 1},
                      planned.name, call_.device->kind(), side().stream()};
    exchange.shift = static_cast<int64_t>(shift);
    post(exchange);
    coming->parts[from] = side().mark();
  }
  if (planned.is_read_by_others) {
    call_.device->copyWithin(whole.select(0, static_cast<int64_t>(coming->own)).data(), part.data(),
                             static_cast<size_t>(bytesOf(part)), side().stream());
  }
  coming->all = side().mark();
  coming->held = {part, whole};
  coming_[step.outputs[0]] = coming;
}

/// The own rows first, then those of each part that has come.
bool FusionExecutorCache::Exchanges::runProductOfParts(const Step& step, Coming& coming,
                                                       const KernelArgumentHolder& args,
                                                       KernelArgumentHolder& results) {
  const Fusion& segment = step.segment->fusion();
  const size_t place = step.exchange->rows;
  const size_t count = coming.parts.size();
  const Tensor& whole = args[place].tensor();
  const ViewLayout& layout = step.exchange->product_result;
  if (whole.dim() != 2 || !whole.isContiguous() ||
      whole.size(0) % static_cast<int64_t>(count) != 0 ||
      layout.strides != rowMajorStrides(layout.sizes) ||
      coming.own_part.numel() * static_cast<int64_t>(count) != whole.numel()) {
    return false;
  }
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (const auto other = coming_.find(step.inputs[i]); i != place && other != coming_.end()) {
      waitFor(*other->second);
    }
  }
  const auto dtype = segment.outputs()[0]->dtype();
  Tensor result = madeFor(layout, dtype);
  for (size_t shift = 0; shift < count; ++shift) {
    const size_t from = (coming.own + count - shift) % count;
    KernelArgumentHolder own = args;
    Tensor rows = partOf(whole, from, count);
    if (shift == 0) {
      rows = coming.own_part.view(rows.sizes());
    } else {
      side().waitFor(coming.parts[from]);
    }
    own[place] = rows;
    Tensor part = partOf(result, from, count);
    runProductOfRows(segment, own, part, *call_.device, *step.external, call_.context);
  }
  waitFor(coming);
  results.push(result);
  return true;
}

/// The rows of the other devices first, each on its way while the next ones are computed.
bool FusionExecutorCache::Exchanges::runProductForParts(const Step& step,
                                                        const KernelArgumentHolder& args,
                                                        KernelArgumentHolder& results) {
  const Fusion& segment = step.segment->fusion();
  const Step& to = plan_.steps[*step.exchange->alltoall];
  const size_t place = step.exchange->rows;
  const Tensor& given = args[place].tensor();
  const Team team = teamOf(*to.exchange->op);
  const size_t count = team.size();
  const ViewLayout& layout = step.exchange->product_result;
  const ViewLayout& parts = step.exchange->results[0];
  const auto dtype = segment.outputs()[0]->dtype();
  const int64_t rows = layout.sizes[0] / static_cast<int64_t>(count);
  const int64_t bytes = rows * layout.sizes[1] * dataTypeSizeByte(dtype);
  if (layout.strides != rowMajorStrides(layout.sizes) ||
      parts.strides != rowMajorStrides(parts.sizes) || given.size(0) != layout.sizes[0] ||
      layout.sizes[0] % static_cast<int64_t>(count) != 0 ||
      !pays(count, rows, layout.sizes[1], bytes)) {
    return false;
  }
  const auto begin = std::chrono::steady_clock::now();
  const Tensor sent = madeFor(layout, dtype);
  const Tensor received = madeFor(parts, dtype);
  const size_t own_place = placeIn(team);
  auto coming = std::make_shared<Coming>();
  for (size_t shift = 1; shift <= count; ++shift) {
    const size_t of = (own_place + shift) % count;
    KernelArgumentHolder own = args;
    own[place] = partOf(given, of, count);
    const size_t from = (own_place + count - shift % count) % count;
    const Tensor to_part = received.select(0, static_cast<int64_t>(from));
    Tensor part = shift == count ? to_part.view({rows, layout.sizes[1]}) : partOf(sent, of, count);
    runProductOfRows(segment, own, part, *call_.device, *step.external, call_.context);
    if (shift == count) {
      break;
    }
    const ExchangedTensor tensor{dtype, part.numel(), part.data(), to_part.data()};
    Exchange exchange{std::nullopt,        BinaryOpType::Add,    team,           {&tensor, 1},
                      step.exchange->name, call_.device->kind(), side().stream()};
    exchange.shift = static_cast<int64_t>(shift);
    side().follow();
    post(exchange);
  }
  coming->all = side().mark();
  coming->held = {sent, received};
  coming_[to.outputs[0]] = coming;
  filled_[*step.exchange->alltoall] = received;
  note(to, {sent},
       std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  results.push(sent);
  return true;
}

}  // namespace nvfuser
