#include <runtime/emulated/fiber.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <support/error.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace nvfuser::emulated {

namespace {
/// Frames that were left without unwinding keep their guards under AddressSanitizer.
void forgetFrames([[maybe_unused]] char* stack) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, Fiber::kStackBytes);
#endif
}

void destroyFiber([[maybe_unused]] void* fiber) {
#if defined(__SANITIZE_THREAD__)
  if (fiber != nullptr) {
    __tsan_destroy_fiber(fiber);
  }
#endif
}

/// An empty stack under ThreadSanitizer, too.
void forgetCalls([[maybe_unused]] void*& fiber) {
#if defined(__SANITIZE_THREAD__)
  destroyFiber(fiber);
  fiber = __tsan_create_fiber(0);
#endif
}

/// Right before the stack changes.
void announceSwitch([[maybe_unused]] void* to) {
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to, 0);
#endif
}

void* currentFiber() {
#if defined(__SANITIZE_THREAD__)
  return __tsan_get_current_fiber();
#else
  return nullptr;
#endif
}
}  // namespace

#if defined(__x86_64__)

// Saves the registers that a call preserves, changes stacks, restores. A fresh stack holds six
// zeros and the address of `start`, which finds entry and argument above it.
asm(R"(
  .text
  .p2align 4
  .type nvf_fiber_switch, @function
  .local nvf_fiber_switch
nvf_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size nvf_fiber_switch, . - nvf_fiber_switch

  .p2align 4
  .type nvf_fiber_start, @function
  .local nvf_fiber_start
nvf_fiber_start:
  popq %rax
  popq %rdi
  xorl %ebp, %ebp
  callq *%rax
  ud2
  .size nvf_fiber_start, . - nvf_fiber_start
)");
extern "C" {
__attribute__((visibility("hidden"))) void nvf_fiber_switch(void** save, void* load);
__attribute__((visibility("hidden"))) void nvf_fiber_start();
}

void Fiber::prepare(Entry entry, void* argument) {
  forgetFrames(stack_);
  forgetCalls(sanitizer_fiber_);
  // `start` pops two words and calls: the stack must then be a multiple of 16.
  void** top = reinterpret_cast<void**>(stack_ + kStackBytes);
  *--top = nullptr;
  *--top = nullptr;
  *--top = argument;
  *--top = reinterpret_cast<void*>(entry);
  *--top = reinterpret_cast<void*>(&nvf_fiber_start);
  for (int i = 0; i < 6; ++i) {
    *--top = nullptr;
  }
  fiber_context_ = top;
}

void Fiber::resume() {
  sanitizer_host_ = currentFiber();
  announceSwitch(sanitizer_fiber_);
  nvf_fiber_switch(&host_context_, fiber_context_);
}
void Fiber::suspend() {
  announceSwitch(sanitizer_host_);
  nvf_fiber_switch(&fiber_context_, host_context_);
}

namespace {
constexpr size_t kContextBytes = 0;
}

#else

namespace {
constexpr size_t kContextBytes = 2 * sizeof(ucontext_t);

void startFiber(unsigned entry_high, unsigned entry_low, unsigned argument_high,
                unsigned argument_low) {
  auto pointer = [](unsigned high, unsigned low) {
    return (static_cast<uintptr_t>(high) << 32) | static_cast<uintptr_t>(low);
  };
  reinterpret_cast<Fiber::Entry>(pointer(entry_high, entry_low))(
      reinterpret_cast<void*>(pointer(argument_high, argument_low)));
}
}  // namespace

void Fiber::prepare(Entry entry, void* argument) {
  forgetFrames(stack_);
  forgetCalls(sanitizer_fiber_);
  auto* own = static_cast<ucontext_t*>(fiber_context_);
  getcontext(own);
  own->uc_stack.ss_sp = stack_;
  own->uc_stack.ss_size = kStackBytes;
  own->uc_link = nullptr;
  auto e = reinterpret_cast<uintptr_t>(entry);
  auto a = reinterpret_cast<uintptr_t>(argument);
  makecontext(own, reinterpret_cast<void (*)()>(&startFiber), 4, static_cast<unsigned>(e >> 32),
              static_cast<unsigned>(e), static_cast<unsigned>(a >> 32), static_cast<unsigned>(a));
}

void Fiber::resume() {
  sanitizer_host_ = currentFiber();
  announceSwitch(sanitizer_fiber_);
  swapcontext(static_cast<ucontext_t*>(host_context_), static_cast<ucontext_t*>(fiber_context_));
}
void Fiber::suspend() {
  announceSwitch(sanitizer_host_);
  swapcontext(static_cast<ucontext_t*>(fiber_context_), static_cast<ucontext_t*>(host_context_));
}

#endif

namespace {
size_t guardBytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
}  // namespace

Fiber& FiberPool::at(size_t index) {
  while (fibers_.size() <= index) {
    void* mapped = mmap(nullptr, guardBytes() + Fiber::kStackBytes + kContextBytes,
                        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED || mprotect(mapped, guardBytes(), PROT_NONE) != 0) {
      userError("emulated CUDA: no memory for the stacks of ", index + 1,
                " threads: ", std::strerror(errno));
    }
    auto fiber = std::make_unique<Fiber>();
    fiber->stack_ = static_cast<char*>(mapped) + guardBytes();
#if !defined(__x86_64__)
    auto* contexts = reinterpret_cast<ucontext_t*>(fiber->stack_ + Fiber::kStackBytes);
    fiber->fiber_context_ = contexts;
    fiber->host_context_ = contexts + 1;
#endif
    fibers_.push_back(std::move(fiber));
  }
  return *fibers_[index];
}

FiberPool::~FiberPool() {
  for (const auto& fiber : fibers_) {
    destroyFiber(fiber->sanitizer_fiber_);
    munmap(fiber->stack_ - guardBytes(), guardBytes() + Fiber::kStackBytes + kContextBytes);
  }
}

}  // namespace nvfuser::emulated
