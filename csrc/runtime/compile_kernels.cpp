#include <runtime/compile_kernels.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <set>
#include <thread>

#include <runtime/cpu/thread_pool.h>
#include <runtime/dump_kernel.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/loaded_kernels.h>

namespace nvfuser {

namespace {

constexpr size_t kMostInText = 32;  ///< its compilation has a deadline

/// A kernel that this call compiles.
struct Wanted {
  KernelSource source;
  GeneratedKernel generated;
  bool alone = false;  ///< its text cannot be joined with others
  LoadedKernels::Ticket ticket;
};

/// Everything that a loaded kernel depends on.
std::string keyOf(const Device& device, const KernelSource& source) {
  const std::string where = text(reinterpret_cast<uintptr_t>(&device));
  const std::string registers = text(source.max_registers, " ", source.max_threads);
  std::vector<std::string_view> parts{where, source.entry, registers};
  parts.insert(parts.end(), source.options.begin(), source.options.end());
  parts.push_back(source.text);
  return packParts(parts);
}

Wanted wantedOf(const CompiledKernel& kernel, const LoadedKernels::Ticket& ticket,
                std::set<std::string>& names) {
  Wanted one{kernel.source(), kernel.generated(), kernel.isOverridden(), ticket};
  if (!one.alone && !names.insert(one.generated.entry).second) {
    one.generated = kernel.generatedAs(text(one.generated.entry, "_batched_", names.size()));
    one.source.entry = one.generated.entry;
    one.source.text = one.generated.text;
    names.insert(one.generated.entry);
  }
  return one;
}

/// The kernels of one text. Whatever happens, each ticket is answered.
void compileText(Device& device, std::span<Wanted> wanted) {
  LoadedKernels& table = processLoadedKernels();
  std::vector<std::unique_ptr<LoadedKernel>> loaded;
  try {
    KernelSource source = wanted.front().source;
    std::vector<std::string> entries;
    std::vector<const GeneratedKernel*> generated;
    for (const Wanted& one : wanted) {
      entries.push_back(one.generated.entry);
      generated.push_back(&one.generated);
    }
    if (wanted.size() > 1) {
      source.text = joinKernels(generated);
      source.entry = entries.front();
    }
    loaded = device.compileEntries(source, entries);
  } catch (const CompileError&) {
    if (wanted.size() > 1) {  // which one is it?
      compileText(device, wanted.first(wanted.size() / 2));
      compileText(device, wanted.subspan(wanted.size() / 2));
      return;
    }
    table.fail(wanted.front().ticket, std::current_exception());
    return;
  } catch (...) {
    for (const Wanted& one : wanted) {
      table.fail(one.ticket, std::current_exception());
    }
    return;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    table.finish(wanted[i].ticket, std::move(loaded[i]));
  }
}

/// Kernels that go into one text: those at `begin` and after it.
size_t sizeOfText(std::span<const Wanted> wanted, size_t begin, size_t most) {
  size_t count = 0;
  while (begin + count < wanted.size() && count < most && !wanted[begin + count].alone) {
    ++count;
  }
  return std::max<size_t>(count, 1);
}

std::vector<std::span<Wanted>> cutIntoTexts(std::span<Wanted> wanted, const Device& device,
                                            size_t processors) {
  const size_t most = device.kind() == DeviceKind::Cuda
                          ? 1
                          : std::min((wanted.size() + processors - 1) / processors, kMostInText);
  std::vector<std::span<Wanted>> texts;
  for (size_t begin = 0; begin < wanted.size(); begin += texts.back().size()) {
    texts.push_back(wanted.subspan(begin, sizeOfText(wanted, begin, most)));
  }
  return texts;
}

/// Runs `work(i)` for all i < count, on this thread and others, at most `threads` in all.
template <typename Work>
void onThreads(size_t count, size_t threads, const Work& work) {
  std::atomic<size_t> next{0};
  auto loop = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      work(i);
    }
  };
  // Signals are the host's business: the threads block them all.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::vector<std::thread> helpers;
  try {
    while (helpers.size() + 1 < std::min(count, threads)) {
      helpers.emplace_back(loop);
    }
  } catch (const std::system_error&) {  // fewer threads then
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  loop();
  for (std::thread& helper : helpers) {
    helper.join();
  }
}

}  // namespace

std::vector<std::exception_ptr> compileKernels(std::span<CompiledKernel* const> kernels) {
  for (const CompiledKernel* kernel : kernels) {
    if (!kernel->isLoaded()) {
      dumpCompileParams(kernel->options(), kernel->kernelName(), kernel->device(),
                        kernel->source());
    }
  }
  std::vector<std::exception_ptr> errors(kernels.size());
  LoadedKernels& table = processLoadedKernels();
  std::vector<LoadedKernels::Ticket> tickets(kernels.size());
  std::vector<Wanted> wanted;
  std::set<std::string> names;  // one text has each name once
  for (size_t i = 0; i < kernels.size(); ++i) {
    CompiledKernel& kernel = *kernels[i];
    if (kernel.isLoaded()) {
      continue;
    }
    const KernelSource& source = kernel.source();
    tickets[i] = source.cached ? table.claim(keyOf(kernel.device(), source)) : table.claimAlone();
    if (!tickets[i].mine) {
      continue;
    }
    try {
      wanted.push_back(wantedOf(kernel, tickets[i], names));
    } catch (...) {
      table.fail(tickets[i], std::current_exception());
    }
  }
  if (!wanted.empty()) {
    Device& device = kernels.front()->device();
    const auto processors = static_cast<size_t>(availableProcessors());
    const std::vector<std::span<Wanted>> texts = cutIntoTexts(wanted, device, processors);
    onThreads(texts.size(), processors, [&](size_t i) { compileText(device, texts[i]); });
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (tickets[i].slot == nullptr) {
      continue;
    }
    try {
      kernels[i]->setLoaded(table.wait(tickets[i]), /*found=*/!tickets[i].mine);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  }
  return errors;
}

}  // namespace nvfuser
