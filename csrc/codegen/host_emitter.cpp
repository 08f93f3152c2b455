#include <codegen/host_emitter.h>

#include <algorithm>

namespace nvfuser {

GeneratedKernel generateHost(const kir::Kernel& kernel, int64_t vector_bytes) {
  return codegen::HostEmitter(kernel, vector_bytes).generate();
}

GeneratedKernel generateHost(const kir::Kernel& kernel, std::string name, int64_t vector_bytes) {
  codegen::HostEmitter emitter(kernel, vector_bytes);
  emitter.rename(std::move(name));
  return emitter.generate();
}

namespace codegen {

namespace {

constexpr int64_t kArrayAlignment = 64;  ///< bytes: a cache line, and the widest vector register
/// Iterations, with those of loops inside. (16 guarded loops in a row of 64 took GCC 12 more than
/// two minutes, of 32 a second.)
constexpr int64_t kLargestUnroll = 32;

[[noreturn]] void needsThreads(std::string_view statement, const kir::Buffer* buffer) {
  throw InternalError(text("a ", statement,
                           buffer != nullptr ? " of " + buffer->name : std::string(),
                           " has no meaning on the CPU, where a block has one thread"));
}

/// How a task of number `b` reads its index along one dimension of the grid.
std::string blockIndexText(size_t dimension, const kir::Kernel& kernel) {
  auto isOne = [&](size_t d) { return kernel.grid[d] == nullptr || kernel.grid[d]->isConstant(1); };
  static constexpr std::string_view kDivided[] = {"b", "b / grid[0]", "b / (grid[0] * grid[1])"};
  bool rest_is_one = true;
  for (size_t d = dimension + 1; d < 3; ++d) {
    rest_is_one = rest_is_one && isOne(d);
  }
  return rest_is_one ? std::string(kDivided[dimension])
                     : text(kDivided[dimension], " % grid[", dimension, "]");
}

}  // namespace

bool HostEmitter::isWorthUnrolling(const kir::For& loop) {
  if (!loop.extent->isConstant() || loop.extent->value <= 1) {
    return false;
  }
  bool all_known = true;
  int64_t iterations = loop.extent->value;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    if (const auto* inner = std::get_if<kir::For>(&stmt.node)) {
      all_known &= inner->extent->isConstant();
      iterations =
          std::min(kLargestUnroll + 1, iterations * std::max<int64_t>(1, iterationsOf(*inner)));
    }
  });
  return all_known && iterations <= kLargestUnroll;
}

void HostEmitter::loopPragma(const kir::For& loop) {
  if (loop.kind == kir::LoopKind::Simd) {
    bool accumulates = false;
    kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
      accumulates |= std::holds_alternative<kir::Combine>(stmt.node);
    });
    if (!accumulates) {
      out_.directive("#pragma GCC ivdep");
    }
  } else if ((loop.kind == kir::LoopKind::Unrolled && isWorthUnrolling(loop)) ||
             isWrittenOut(loop, 1)) {
    out_.directive(text("#pragma GCC unroll ", loop.extent->value));
  }
}

int64_t HostEmitter::alignmentOf(const kir::Buffer& buffer) const {
  return buffer.elements->isConstant(1) ? 0 : kArrayAlignment;
}

bool HostEmitter::isChecked(const kir::Buffer& buffer) const {
  // What is no tensor (reports, states of a reduction among tasks and their counters) is reached by
  // a task's number alone.
  return kernel_.bounds != nullptr && buffer.memory == MemoryType::Global && !buffer.by_value &&
         buffer.tv != nullptr;
}

std::string HostEmitter::checkedType(const kir::Buffer& buffer) {
  snippets_.add("cpu/checked.h");
  return text("const Checked<", buffer.written ? "" : "const ", typeName(buffer.dtype), ">");
}

std::string HostEmitter::addressText(const kir::Ref& ref) const {
  return isChecked(*ref.buffer) ? text(ref.buffer->name, " + ", scalar_.operand(ref.index))
                                : Emitter::addressText(ref);
}

/// The parameters of a block's function, and what its caller gives for them.
struct HostEmitter::BlockParameters {
  std::vector<std::string> declarations;
  std::vector<std::string> comments;
  std::vector<std::string> arguments;
  TextWriter unpack{1};  ///< the caller's: they come out of `args`

  void add(std::string declaration, std::string comment, std::string argument) {
    declarations.push_back(std::move(declaration));
    comments.push_back(std::move(comment));
    arguments.push_back(std::move(argument));
  }
};

void HostEmitter::addParameters(BlockParameters& block) {
  const auto bounds =
      std::find_if(kernel_.params.begin(), kernel_.params.end(),
                   [&](const kir::Param& param) {
                     return param.buffer != nullptr && param.buffer == kernel_.bounds;
                   }) -
      kernel_.params.begin();
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const kir::Param& param = kernel_.params[i];
    const bool tensor = param.kind == kir::ParamKind::TensorArg;
    const bool address = tensor && !param.buffer->by_value;
    const bool checked = address && isChecked(*param.buffer);
    block.add(text(checked ? checkedType(*param.buffer) : parameterType(param), " ", param.name),
              tensor ? comment(*bufferOf(param)) : std::string(), param.name);
    const std::string type = address ? typeName(param.buffer->dtype) + "*"
                             : param.kind == kir::ParamKind::IndexArg ? std::string("Index")
                                                                      : typeName(param.dtype);
    if (checked) {
      block.unpack.line(text(checkedType(*param.buffer), " ", param.name, "(*static_cast<", type,
                             " const*>(args[", i, "]), *static_cast<i64* const*>(args[", bounds,
                             "]), ", i, ");"));
      continue;
    }
    block.unpack.line(text(address ? "" : "const ", type, address ? " const " : " ", param.name,
                           " = *static_cast<", type, " const*>(args[", i, "]);"));
  }
}

void HostEmitter::addLaunchIndices(BlockParameters& block) {
  for (const LaunchIndex& index : kLaunchIndices) {
    if (!scalar_.uses(index)) {
      continue;
    }
    const size_t dimension = static_cast<size_t>(index.name.back() - 'x');
    if (index.name.starts_with("tid")) {
      needsThreads(index.symbol, nullptr);
    }
    block.add(text("const Index ", index.name), std::string(),
              index.name.starts_with("bid")    ? blockIndexText(dimension, kernel_)
              : index.name.starts_with("gdim") ? text("grid[", dimension, "]")
                                               : std::string("1"));
  }
}

void HostEmitter::blockFunction(TextWriter& out, const std::string& name,
                                const BlockParameters& block, const std::string& body) {
  // What the parameters promise about aliases survives inlining. It is always inlined: GCC (12 and
  // 13 at least) may compute the address of a local array from that of a parameter, and, where
  // parameters are in registers, drops the stores that only such a read sees; addresses read from
  // `args` are not taken for other objects than the array.
  out.directive(text("[[gnu::always_inline]] static inline void ", name, "("));
  const std::vector<std::string>& parameters = block.declarations;
  TextWriter signature(2);
  for (size_t i = 0; i < parameters.size(); ++i) {
    signature.line(parameters[i] + (i + 1 == parameters.size() ? ") {" : ","), block.comments[i]);
  }
  if (parameters.empty()) {
    signature.line(") {");
  }
  out.raw(signature.take());
  for (const std::string& run : runs_) {
    out.line(text("  PhiloxRun ", run, "_run;"));
  }
  for (const std::string& last : lasts_) {
    out.line(text("  bool ", last, " = false;  // in the task that has the result of all"));
  }
  const auto& reads = kernel_.index_reads;
  for (size_t i = 0; i < reads.size(); ++i) {
    snippets_.add("cpu/index_range.h");
    out.line(text("  IndexRange range", i, "{u64(", scalar_(reads[i].extent), ") - 1};"));
  }
  out.raw(body);
  for (size_t i = 0; i < reads.size(); ++i) {
    out.line(text("  range", i, ".report(", kernel_.index_report->name, ", ", i + 1, ");"));
  }
  out.directive("}\n");
}

void HostEmitter::function(TextWriter& out, const std::string& body) {
  out.raw(lane_function_text_.take());
  const std::string block_name = name_ + "_block";
  BlockParameters block;
  addParameters(block);
  addLaunchIndices(block);
  blockFunction(out, block_name, block, body);
  out.open(text("extern \"C\" void ", name_,
                "(void* const* args, const long* grid, long first, long last) {"));
  out.raw(block.unpack.take());
  out.line(text("for (long b = first; b < last; ++b) ", block_name, "(",
                join(block.arguments, ", "), ");"));
  if (streams_) {
    out.line("simdFence();");
  }
  out.close();
}

void HostEmitter::emit(const kir::CopyVector& copy) {
  check(copy.dst.width == copy.src.width, "a vector is copied to one of its width");
  elementwise(copy.dst, copy.src);
}

void HostEmitter::emit(const kir::CopyAsync& copy) {
  // Nothing is gained by waiting: the copy is done when the statement is.
  const kir::Literal zero{PolymorphicValue(0), copy.dst.buffer->dtype};
  if (copy.condition == nullptr) {
    elementwise(copy.dst, copy.src);
    return;
  }
  out_.open(text("if (", scalar_(copy.condition), ") {"));
  elementwise(copy.dst, copy.src);
  out_.reopen("} else {");
  elementwise(copy.dst, zero);
  out_.close();
}

void HostEmitter::emit(const kir::BulkCopy& copy) {
  out_.directive("#pragma GCC ivdep");
  out_.line(text("for (Index e = 0; e < ", scalar_.operand(copy.count), "; ++e) ",
                 refText(copy.dst, "e"), " = ", refText(copy.src, "e"), ";"));
}

void HostEmitter::emit(const kir::BoxCopy& copy) {
  needsThreads("copy of boxes", copy.map->buffer);
}
void HostEmitter::emit(const kir::MBarrierArrive&) { needsThreads("arrival", nullptr); }
void HostEmitter::emit(const kir::SetRegisters&) {}
void HostEmitter::emit(const kir::GridDependency&) {}
void HostEmitter::emit(const kir::AsyncCommit&) {}
void HostEmitter::emit(const kir::AsyncWait&) {}
void HostEmitter::emit(const kir::MBarrierInit&) {}
void HostEmitter::emit(const kir::FenceAsyncProxy&) {}

void HostEmitter::emit(const kir::Sync&) { needsThreads("barrier", nullptr); }
void HostEmitter::emit(const kir::CombineAt& combine) {
  needsThreads("atomic operation", combine.dst.buffer);
}
void HostEmitter::emit(const kir::BlockReduce& reduce) {
  needsThreads("reduction among threads", reduce.state[0].buffer);
}
void HostEmitter::emit(const kir::BlockScan& scan) {
  needsThreads("scan among threads", scan.state[0].buffer);
}
void HostEmitter::emit(const kir::ClusterReduce& reduce) {
  needsThreads("reduction among blocks", reduce.state[0].buffer);
}

void HostEmitter::emit(const kir::GridReduce& reduce) {
  check(!reduce.all && reduce.last != nullptr, "tasks of the CPU do not wait for each other");
  snippets_.add("cpu/grid_reduce.h");
  const StateType& type = stateType(reduce.monoid);
  // A task's number among those that share its result, and among the results.
  std::string task = "0";
  std::string tasks = "1";
  std::string segment = "0";
  std::string segments = "1";
  for (size_t d = 0; d < 3; ++d) {
    if (kernel_.grid[d] == nullptr || kernel_.grid[d]->isConstant(1)) {
      continue;
    }
    const std::string_view axis = std::string_view("xyz").substr(d, 1);
    const std::string index = scalar_.launchIndex(text("blockIdx.", axis));
    const std::string extent = scalar_.launchIndex(text("gridDim.", axis));
    std::string& place = reduce.dims[d] ? task : segment;
    std::string& count = reduce.dims[d] ? tasks : segments;
    place = count == "1" ? index : text(place, " + ", index, " * ", count);
    count = count == "1" ? extent : text(count, " * ", extent);
  }
  const std::string last = scalar_.name(reduce.last);
  lasts_.insert(last);
  out_.open("{", text(monoidName(reduce.monoid), " over tasks"));
  loadState(type, reduce.state);
  out_.line(text("const Index segment = ", segment, ";"));
  out_.line(text("const Index tasks = ", tasks, ";"));
  out_.line(text(last, " = gridReduce(state, reinterpret_cast<", type.name, "*>(",
                 reduce.workspace->name, ") + segment * tasks, &", reduce.tickets->name,
                 "[segment], ", task, ", tasks);"));
  storeState(type, reduce.state);
  out_.close();
}

}  // namespace codegen
}  // namespace nvfuser
