/// Exchanges between devices within a call. Private to run_steps.cpp.
///
///   in order    product 1 | allgather | product 2 | product 3
///   beside      kernels   product 1 | product 3 | part 0, 1 of product 2
///               side      allgather: part 1 ─────┘
///
/// Where something is computed before an exchange's result is read, or its parts are rows of a
/// product, it runs on a stream beside the call's own (cuda/side_stream.h); on a device without
/// streams the steps are the same, one after the other. What is sent and received is held until the
/// call's stream waits for it. All devices of a team decide alike: by plans and sizes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <runtime/cuda/side_stream.h>
#include <runtime/prepared_fusion.h>

namespace nvfuser {

class FusionExecutorCache::Exchanges {
 public:
  Exchanges(const Prepared& plan, const Call& call);

  /// What the step reads has come afterwards, as far as the call's stream is concerned. Of a step
  /// that makes views nothing is waited for until they are read.
  void prepare(size_t step);
  /// Carries out an exchange, or a product whose rows are exchanged. False: the step is none, or
  /// its exchange goes by way of the host.
  bool run(size_t step, const KernelArgumentHolder& args, KernelArgumentHolder& results);
  /// Behind a step: large operands of the next sum of parts that are there go on their way, in
  /// their order.
  void postEarly(size_t step, const std::vector<KernelArgument>& slots);

 private:
  using Mark = cuda::SideStream::Mark;
  /// A tensor that is being filled.
  struct Coming {
    Mark all = 0;
    std::vector<Mark> parts = {};  ///< by place in the team; none: it comes as a whole
    size_t own = 0;                ///< the device's place
    Tensor own_part = {};
    std::vector<KernelArgument> held = {};
  };
  using Team = std::vector<int64_t>;

  static int64_t bytesOf(const Tensor& tensor) {
    return tensor.numel() * dataTypeSizeByte(tensor.dtype());
  }
  Team teamOf(const CommunicationOp& op) const;
  size_t placeIn(const Team& team) const;
  cuda::SideStream& side();
  void waitFor(Coming& coming);
  void post(external::Exchange exchange);
  /// Whether a product is cut, whose part has so many rows and columns, for parts of so many bytes.
  bool pays(size_t parts, int64_t rows, int64_t columns, int64_t bytes) const;
  std::vector<Tensor> operandsOf(const Step& step, const KernelArgumentHolder& args);
  Tensor madeFor(const ViewLayout& layout, DataType dtype) const;
  Tensor resultFor(const PlannedExchange& exchange, size_t i, const Tensor& operand) const;
  void note(const Step& step, const std::vector<Tensor>& operands, double host_ms) const;

  bool runExchange(const Step& step, const KernelArgumentHolder& args,
                   KernelArgumentHolder& results);
  /// The operands from one on, of which those that went early are left out.
  void exchangeTogether(const Step& step, const std::vector<Tensor>& operands,
                        const std::vector<Tensor>& made, bool beside);
  bool goesEarly(const Tensor& operand) const;
  void gatherParts(const Step& step, const Tensor& part, const Tensor& whole);
  bool runProductOfParts(const Step& step, Coming& coming, const KernelArgumentHolder& args,
                         KernelArgumentHolder& results);
  bool runProductForParts(const Step& step, const KernelArgumentHolder& args,
                          KernelArgumentHolder& results);

  const Prepared& plan_;
  const Call& call_;
  external::Communicator* communicator_;
  bool overlaps_;
  std::map<size_t, std::shared_ptr<Coming>> coming_;  ///< by slot
  std::map<size_t, Tensor> filled_;                   ///< by step: the result of an alltoall
  /// Of the next sum of parts, the results of operands that went early, by place; and how many
  /// operands have been looked at.
  std::map<size_t, Tensor> early_;
  size_t looked_at_ = 0;
  std::optional<cuda::SideStream> side_;  ///< from its first use on; goes before what is held
};

}  // namespace nvfuser
