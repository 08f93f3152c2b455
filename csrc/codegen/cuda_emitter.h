/// CUDA C++.
#pragma once

#include <codegen/emitter.h>

namespace nvfuser::codegen {

class CudaEmitter final : public Emitter {
 public:
  explicit CudaEmitter(const kir::Kernel& kernel);

 private:
  using Emitter::emit;

  // cuda_function.cpp
  void function(TextWriter& out, const std::string& body) override;
  std::string launchBounds() const;
  void loopPragma(const kir::For& loop) override;
  int64_t alignmentOf(const kir::Buffer& buffer) const override;

  // cuda_statements.cpp
  std::string elementText(const kir::Ref& ref, std::string_view offset, DataType dtype) override;
  void emit(const kir::CopyVector& copy) override;
  void emit(const kir::Guarded& guarded) override;
  void emit(const kir::CopyAsync& copy) override;
  void emit(const kir::BulkCopy& copy) override;
  void emit(const kir::AsyncCommit& commit) override;
  void emit(const kir::AsyncWait& wait) override;
  void emit(const kir::MBarrierInit& init) override;
  void emit(const kir::FenceAsyncProxy& fence) override;
  void emit(const kir::Sync& sync) override;
  void emit(const kir::BlockReduce& reduce) override;
  void emit(const kir::BlockScan& scan) override;
  void emit(const kir::ClusterReduce& reduce) override;
  void emit(const kir::GridReduce& reduce) override;

  /// The reduction among threads that made the states which a grid reduction starts from; null for
  /// none.
  const kir::BlockReduce* blockReduceBefore(const kir::GridReduce& reduce) const;

  std::set<const kir::Buffer*> vectors_;  ///< register buffers that vectors are copied to or from
};

}  // namespace nvfuser::codegen
