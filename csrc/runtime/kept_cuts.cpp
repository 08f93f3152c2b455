#include <runtime/kept_cuts.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/exact_numerics.h>
#include <runtime/call_key.h>
#include <runtime/free_integers.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/process_cache.h>
#include <support/text.h>

namespace nvfuser {

namespace {

std::string textOf(const DeviceProperties& device) {
  return text(device.name, " ", device.major, ".", device.minor, " ", device.multiprocessors, " ",
              device.warp_size, " ", device.max_threads_per_block, " ",
              device.max_threads_per_multiprocessor, " ", device.max_block[0], " ",
              device.max_block[1], " ", device.max_block[2], " ", device.max_grid[0], " ",
              device.max_grid[1], " ", device.max_grid[2], " ", device.shared_bytes_per_block, " ",
              device.shared_bytes_per_block_optin, " ", device.shared_bytes_per_multiprocessor, " ",
              device.registers_per_multiprocessor, " ", device.l2_bytes, " ", device.l3_bytes, " ",
              device.vector_bytes, " ", device.memory_bytes);
}

/// Numbers of a floating type and free integers say nothing about sizes.
std::string textOf(const KernelArgument& argument, bool is_free_integer) {
  if (!argument.isTensor()) {
    const PolymorphicValue& value = argument.scalar();
    const bool says_something = value.is<int64_t>() && !is_free_integer;
    return says_something || value.is<bool>() ? value.toString() : "number";
  }
  const Tensor& tensor = argument.tensor();
  return tensor.defined() ? text(tensor.dtype(), " ", join(tensor.sizes(), ","), " ",
                                 join(tensor.strides(), ","), " ", alignmentOf(tensor.data()))
                          : std::string("none");
}

/// One line a group: the number of its operations, their places, the places of what it stores.
std::string written(const Fusion& fusion, const std::vector<Group>& groups) {
  std::unordered_map<const Statement*, size_t> places;
  const std::vector<Expr*> exprs = tensorExprs(fusion);
  size_t tensors = 0;
  for (size_t i = 0; i < exprs.size(); ++i) {
    places[exprs[i]] = i;
    for (const TensorView* out : tensorOutputs(exprs[i])) {
      places[out] = tensors++;
    }
  }
  std::string lines;
  for (const Group& group : groups) {
    append(lines, text(group.exprs.size()));
    for (const Expr* expr : group.exprs) {
      append(lines, text(" ", places.at(expr)));
    }
    for (const TensorView* out : group.outputs) {
      append(lines, text(" ", places.at(out)));
    }
    append(lines, "\n");
  }
  return lines;
}

/// Whether each operation has its operands from an earlier group, or an earlier place of its own.
bool canRun(const Fusion& fusion, const std::vector<Group>& groups) {
  std::unordered_set<const Val*> stored(fusion.inputs().begin(), fusion.inputs().end());
  for (const Group& group : groups) {
    std::unordered_set<const Val*> computed;
    for (const Expr* expr : group.exprs) {
      for (const TensorView* in : tensorInputs(expr)) {
        if (stored.count(in) == 0 && computed.count(in) == 0) {
          return false;
        }
      }
      for (const TensorView* out : tensorOutputs(expr)) {
        computed.insert(out);
      }
    }
    stored.insert(group.outputs.begin(), group.outputs.end());
  }
  return std::all_of(fusion.outputs().begin(), fusion.outputs().end(),
                     [&](const Val* output) { return stored.count(output) != 0; });
}

}  // namespace

std::string cutKey(const Fusion& fusion, const KernelArgumentHolder& args, const Device& device,
                   DataType index_type, const Options& options) {
  std::string arguments;
  const std::vector<bool> are_free = freeIntegers(fusion);
  for (size_t i = 0; i < args.size(); ++i) {
    append(arguments, text(textOf(args[i], are_free[i]), "\n"));
  }
  const std::string definition = fusion.toString();
  const std::string properties = textOf(device.properties());
  const std::string indices = text(index_type);
  return cacheKey({{"kind", "cut"},
                   {"build", ownBuildId()},
                   {"device", properties},
                   {"index type", indices},
                   {"options", options.codeKey()},
                   {"exactly", isComputedExactly(fusion) ? "yes" : "no"},
                   {"arguments", arguments},
                   {"fusion", definition}});
}

std::optional<std::vector<Group>> findCut(const Fusion& fusion, const std::string& key,
                                          DiskCache& cache) {
  const std::optional<std::string> payload = cache.load(key);
  if (!payload) {
    return std::nullopt;
  }
  const std::vector<Expr*> exprs = tensorExprs(fusion);
  std::vector<TensorView*> tensors;
  for (const Expr* expr : exprs) {
    for (TensorView* out : tensorOutputs(expr)) {
      tensors.push_back(out);
    }
  }
  std::vector<Group> groups;
  std::istringstream lines(*payload);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    size_t count = 0;
    numbers >> count;
    std::vector<Expr*> operations;
    std::unordered_set<const TensorView*> stored;
    for (size_t place = 0; numbers >> place;) {
      const bool is_operation = operations.size() < count;
      if (place >= (is_operation ? exprs.size() : tensors.size())) {
        return std::nullopt;
      }
      if (is_operation) {
        operations.push_back(exprs[place]);
      } else {
        stored.insert(tensors[place]);
      }
    }
    groups.push_back(makeGroup(std::move(operations),
                               [&](const TensorView* tv) { return stored.count(tv) != 0; }));
  }
  return canRun(fusion, groups) ? std::optional(std::move(groups)) : std::nullopt;
}

void keepCut(const Fusion& fusion, const std::string& key, const std::vector<Group>& groups,
             DiskCache& cache) {
  cache.store(key, written(fusion, groups));
}

}  // namespace nvfuser
