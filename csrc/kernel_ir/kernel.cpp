#include <kernel_ir/kernel.h>

#include <support/text.h>

namespace nvfuser::kir {

Buffer* Kernel::addBuffer(Buffer buffer) {
  buffer.id = static_cast<int>(buffers.size());
  buffers.push_back(std::make_unique<Buffer>(std::move(buffer)));
  return buffers.back().get();
}

namespace {

template <typename BlockType, typename Visit>
void walk(BlockType& block, const Visit& visit) {
  for (auto& stmt : block) {
    visit(stmt);
    if (auto* loop = std::get_if<For>(&stmt.node)) {
      walk(*loop->body, visit);
    }
    if (auto* branch = std::get_if<If>(&stmt.node)) {
      walk(*branch->then_body, visit);
      if (branch->else_body) {
        walk(*branch->else_body, visit);
      }
    }
  }
}

/// Prints statements, one a line, two spaces a level.
class Printer {
 public:
  std::string run(const Block& block) {
    print(block, 1);
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& content) {
    out_ += std::string(static_cast<size_t>(depth) * 2, ' ') + content + "\n";
  }
  void print(const Block& block, int depth) {
    for (const Stmt& stmt : block) {
      std::visit([&](const auto& node) { show(node, depth); }, stmt.node);
    }
  }
  static std::string refs(const std::vector<Ref>& list) {
    return join(list, ", ", [](const Ref& ref) { return nvfuser::kir::toString(ref); });
  }
  static std::string operands(const std::vector<Operand>& list) {
    return join(list, ", ", [](const Operand& o) { return nvfuser::kir::toString(o); });
  }
  static std::string dims(const bool (&along)[3], char prefix) {
    std::string out;
    for (int i = 0; i < 3; ++i) {
      if (along[i]) {
        out += text(out.empty() ? "" : ".", prefix, "xyz"[i]);
      }
    }
    return out;
  }

  void show(const For& s, int depth) {
    static constexpr std::string_view kKinds[] = {"", " unrolled", " simd"};
    line(depth, text("for ", s.var, " in 0..", s.extent, s.descending ? " descending" : "",
                     kKinds[static_cast<size_t>(s.kind)], "  // ", s.comment));
    print(*s.body, depth + 1);
  }
  void show(const If& s, int depth) {
    line(depth, text("if ", s.condition));
    print(*s.then_body, depth + 1);
    if (s.else_body) {
      line(depth, "else");
      print(*s.else_body, depth + 1);
    }
  }
  void show(const Declare& s, int depth) {
    line(depth,
         text("declare ", s.buffer->name, " : ", s.buffer->dtype, "[", s.buffer->elements, "]"));
  }
  void show(const LoadIndex& s, int depth) {
    line(depth, text("let ", s.var, " = index ", nvfuser::kir::toString(s.src),
                     s.range >= 0 ? text(", in range ", s.range) : std::string()));
  }
  void show(const Let& s, int depth) { line(depth, text("let ", s.var, " = ", s.value)); }
  void show(const Compute& s, int depth) {
    line(depth, text(nvfuser::kir::toString(s.dst), " = ", pointwiseName(s.op), "(",
                     operands(s.operands), ")"));
  }
  void show(const Assign& s, int depth) {
    line(depth, text(nvfuser::kir::toString(s.dst), " = ", nvfuser::kir::toString(s.src)));
  }
  void show(const CopyVector& s, int depth) {
    line(depth, text(nvfuser::kir::toString(s.dst), " = ", nvfuser::kir::toString(s.src)));
  }
  void show(const CopyAsync& s, int depth) {
    line(depth, text(nvfuser::kir::toString(s.dst), " = async ", nvfuser::kir::toString(s.src),
                     s.condition ? text(" if ", s.condition) : std::string()));
  }
  void show(const BulkCopy& s, int depth) {
    line(depth, text(nvfuser::kir::toString(s.dst), " = bulk ", nvfuser::kir::toString(s.src),
                     " : ", s.count, counted(s.barrier)));
  }
  void show(const BoxCopy& s, int depth) {
    const std::string place =
        text(s.map->name, "{", join(s.at, ", ", [](Scalar at) { return at->toString(); }), "}");
    const std::string shared = nvfuser::kir::toString(s.shared);
    line(depth, text(s.isLoad() ? shared : place, " = box ", s.isLoad() ? place : shared, " : ",
                     join(s.map->axes, " x ", [](const auto& axis) { return text(axis.box); }),
                     s.map->swizzle != 0 ? text(", swizzled by ", s.map->swizzle) : "",
                     counted(s.barrier)));
  }
  static std::string counted(const Ref& barrier) {
    return barrier.buffer != nullptr ? " at " + nvfuser::kir::toString(barrier) : std::string();
  }
  static std::string_view name(AsyncKind kind) {
    static constexpr std::string_view kNames[] = {"async", "bulk load", "bulk store"};
    return kNames[static_cast<size_t>(kind)];
  }
  void show(const AsyncCommit& s, int depth) {
    line(depth, text(name(s.kind), " commit", counted(s.barrier)));
  }
  void show(const AsyncWait& s, int depth) {
    line(depth, s.kind == AsyncKind::BulkLoad ? text(name(s.kind), " wait", counted(s.barrier))
                                              : text(name(s.kind), " wait ", s.pending));
  }
  void show(const MBarrierInit& s, int depth) {
    line(depth, text("initialise ", s.barriers->name, "[", s.barriers->elements, "]",
                     s.arrivals != 1 ? text(" for ", s.arrivals, " arrivals") : ""));
  }
  void show(const MBarrierArrive& s, int depth) { line(depth, "arrive" + counted(s.barrier)); }
  void show(const SetRegisters& s, int depth) {
    line(depth, text(s.more ? "take" : "leave", " registers: ", s.count));
  }
  void show(const GridDependency& s, int depth) {
    line(depth, s.kind == GridDependency::Kind::Wait ? "wait for the kernel in front"
                                                     : "let the next kernel start");
  }
  void show(const FenceAsyncProxy&, int depth) { line(depth, "fence async proxy"); }
  void show(const Guarded& s, int depth) {
    line(depth, text(nvfuser::kir::toString(s.dst), " = ", s.condition, " ? ",
                     nvfuser::kir::toString(s.src), " : ", nvfuser::kir::toString(s.otherwise)));
  }
  static std::string name(const Monoid& monoid) {
    switch (monoid.kind) {
      case Monoid::Kind::Welford:
        return "welford";
      case Monoid::Kind::OnlineSoftmax:
        return "online_softmax";
      default:
        return std::string(pointwiseName(monoid.op));
    }
  }
  void show(const Combine& s, int depth) {
    line(depth, text("(", refs(s.state), ") = ", name(s.monoid), "((", refs(s.state), "), (",
                     operands(s.value), "))"));
  }
  void show(const CombineAt& s, int depth) {
    line(depth, text(nvfuser::kir::toString(s.dst), " = atomic ",
                     s.op ? pointwiseName(*s.op) : std::string_view("write"), " ",
                     nvfuser::kir::toString(s.value)));
  }
  void show(const BlockReduce& s, int depth) {
    line(depth, text("(", refs(s.state), ") = block reduce ", name(s.monoid), " along ",
                     dims(s.dims, 't'), " in ", s.workspace->name));
  }
  void show(const BlockScan& s, int depth) {
    line(depth, text("(", refs(s.state), ") after (", refs(s.total), ") = block scan ",
                     name(s.monoid), " along ", dims(s.dims, 't'), s.backward ? " backward" : "",
                     " in ", s.workspace->name));
  }
  void show(const ClusterReduce& s, int depth) {
    static constexpr std::string_view kBefore[] = {"", ", arrived before", ", met before"};
    line(depth, text("(", refs(s.state), ") = cluster reduce ", name(s.monoid), " in ",
                     s.workspace->name, kBefore[static_cast<size_t>(s.before)]));
  }
  void show(const GridReduce& s, int depth) {
    line(depth, text("(", refs(s.state), ") = grid reduce ", name(s.monoid), " along ",
                     dims(s.dims, 'b'), s.all ? " for all" : "", " in ", s.workspace->name));
  }
  void show(const Sync& s, int depth) {
    static constexpr std::string_view kKinds[] = {"warp", "block", "grid", "cluster arrive"};
    static constexpr std::string_view kRoles[] = {"", ", loading", ", computing"};
    line(depth,
         text("sync ", kKinds[static_cast<size_t>(s.kind)], kRoles[static_cast<size_t>(s.role)],
              s.comment.empty() ? "" : "  // " + s.comment));
  }
  void show(const Random& s, int depth) {
    const std::string place = s.block == nullptr ? text("element ", s.element)
                                                 : text("block ", s.block, ", word ", s.word);
    line(depth, text(nvfuser::kir::toString(s.dst), " = random(", place, ", draw ", s.draw, ")"));
  }
  void show(const Fetch& s, int depth) {
    line(depth, text("fetch ", nvfuser::kir::toString(s.at), s.to_write ? " to write" : ""));
  }

  std::string out_;
};

}  // namespace

void forEach(const Block& block, const std::function<void(const Stmt&)>& visit) {
  walk(block, visit);
}
void forEach(Block& block, const std::function<void(Stmt&)>& visit) { walk(block, visit); }

std::string toString(const Ref& ref) {
  std::string out = ref.buffer->name;
  const bool single = ref.buffer->memory == MemoryType::Local && ref.buffer->elements != nullptr &&
                      ref.buffer->elements->isConstant(1);
  if (!single) {
    out += text("[", ref.index);
    if (ref.width > 1) {
      out += text(" : ", ref.width);
    }
    out += "]";
  }
  return out;
}

std::string toString(const Operand& operand) {
  if (auto* ref = std::get_if<Ref>(&operand)) {
    return toString(*ref);
  }
  if (auto* param = std::get_if<ParamRef>(&operand)) {
    return param->name;
  }
  if (auto* literal = std::get_if<Literal>(&operand)) {
    return text(dataTypeName(literal->dtype), "(", literal->value.toString(), ")");
  }
  auto& index = std::get<IndexValue>(operand);
  return text(dataTypeName(index.dtype), "(", index.index, ")");
}

std::string_view pointwiseName(const PointwiseType& op) {
  return std::visit([](auto type) { return opName(type); }, op);
}

std::string Kernel::toString() const {
  std::string out = text("kernel ", name, "(");
  out += join(params, ", ", [](const Param& param) { return param.name; });
  out += ")\n";
  auto dims = [&](const char* what, const Scalar(&extents)[3]) {
    out += text("  ", what, " [");
    for (int i = 0; i < 3; ++i) {
      out += text(i > 0 ? ", " : "", extents[i] ? extents[i]->toString() : "1");
    }
    out += "]\n";
  };
  dims("grid", grid);
  dims("block", block);
  out += "{\n" + Printer().run(body) + "}\n";
  return out;
}

}  // namespace nvfuser::kir
