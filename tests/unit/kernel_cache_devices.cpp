// Kernels of the CPU and emulated devices through the disk cache, with the host's real compiler.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <random>

#include <cache_folder.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/host_compiler/cached_object.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/process_cache.h>

using namespace nvfuser;
using namespace nvfuser::cache_test;

namespace {

HostCompileRequest answering(int number) {
  return {.text = text("extern \"C\" int answer() { return ", number, "; }"), .flags = {"-O0"}};
}

int answerOf(const CachedObject& made) {
  return reinterpret_cast<int (*)()>(made.object.symbol("answer"))();
}

HostCompileRequest function(const std::string& name, int number) {
  return {.text = text("extern \"C\" int ", name, "() { return ", number, "; }\n"),
          .flags = {"-O0"}};
}

int resultOf(const std::optional<HostKernel>& kernel) {
  return kernel ? reinterpret_cast<int (*)()>(kernel->object->symbol(kernel->symbol))() : -1;
}

}  // namespace

TEST_CASE("disk cache: host code is compiled once, and then loaded") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  const CachedObject first = cachedObject(hostCompiler(), answering(42), &cache);
  CHECK_FALSE(first.from_cache);
  CHECK(first.compile_ms > 0);
  const CachedObject second = cachedObject(hostCompiler(), answering(42), &cache);
  CHECK(second.from_cache);
  CHECK(second.compile_ms == 0);
  CHECK(second.bytes == first.bytes);
  CHECK(answerOf(second) == 42);
  const CachedObject other = cachedObject(hostCompiler(), answering(43), &cache);
  CHECK_FALSE(other.from_cache);
  CHECK(answerOf(other) == 43);
  CHECK_FALSE(cachedObject(hostCompiler(), answering(42), nullptr).from_cache);
  CHECK(cache.list().size() == 2);
}

TEST_CASE("disk cache: each part of a key alone makes a miss") {
  const HostCompiler compiler = hostCompiler();
  const HostCompileRequest request = answering(42);
  const std::string key = hostObjectKey(compiler, request);
  CHECK(key == hostObjectKey(compiler, request));

  SUBCASE("text, flags and compiler, by what is asked for") {
    HostCompileRequest other = request;
    other.text += " ";
    CHECK(hostObjectKey(compiler, other) != key);
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>{}, {"-O1"}, {"-O0", ""}, {"-O0", "-O0"}, {"-O", "0"}}) {
      other = request;
      other.flags = flags;
      CHECK(hostObjectKey(compiler, other) != key);
    }
    HostCompiler newer = compiler;
    newer.identity += "1";
    CHECK(hostObjectKey(newer, request) != key);
    HostCompiler behind = compiler;
    behind.command.insert(behind.command.begin(), "/bin/sh");
    CHECK(hostObjectKey(behind, request) != key);
  }
  SUBCASE("the compiler's file, though it says the same of itself") {
    TemporaryDirectory folder;
    folder.write("c++", "#!/bin/sh\nexec g++ \"$@\"\n");
    HostCompiler played = compiler;
    played.command = {folder.path() + "/c++"};
    REQUIRE(chmod(played.command[0].c_str(), 0700) == 0);
    const std::string before = hostObjectKey(played, request);
    CHECK(hostObjectKey(played, request) == before);
    writeFile(played.command[0], "#!/bin/sh\nexec clang++ \"$@\"\n");
    CHECK(hostObjectKey(played, request) != before);
  }
  SUBCASE("variables that compilers obey") {
    for (const char* name : {"COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX",
                             "LIBRARY_PATH", "SDKROOT", "ZIG_LIB_DIR"}) {
      const char* before = std::getenv(name);
      const std::string kept = before ? before : "";
      setenv(name, "/elsewhere", 1);
      CHECK(hostObjectKey(compiler, request) != key);
      if (before) {
        setenv(name, kept.c_str(), 1);
      } else {
        unsetenv(name);
      }
    }
    CHECK(hostObjectKey(compiler, request) == key);
  }
  SUBCASE("every named part, this CPU and this build among them") {
    // A key is names and values; here each value in turn is another one.
    auto parts = unpackParts(key, 16);
    REQUIRE(parts.has_value());
    std::vector<std::string_view> views(parts->begin(), parts->end());
    REQUIRE(packParts(views) == key);
    CacheFolder folder;
    DiskCache cache = folder.cache();
    REQUIRE(cache.store(key, "payload"));
    std::string names;
    for (size_t i = 0; i < parts->size(); i += 2) {
      append(names, text((*parts)[i], ", "));
      const std::string changed = (*parts)[i + 1] + "x";
      views[i + 1] = changed;
      CHECK_FALSE(cache.load(packParts(views)).has_value());
      views[i + 1] = (*parts)[i + 1];
    }
    CHECK(cache.load(key).has_value());
    CHECK(names == "kind, build, compiler, compiler files, environment, cpu, flags, text, ");
    CHECK((*parts)[3] == ownBuildId());
    CHECK((*parts)[11] == cpuIdentity());
  }
}

TEST_CASE("disk cache: 200 damaged entries are compiled anew, mended, and right") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  const HostCompileRequest request = answering(42);
  REQUIRE_FALSE(cachedObject(hostCompiler(), request, &cache).from_cache);
  const std::string path = folder.path + "/" + cache.list().at(0).file;
  const std::string whole = readFile(path);
  std::mt19937 random(11);
  int used = 0, wrong = 0, not_mended = 0;
  for (int i = 0; i < 200; i++) {
    std::string damaged = whole;
    // Half are cut; of the other half every fourth is changed in its head.
    const size_t at = random() % (i % 8 == 1 ? kEntryHeader : whole.size());
    if (i % 2 == 0) {
      damaged.resize(at);
    } else {
      damaged[at] = static_cast<char>(damaged[at] ^ (1 + random() % 255));
    }
    writeFile(path, damaged);
    const CachedObject made = cachedObject(hostCompiler(), request, &cache);
    used += made.from_cache ? 1 : 0;
    wrong += answerOf(made) == 42 ? 0 : 1;
    const CachedObject again = cachedObject(hostCompiler(), request, &cache);
    not_mended += again.from_cache && answerOf(again) == 42 ? 0 : 1;
  }
  CHECK(used == 0);
  CHECK(wrong == 0);
  CHECK(not_mended == 0);
}

TEST_CASE("disk cache: an entry that the dynamic loader refuses is compiled anew") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  const std::string key = hostObjectKey(hostCompiler(), answering(42));
  for (const std::string& payload : {std::string("not even parts"), packParts({"", "no ELF"}),
                                     packParts({"", ""}), packParts({"", "", ""})}) {
    REQUIRE(cache.store(key, payload));
    const CachedObject made = cachedObject(hostCompiler(), answering(42), &cache);
    CHECK_FALSE(made.from_cache);
    CHECK(answerOf(made) == 42);
    CHECK(cachedObject(hostCompiler(), answering(42), &cache).from_cache);
  }
}

TEST_CASE("disk cache: what runs are the verified bytes, whatever becomes of the file") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  cachedObject(hostCompiler(), answering(42), &cache);
  const std::string path = folder.path + "/" + cache.list().at(0).file;
  const CachedObject loaded = cachedObject(hostCompiler(), answering(42), &cache);
  REQUIRE(loaded.from_cache);
  writeFile(path, std::string(readFile(path).size(), '\xcc'));
  CHECK(answerOf(loaded) == 42);
  CHECK_FALSE(cachedObject(hostCompiler(), answering(42), &cache).from_cache);
}

TEST_CASE("disk cache: a kernel is found by its own text, whatever it was compiled beside") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  auto find = [&](const std::string& name, int number) {
    return findHostKernel(hostCompiler(), function(name, number), name, &cache);
  };
  auto keepBoth = [&] {
    HostCompileRequest both = function("first", 1);
    both.text += function("second", 2).text;
    const std::vector<std::string> entries{"first", "second"};
    const auto kernels = compileHostKernels(hostCompiler(), both, entries, &cache);
    for (int i = 0; i < 2; i++) {
      CHECK_FALSE(kernels[static_cast<size_t>(i)].from_cache);
      keepHostKernel(hostCompiler(), function(entries[static_cast<size_t>(i)], i + 1),
                     entries[static_cast<size_t>(i)], kernels[static_cast<size_t>(i)], cache);
    }
  };
  CHECK_FALSE(find("second", 2).has_value());
  keepBoth();
  CHECK(cache.list().size() == 3);  // the object, and two kernels of it
  {
    const std::optional<HostKernel> second = find("second", 2);
    CHECK(resultOf(second) == 2);
    CHECK(second->from_cache);
    CHECK(second->compile_ms == 0);
    CHECK(resultOf(find("called_otherwise", 2)) == 2);
    CHECK(find("first", 1)->object == second->object);  // loaded once
  }
  CHECK(resultOf(find("first", 2)) == 2);  // the other one, by this name
  CHECK_FALSE(find("first", 3).has_value());
  CHECK_FALSE(findHostKernel(hostCompiler(), function("first", 1), "first", nullptr).has_value());

  // What it refers to has gone, or is damaged: it is not there.
  for (const DiskCacheEntry& entry : cache.list()) {
    const std::string path = folder.path + "/" + entry.file;
    const std::string whole = readFile(path);
    writeFile(path, whole.substr(0, whole.size() / 2));
    CHECK((resultOf(find("first", 1)) == -1 || resultOf(find("second", 2)) == -1));
    unlink(path.c_str());
    keepBoth();
    CHECK(resultOf(find("first", 1)) == 1);
    CHECK(resultOf(find("second", 2)) == 2);
  }
}

// ---- two processes ----

/// Run by the next case in a process of its own: prints how each kernel of both devices came.
TEST_CASE("disk cache child: a fusion on both devices" * doctest::skip()) {
  for (Device* device : {&cpuDevice(), &emulatedDevice()}) {
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      TensorView* in = makeContigTensor(2);
      fusion->addInput(in);
      fusion->addOutput(sum(exp(in), {1}));
      fusion->addOutput(mul(in, in));
    }
    FusionExecutorCache executor(std::move(fusion));
    const Tensor in = Tensor::ones({3, 5}, DataType::Float, *device);
    const KernelArgumentHolder out = executor.runFusionWithInputs({in});
    CHECK(out[0].tensor().toHost<float>()[0] == doctest::Approx(5 * std::exp(1.0)));
    for (const KernelExecutor* kernel : executor.executors()) {
      const KernelResources& resources = kernel->compiledKernel()->loaded().resources();
      CHECK(resources.from_cache == (resources.compile_ms == 0));
      std::printf("kernel %s\n", resources.from_cache ? "found" : "compiled");
    }
  }
}

/// Run by the next case: two kernels, by one call (with NVFUSER_TEST_TOGETHER) or by two.
TEST_CASE("disk cache child: kernels of one call or of two" * doctest::skip()) {
  using Add = std::function<void(Fusion&)>;
  const Add sums = [](Fusion& fusion) {
    TensorView* in = makeContigTensor(2);
    fusion.addInput(in);
    fusion.addOutput(sum(exp(in), {1}));
  };
  const Add products = [](Fusion& fusion) {
    TensorView* in = makeContigTensor(1);
    fusion.addInput(in);
    fusion.addOutput(mul(in, in));
  };
  const Tensor matrix = Tensor::ones({300, 5}, DataType::Float);
  const Tensor vector = Tensor::ones({7000}, DataType::Float);
  auto run = [](const std::vector<Add>& parts, const std::vector<Tensor>& tensors) {
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    KernelArgumentHolder args;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i](*fusion);
      args.push(tensors[i]);
    }
    FusionExecutorCache executor(std::move(fusion));
    executor.runFusionWithInputs(args);
    for (const KernelExecutor* kernel : executor.executors()) {
      const bool found = kernel->compiledKernel()->loaded().resources().from_cache;
      std::printf("kernel %s\n", found ? "found" : "compiled");
    }
  };
  if (std::getenv("NVFUSER_TEST_TOGETHER") != nullptr) {
    run({sums, products}, {matrix, vector});
  } else {
    run({products}, {vector});
    run({sums}, {matrix});
  }
}

TEST_CASE("disk cache: a second process compiles nothing") {
  CacheFolder folder;
  const std::string& base = folder.base.path();
  const std::string compiler = base + "/c++", log = base + "/log", output = base + "/output";
  // A compiler that notes each of its runs but the question for its version.
  writeFile(compiler,
            text("#!/bin/sh\n[ \"$1\" = --version ] || echo run >> ", log, "\nexec ",
                 hostCompiler().command[0], " \"$@\"\n"),
            0700);
  struct Run {
    int compilers, found, compiled;
  };
  auto count = [](const std::string& all, std::string_view word) {
    int times = 0;
    for (size_t at = all.find(word); at != std::string::npos; at = all.find(word, at + 1)) {
      times++;
    }
    return times;
  };
  auto run = [&](const char* disabled, const char* child = "-tc=disk cache child: a fusion*",
                 bool together = false) {
    unlink(log.c_str());
    const int code = inChild([&] {
      setenv("NVFUSER_TEST_CHILD", "1", 1);
      setenv("NVFUSER_CACHE_DIR", folder.path.c_str(), 1);
      setenv("NVFUSER_DISABLE", disabled, 1);
      setenv("CXX", compiler.c_str(), 1);
      if (together) {
        setenv("NVFUSER_TEST_TOGETHER", "1", 1);
      }
      unsetenv("NVFUSER_CACHE_MB");
      const int to = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(to, 1);
      execl("/proc/self/exe", "nvfuser_test_unit", "-ns", child, nullptr);
      return 127;
    });
    CHECK_MESSAGE(code == 0, readFile(output));
    const std::string all = readFile(output);
    return Run{count(readFile(log), "run"), count(all, "kernel found"),
               count(all, "kernel compiled")};
  };
  const Run cold = run("");
  CHECK(cold.compilers >= 2);
  CHECK(cold.compiled == 2);  // one kernel on each device
  const Run warm = run("");
  CHECK(warm.compilers == 0);
  CHECK(warm.compiled == 0);
  CHECK(warm.found == cold.compiled + cold.found);
  const Run off = run("nvrtc_caching");
  CHECK(off.compilers >= cold.compilers);
  CHECK(off.found == 0);
  const char* two = "-tc=disk cache child: kernels*";
  CHECK(run("", two, true).compiled == 2);
  const Run cut_alike = run("", two, true);  // the cut is found as well
  CHECK(cut_alike.found == 2);
  CHECK(cut_alike.compilers == 0);
  const Run one_by_one = run("", two);
  CHECK(one_by_one.found == 2);
  CHECK(one_by_one.compilers == 0);
  writeFile(compiler, readFile(compiler) + "# newer\n");
  const Run newer = run("");
  CHECK(newer.compilers == cold.compilers);
}
