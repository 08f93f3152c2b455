/// CUDA C++.
#pragma once

#include <codegen/emitter.h>

namespace nvfuser::codegen {

class CudaEmitter final : public Emitter {
 public:
  /// `table_entries`: of the table that it has for its parameters (launch_table.h); 0: none.
  explicit CudaEmitter(const kir::Kernel& kernel, int64_t table_entries = 0);

 private:
  using Emitter::emit;

  // cuda_function.cpp
  void function(TextWriter& out, const std::string& body) override;
  void signature(TextWriter& out);
  std::string launchBounds() const;
  void loopPragma(const kir::For& loop) override;
  int64_t alignmentOf(const kir::Buffer& buffer) const override;

  // launch_table.cpp
  void tableSignature(TextWriter& out);
  void tableEntry(TextWriter& out);
  /// The type of a parameter as a member of an entry.
  std::string memberType(const kir::Param& param);
  /// What gives an index or extent of the launch.
  std::string launchSymbol(std::string_view symbol) const;

  // cuda_statements.cpp
  std::string elementText(const kir::Ref& ref, std::string_view offset, DataType dtype) override;
  std::string fasterText(const kir::Compute& compute,
                         const std::vector<std::string>& operands) override;
  void emit(const kir::Assign& assign) override;
  void emit(const kir::CopyVector& copy) override;
  void emit(const kir::Guarded& guarded) override;
  void emit(const kir::CopyAsync& copy) override;
  void emit(const kir::BulkCopy& copy) override;
  void emit(const kir::BoxCopy& copy) override;
  void emit(const kir::AsyncCommit& commit) override;
  void emit(const kir::AsyncWait& wait) override;
  void emit(const kir::MBarrierInit& init) override;
  void emit(const kir::MBarrierArrive& arrive) override;
  void emit(const kir::SetRegisters& set) override;
  void emit(const kir::GridDependency& dependency) override;
  void emit(const kir::FenceAsyncProxy& fence) override;
  void emit(const kir::Sync& sync) override;
  void emit(const kir::CombineAt& combine) override;

  // cuda_reductions.cpp
  void emit(const kir::BlockReduce& reduce) override;
  void emit(const kir::BlockScan& scan) override;
  void emit(const kir::ClusterReduce& reduce) override;
  void emit(const kir::GridReduce& reduce) override;

  /// `<Loading>`, as a template argument behind others; empty for all threads of a block.
  static std::string_view roleName(kir::Role role);
  /// ", KnownBlock<8, 64, 1>": the threads of a role, or all where their extents are known, as a
  /// template argument behind others; else nothing.
  std::string partArgument(kir::Role role) const;
  /// The reduction among threads that made the states which a grid reduction starts from; null for
  /// none.
  const kir::BlockReduce* blockReduceBefore(const kir::GridReduce& reduce) const;

  const int64_t table_entries_;
  std::set<const kir::Buffer*> vectors_;  ///< register buffers that vectors are copied to or from
};

}  // namespace nvfuser::codegen
