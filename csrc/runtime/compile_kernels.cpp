#include <runtime/compile_kernels.h>

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <new>
#include <set>
#include <thread>

#include <runtime/cannot_compile.h>
#include <runtime/compile_progress.h>
#include <runtime/cpu/cpu_threads.h>
#include <runtime/dump_kernel.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/loaded_kernels.h>
#include <runtime/kernel_cache/up_to_names.h>
#include <runtime/profiler_range.h>
#include <support/cancellation.h>

namespace nvfuser {

namespace {

using Clock = std::chrono::steady_clock;

/// Kernels that may go into one text, which has a deadline.
size_t mostInText(const Device& device) { return device.kind() == DeviceKind::Cuda ? 1 : 32; }

/// A kernel that this call compiles.
struct Wanted {
  KernelSource source;
  GeneratedKernel generated;
  bool alone = false;  ///< its text cannot be joined with others
  LoadedKernels::Ticket ticket;
};

/// Everything that a loaded kernel depends on; not what things are called in it.
std::string keyOf(const Device& device, const KernelSource& source) {
  const std::string where = text(reinterpret_cast<uintptr_t>(&device));
  const std::string registers = text(source.max_registers, " ", source.max_threads);
  const std::string code = upToNames(source.text, source.entry);
  std::vector<std::string_view> parts{where, registers};
  parts.insert(parts.end(), source.options.begin(), source.options.end());
  parts.push_back(code);
  return packParts(parts);
}

Wanted wantedOf(const CompiledKernel& kernel, const LoadedKernels::Ticket& ticket,
                std::set<std::string>& names) {
  Wanted one{kernel.source(), kernel.generated(), kernel.isOverridden(), ticket};
  if (!one.alone && mostInText(kernel.device()) > 1 && !names.insert(one.generated.entry).second) {
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
    for (size_t i = 0; i < wanted.size(); ++i) {
      device.keep(wanted[i].source, *loaded[i]);
    }
  } catch (const CannotCompile&) {
    for (const Wanted& one : wanted) {
      table.fail(one.ticket, std::current_exception());
    }
    return;
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
  const size_t most = std::min((wanted.size() + processors - 1) / processors, mostInText(device));
  std::vector<std::span<Wanted>> texts;
  for (size_t begin = 0; begin < wanted.size(); begin += texts.back().size()) {
    texts.push_back(wanted.subspan(begin, sizeOfText(wanted, begin, most)));
  }
  return texts;
}

/// The texts of one call. Their threads share it: one that is left behind outlives the call.
struct Work {
  Work(Device& its_device, std::vector<Wanted> its_wanted, size_t processors)
      : device(its_device),
        wanted(std::move(its_wanted)),
        texts(cutIntoTexts(wanted, device, processors)),
        states(texts.size()) {
    for (Wanted& one : wanted) {
      one.source.unwanted = unwanted;
    }
  }

  struct State {
    Clock::time_point begin = {};
    bool begun = false;
    bool ended = false;  ///< or left behind
  };
  Device& device;
  std::vector<Wanted> wanted;
  std::vector<std::span<Wanted>> texts;
  std::shared_ptr<std::atomic<bool>> unwanted = std::make_shared<std::atomic<bool>>(false);

  std::mutex mutex;  ///< of all below
  std::condition_variable changed;
  std::vector<State> states;
  size_t next = 0;
};

/// One text after the other, until none is left or this thread was left behind with one.
void compileTexts(Work& work) {
  std::unique_lock<std::mutex> lock(work.mutex);
  while (work.next < work.texts.size()) {
    const size_t number = work.next++;
    work.states[number].begin = Clock::now();
    work.states[number].begun = true;
    work.changed.notify_all();
    lock.unlock();
    compileText(work.device, work.texts[number]);
    lock.lock();
    if (work.states[number].ended) {
      return;
    }
    work.states[number].ended = true;
    work.changed.notify_all();
  }
}

/// False where the system has no thread to give, or no memory for one.
bool startThread(const std::shared_ptr<Work>& work) {
  // Signals are the host's business: the threads block them all.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread([work] { compileTexts(*work); }).detach();
  } catch (const std::system_error&) {
    started = false;
  } catch (const std::bad_alloc&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

/// Calls that wait for the kernels of a text go on without them.
void leaveBehind(std::span<const Wanted> late, double seconds) {
  const std::string names = join(late, ", ", [](const Wanted& one) { return one.generated.entry; });
  const CompileError error(text("compiling ", names, " took longer than ", seconds,
                                " s (NVFUSER_COMPILE_SECONDS); it goes on in the background, and "
                                "who asks when it is done gets the kernel"),
                           "");
  for (const Wanted& one : late) {
    processLoadedKernels().giveUp(one.ticket, std::make_exception_ptr(error));
  }
}

/// Nobody wants the texts any more: those that were not begun never are, the others are stopped
/// where the compiler can be. With the mutex held.
void abandon(Work& work) {
  work.unwanted->store(true, std::memory_order_relaxed);
  while (work.next < work.texts.size()) {
    for (const Wanted& one : work.texts[work.next++]) {
      processLoadedKernels().fail(one.ticket, std::make_exception_ptr(Cancelled()));
    }
  }
}

/// Compiles all texts, each within the deadline.
void compileAll(const std::shared_ptr<Work>& work, size_t processors, Cancellation* cancellation) {
  size_t threads = 0;
  while (threads < std::min(processors, work->texts.size()) && startThread(work)) {
    ++threads;
  }
  if (threads == 0) {
    compileTexts(*work);
  }
  const double seconds = work->wanted.front().source.deadline_s;
  const bool may_leave = seconds > 0 && !work->device.obeysDeadline();
  const auto patience =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  CompileProgress progress(work->wanted.size());
  std::unique_lock<std::mutex> lock(work->mutex);
  while (true) {
    bool all_ended = true;
    size_t done = 0;
    Clock::time_point first_deadline = Clock::time_point::max();
    for (size_t i = 0; i < work->states.size(); ++i) {
      Work::State& state = work->states[i];
      if (may_leave && state.begun && !state.ended && Clock::now() >= state.begin + patience) {
        state.ended = true;
        leaveBehind(work->texts[i], seconds);
        if (work->next < work->texts.size() && !startThread(work)) {
          lock.unlock();
          compileTexts(*work);
          lock.lock();
        }
      }
      all_ended = all_ended && state.ended;
      done += state.ended ? work->texts[i].size() : 0;
      if (state.begun && !state.ended) {
        first_deadline = std::min(first_deadline, state.begin + patience);
      }
    }
    if (all_ended) {
      return;
    }
    progress.show(done);
    Clock::time_point wake =
        std::min(may_leave ? first_deadline : Clock::time_point::max(), progress.next());
    if (cancellation != nullptr) {
      lock.unlock();  // the caller's `cancellation` may take long
      try {
        cancellation->check();
      } catch (...) {
        lock.lock();
        abandon(*work);
        throw;
      }
      lock.lock();
      wake = std::min(wake, Clock::now() + Cancellation::kPeriod);
    }
    if (wake != Clock::time_point::max()) {
      work->changed.wait_until(lock, wake);
    } else {
      work->changed.wait(lock);
    }
  }
}

/// The tickets of a call. Where it fails before anything is compiled for them, other calls that
/// wait for the same kernels are told; otherwise they would wait forever.
struct ClaimedTickets {
  explicit ClaimedTickets(size_t count) : tickets(count) {}
  ~ClaimedTickets() {
    for (const LoadedKernels::Ticket& ticket : tickets) {
      if (!given_away_ && ticket.slot != nullptr && ticket.mine) {
        processLoadedKernels().fail(ticket, std::make_exception_ptr(Cancelled()));
      }
    }
  }
  ClaimedTickets(const ClaimedTickets&) = delete;
  ClaimedTickets& operator=(const ClaimedTickets&) = delete;
  void areGivenAway() { given_away_ = true; }

  std::vector<LoadedKernels::Ticket> tickets;

 private:
  bool given_away_ = false;
};

}  // namespace

std::vector<std::exception_ptr> compileKernels(std::span<CompiledKernel* const> kernels,
                                               Cancellation* cancellation) {
  for (const CompiledKernel* kernel : kernels) {
    if (!kernel->isLoaded()) {
      dumpCompileParams(kernel->options(), kernel->kernelName(), kernel->device(),
                        kernel->source());
    }
  }
  std::vector<std::exception_ptr> errors(kernels.size());
  LoadedKernels& table = processLoadedKernels();
  ClaimedTickets claimed(kernels.size());
  std::vector<LoadedKernels::Ticket>& tickets = claimed.tickets;
  std::vector<Wanted> wanted;
  std::set<std::string> names;  // one text has each name once
  for (size_t i = 0; i < kernels.size(); ++i) {
    CompiledKernel& kernel = *kernels[i];
    if (kernel.isLoaded()) {
      continue;
    }
    if (std::shared_ptr<const LoadedKernel> loaded = kernel.device().loadIr(kernel.kernel())) {
      kernel.setLoaded(std::move(loaded), /*found=*/false);
      continue;
    }
    const KernelSource& source = kernel.source();
    tickets[i] = source.cached ? table.claim(keyOf(kernel.device(), source)) : table.claimAlone();
    if (!tickets[i].mine) {
      continue;
    }
    try {
      if (std::unique_ptr<LoadedKernel> found = kernel.device().find(source)) {
        table.finish(tickets[i], std::move(found));
        continue;
      }
      wanted.push_back(wantedOf(kernel, tickets[i], names));
    } catch (...) {
      table.fail(tickets[i], std::current_exception());
    }
  }
  if (!wanted.empty()) {
    const ProfilerRange range("compile", [&] {
      return join(kernels, ", ", [](const CompiledKernel* kernel) { return kernel->kernelName(); });
    });
    Device& device = kernels.front()->device();
    const auto processors = static_cast<size_t>(availableProcessors());
    const auto work = std::make_shared<Work>(device, std::move(wanted), processors);
    claimed.areGivenAway();
    compileAll(work, processors, cancellation);
  }
  claimed.areGivenAway();
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (tickets[i].slot == nullptr) {
      continue;
    }
    try {
      kernels[i]->setLoaded(table.wait(tickets[i], cancellation), /*found=*/!tickets[i].mine);
    } catch (const Cancelled&) {
      checkCancelled(cancellation);
      errors[i] = compileKernels({&kernels[i], 1}, cancellation).front();  // only another call was
    } catch (...) {
      errors[i] = std::current_exception();
    }
  }
  return errors;
}

}  // namespace nvfuser
