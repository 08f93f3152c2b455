/// C++ for the host's compiler: a block is a task, and its threads have become loops.
#pragma once

#include <codegen/emitter.h>

namespace nvfuser::codegen {

class HostEmitter final : public Emitter {
 public:
  explicit HostEmitter(const kir::Kernel& kernel) : Emitter(kernel, Target::Host, DataType::Int) {}

 private:
  using Emitter::emit;

  void function(TextWriter& out, const std::string& body) override;
  void loopPragma(const kir::For& loop) override;
  int64_t alignmentOf(const kir::Buffer& buffer) const override;

  void emit(const kir::CopyVector& copy) override;
  void emit(const kir::CopyAsync& copy) override;
  void emit(const kir::BulkCopy& copy) override;
  void emit(const kir::AsyncCommit& commit) override;
  void emit(const kir::AsyncWait& wait) override;
  void emit(const kir::MBarrierInit& init) override;
  void emit(const kir::FenceAsyncProxy& fence) override;
  void emit(const kir::Sync& sync) override;
  void emit(const kir::BlockReduce& reduce) override;
  void emit(const kir::ClusterReduce& reduce) override;
  void emit(const kir::GridReduce& reduce) override;
};

}  // namespace nvfuser::codegen
