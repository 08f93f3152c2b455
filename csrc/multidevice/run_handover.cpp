#include <multidevice/run_handover.h>

#include <algorithm>

#include <runtime/cuda/current_device.h>
#include <runtime/dense_copy.h>

namespace nvfuser {

namespace {

using multidevice::Handover;
using multidevice::PartRange;
using multidevice::Piece;

class Run {
 public:
  Run(external::Communicator& communicator, const Handover& what, Device& device,
      const RunContext& context)
      : communicator_(communicator),
        what_(what),
        // Where the transport takes no memory of the device, by way of the host.
        by_host_(!communicator.takes(device.kind())),
        memory_(by_host_ ? cpuDevice() : device),
        context_(context),
        stream_(by_host_ ? nullptr : context.stream) {}

  std::optional<Tensor> run(const Tensor* own) {
    const bool wants = what_.wanted.mesh.has(communicator_.rank());
    if (own == nullptr && !wants) {
      return std::nullopt;
    }
    if (own != nullptr) {
      own_ = by_host_ ? Tensor::fromHostTensor(own->toHostTensor(context_.stream)) : *own;
      own_starts_ = what_.given.rangesOf(communicator_.rank(), what_.axes);
    }
    findSizes();
    if (wants) {
      starts_ = what_.wanted.rangesOf(communicator_.rank(), what_.axes);
      result_ = dense(sizesOf(starts_));
    }
    for (const Piece& piece : what_.pieces) {
      if (std::find(piece.team.begin(), piece.team.end(), communicator_.rank()) !=
          piece.team.end()) {
        move(piece);
      }
    }
    return wants ? std::optional(result_) : std::nullopt;
  }

 private:
  int64_t at(const PartRange& range, size_t axis, bool end) const {
    return (end ? range.end : range.begin) * sizes_[axis] / range.of;
  }

  std::vector<int64_t> sizesOf(const std::vector<PartRange>& ranges) const {
    std::vector<int64_t> sizes;
    for (size_t axis = 0; axis < ranges.size(); ++axis) {
      sizes.push_back(at(ranges[axis], axis, true) - at(ranges[axis], axis, false));
    }
    return sizes;
  }

  /// Of the whole: the first device of the mesh that has it says them.
  void findSizes() {
    const std::vector<int64_t> team = what_.teamOfSizes();
    const bool is_asked =
        std::find(team.begin(), team.end(), communicator_.rank()) != team.end() && team.size() > 1;
    for (size_t axis = 0; axis < what_.axes; ++axis) {
      int64_t size =
          own_.defined() ? own_.size(static_cast<int64_t>(axis)) * what_.given.parts(axis) : 0;
      if (is_asked) {
        size = communicator_.numbersOfAll(team, size, what_.what).front();
      }
      const int64_t parts = what_.wanted.parts(axis);
      if (size % parts != 0) {
        userError(what_.what, ": axis ", axis, " of ", what_.tensor, " has ", size,
                  " elements, which ", parts,
                  " devices cannot share equally; pad it, or cut another "
                  "axis");
      }
      sizes_.push_back(size);
    }
  }

  Tensor dense(const std::vector<int64_t>& sizes) const {
    return by_host_ ? Tensor::empty(sizes, what_.dtype)
                    : Tensor::emptyStrided(sizes, rowMajorStrides(sizes), what_.dtype, memory_,
                                           context_);
  }

  Tensor denseOf(const Tensor& tensor) const {
    return by_host_ ? tensor.contiguous() : denseOnDevice(tensor, context_);
  }

  /// Where a piece is in a part.
  Tensor within(const Tensor& part, const std::vector<PartRange>& starts,
                const Piece& piece) const {
    Tensor view = part;
    for (size_t axis = 0; axis < what_.axes; ++axis) {
      const int64_t start = at(starts[axis], axis, false);
      view = view.slice(static_cast<int64_t>(axis), at(piece.ranges[axis], axis, false) - start,
                        at(piece.ranges[axis], axis, true) - start);
    }
    return view;
  }

  void move(const Piece& piece) {
    const bool is_first = piece.team.front() == communicator_.rank();
    Tensor to;
    if (!is_first || piece.team.size() == 1) {
      to = within(result_, starts_, piece);
    }
    if (piece.team.size() == 1) {
      to.copyFrom(within(own_, own_starts_, piece), stream_);
      return;
    }
    const Tensor sent = is_first ? denseOf(within(own_, own_starts_, piece)) : Tensor();
    // A piece that lies dense in the part is received where it belongs.
    const Tensor got = is_first || to.isContiguous() ? to : dense(to.sizes());
    const Tensor& shape = is_first ? sent : got;
    const external::ExchangedTensor tensor{what_.dtype, shape.numel(),
                                           is_first ? sent.data() : nullptr,
                                           is_first ? nullptr : got.data()};
    const cuda::CurrentDevice current(memory_);
    communicator_.exchange({std::nullopt,
                            BinaryOpType::Add,
                            piece.team,
                            {&tensor, 1},
                            what_.what,
                            memory_.kind(),
                            stream_,
                            0,
                            memory_.index()});
    if (!is_first && !to.isContiguous()) {
      to.copyFrom(got, stream_);
    }
  }

  external::Communicator& communicator_;
  const Handover& what_;
  bool by_host_;
  Device& memory_;
  const RunContext& context_;
  Stream stream_;
  Tensor own_, result_;
  std::vector<PartRange> own_starts_, starts_;
  std::vector<int64_t> sizes_;
};

}  // namespace

std::optional<Tensor> handOver(external::Communicator& communicator, const Handover& what,
                               const Tensor* own, Device& device, const RunContext& context) {
  std::optional<Tensor> result = Run(communicator, what, device, context).run(own);
  if (result && !communicator.takes(device.kind())) {
    result = result->copyTo(device);
  }
  return result;
}

}  // namespace nvfuser
