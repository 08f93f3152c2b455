#include <doctest/doctest.h>

#include <chrono>

#include <cache_folder.h>
#include <runtime/kernel_cache/disk_cache.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/process_cache.h>

using namespace nvfuser;
using namespace nvfuser::cache_test;

namespace {

/// Says when a file was last used, in seconds from an arbitrary start.
void setUsed(const std::string& path, int64_t seconds) {
  const timespec times[2] = {{0, UTIME_OMIT}, {1'700'000'000 + seconds, 0}};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

/// The only entry's path.
std::string onlyEntry(DiskCache& cache) {
  const auto entries = cache.list();
  REQUIRE(entries.size() == 1);
  return cache.folder() + "/" + entries[0].file;
}

}  // namespace

TEST_CASE("disk cache: what is stored is loaded, by this object and by another one") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  const std::string payload("\0binary\377", 8);
  CHECK_FALSE(cache.load("key").has_value());
  CHECK(filesIn(folder.base.path()).empty());  // a load makes no folder
  CHECK(cache.store("key", payload));
  CHECK(cache.store("empty", ""));
  CHECK(cache.load("key") == payload);
  CHECK(cache.load("empty") == "");
  CHECK_FALSE(cache.load("other").has_value());
  CHECK(folder.cache().load("key") == payload);
  CHECK(cache.store("key", "newer"));
  CHECK(cache.load("key") == "newer");
  CHECK(cache.list().size() == 2);
  CHECK(cache.size() == static_cast<int64_t>(2 * kEntryHeader + 3 + 5 + 5));
  CHECK(cache.counts().hits == 3);
  CHECK(cache.counts().misses == 2);
  CHECK(cache.counts().stores == 3);
  CHECK(cache.clear() == 2);
  CHECK_FALSE(cache.load("key").has_value());
  CHECK(folder.warnings.empty());
}

TEST_CASE("disk cache: folder and files belong to their owner alone, whatever the umask") {
  CacheFolder folder;
  folder.path += "/with/parents";
  const mode_t before = umask(0);
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));
  umask(before);
  struct stat info;
  REQUIRE(stat(folder.path.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0700);
  REQUIRE(stat(onlyEntry(cache).c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
}

TEST_CASE("disk cache: keys whose hashes collide do not get each other's payload") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  cache.shortenNames(1);  // 16 names for 200 keys
  for (int i = 0; i < 200; i++) {
    REQUIRE(cache.store(text("key ", i), text("payload ", i)));
    CHECK(cache.load(text("key ", i)) == text("payload ", i));
  }
  int found = 0;
  for (int i = 0; i < 200; i++) {
    if (auto payload = cache.load(text("key ", i))) {
      CHECK(*payload == text("payload ", i));
      found++;
    }
  }
  CHECK(found == 16);
  CHECK(cache.list().size() == 16);
}

TEST_CASE("disk cache: damaged files are misses, and storing mends them") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));
  const std::string path = onlyEntry(cache);
  const std::string whole = readFile(path);
  for (size_t size = 0; size < whole.size(); size++) {
    writeFile(path, whole.substr(0, size));
    CHECK_FALSE(cache.load("key").has_value());
  }
  for (size_t at = 0; at < whole.size(); at++) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    writeFile(path, damaged);
    CHECK_FALSE(cache.load("key").has_value());
  }
  REQUIRE(cache.store("key", "payload"));
  CHECK(cache.load("key") == "payload");
  CHECK(folder.warnings.empty());
}

TEST_CASE("disk cache: a folder that others may write to is not used") {
  for (mode_t mode : {0777, 0770, 0702, 01777}) {
    CacheFolder folder;
    DiskCache cache = folder.cache();
    REQUIRE(cache.store("key", "payload"));
    REQUIRE(chmod(folder.path.c_str(), mode) == 0);
    CHECK_FALSE(cache.load("key").has_value());
    CHECK_FALSE(cache.store("other", "payload"));
    CHECK(cache.list().empty());
    CHECK(cache.clear() == 0);
    REQUIRE(folder.warnings.size() == 1);
    CHECK(folder.warnings[0] ==
          text("disk cache: compiled kernels cannot be read from ", folder.path,
               ": other users may write to it; chmod 700 it, after a look at what is in it; "
               "without it every process compiles anew. NVFUSER_CACHE_DIR names another folder, "
               "NVFUSER_DISABLE=nvrtc_caching does without one"));
    REQUIRE(chmod(folder.path.c_str(), 0755) == 0);  // readable by others is harmless
    CHECK(cache.load("key") == "payload");
  }
}

TEST_CASE("disk cache: a folder of another user is not used") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));
  if (geteuid() == 0) {
    REQUIRE(chown(folder.path.c_str(), 12345, 12345) == 0);
  } else {
    folder.path = "/usr";  // root's
  }
  DiskCache foreign = folder.cache();
  CHECK_FALSE(foreign.load("key").has_value());
  CHECK_FALSE(foreign.store("key", "payload"));
  REQUIRE(folder.warnings.size() == 1);
  CHECK(folder.warnings[0].find("it belongs to user ") != std::string::npos);
  if (geteuid() == 0) {
    // Neither is one made below a folder of another user: root, with a user's HOME.
    folder.path += "/.cache/nvfuser";
    DiskCache below = folder.cache();
    CHECK_FALSE(below.store("key", "payload"));
    REQUIRE(folder.warnings.size() == 2);
    CHECK(folder.warnings[1].find("belongs to user 12345, not to 0 or root") != std::string::npos);
  }
}

TEST_CASE("disk cache: a link to a folder is not followed, however it is spelled") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));
  const std::string link = folder.base.path() + "/link";
  REQUIRE(symlink(folder.path.c_str(), link.c_str()) == 0);
  for (const char* tail : {"", "/", "//", "/.", "/./"}) {
    folder.warnings.clear();
    folder.path = link + tail;
    DiskCache linked = folder.cache();
    CHECK_FALSE(linked.load("key").has_value());
    CHECK_FALSE(linked.store("key", "payload"));
    REQUIRE(folder.warnings.size() == 1);
    CHECK(folder.warnings[0].find("it is a link, and a link is not followed") != std::string::npos);
  }
  // Parents may be links: many keep ~/.cache on another disk.
  REQUIRE(symlink(folder.base.path().c_str(), (folder.base.path() + "/disk").c_str()) == 0);
  folder.path = folder.base.path() + "/disk/cache";
  CHECK(folder.cache().load("key") == "payload");
}

TEST_CASE("disk cache: only plain files of one name and one owner are entries") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));
  const std::string path = onlyEntry(cache);
  const std::string whole = readFile(path);
  const std::string elsewhere = folder.base.path() + "/elsewhere";
  auto startsOver = [&] {
    unlink(path.c_str());
    writeFile(path, whole);
    REQUIRE(cache.load("key") == "payload");
  };

  REQUIRE(rename(path.c_str(), elsewhere.c_str()) == 0);
  REQUIRE(symlink(elsewhere.c_str(), path.c_str()) == 0);
  CHECK_FALSE(cache.load("key").has_value());
  CHECK(cache.store("key", "through a link"));  // replaces the link
  CHECK(readFile(elsewhere) == whole);

  startsOver();
  REQUIRE(link(path.c_str(), (elsewhere + "2").c_str()) == 0);
  CHECK_FALSE(cache.load("key").has_value());
  CHECK(cache.store("key", "payload"));
  CHECK(cache.load("key") == "payload");

  unlink(path.c_str());
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);  // must not wait for a writer
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(cache.load("key").has_value());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));

  startsOver();
  REQUIRE(chmod(path.c_str(), 0666) == 0);
  CHECK_FALSE(cache.load("key").has_value());

  startsOver();
  if (geteuid() == 0) {
    REQUIRE(chown(path.c_str(), 12345, 12345) == 0);
    CHECK_FALSE(cache.load("key").has_value());
  }

  unlink(path.c_str());
  REQUIRE(mkdir(path.c_str(), 0700) == 0);
  CHECK_FALSE(cache.load("key").has_value());
  CHECK_FALSE(cache.store("key", "payload"));
  CHECK(folder.warnings.size() == 1);
  CHECK(filesIn(folder.path).size() == 1);  // nothing unfinished is left
  rmdir(path.c_str());
}

TEST_CASE("disk cache: a folder that goes away is made again") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  for (int i = 0; i < 3; i++) {
    REQUIRE(cache.store("key", "payload"));
    CHECK(cache.load("key") == "payload");
    unlink(onlyEntry(cache).c_str());
    REQUIRE(rmdir(folder.path.c_str()) == 0);
    CHECK_FALSE(cache.load("key").has_value());
    CHECK(cache.list().empty());
  }
  writeFile(folder.path, "a file in the folder's place");
  CHECK_FALSE(cache.load("key").has_value());
  CHECK_FALSE(cache.store("key", "payload"));
  CHECK(folder.warnings.size() == 1);
}

TEST_CASE("disk cache: a folder that cannot be written to still gives what it has") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));
  // Root may write everywhere, so a child becomes someone else.
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0) {
    REQUIRE(chmod(folder.base.path().c_str(), 0755) == 0);
    REQUIRE(chown(folder.path.c_str(), kNobody, kNobody) == 0);
    REQUIRE(chown((folder.path + "/" + filesIn(folder.path)[0]).c_str(), kNobody, kNobody) == 0);
  }
  REQUIRE(chmod(folder.path.c_str(), 0500) == 0);
  const int outcome = inChild([&] {
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
      return 1;
    }
    if (cache.load("key") != "payload") {
      return 2;
    }
    if (cache.store("other", "payload") || cache.store("other", "payload")) {
      return 3;
    }
    if (cache.load("key") != "payload" || cache.load("other")) {
      return 4;
    }
    return folder.warnings.size() == 1 ? 0 : 5;
  });
  CHECK(outcome == 0);
  chmod(folder.path.c_str(), 0700);
}

TEST_CASE("disk cache: entries used longest ago go first, and the cap holds") {
  CacheFolder folder;
  constexpr int64_t kEntry = 1000, kCap = 16 * kEntry;
  DiskCache cache = folder.cache(kCap);
  auto key = [](int i) { return text("key ", 100 + i); };
  const std::string payload(static_cast<size_t>(kEntry) - kEntryHeader - key(0).size(), 'x');
  std::vector<std::string> files;
  for (int i = 0; i < 16; i++) {
    REQUIRE(cache.store(key(i), payload));
    for (const DiskCacheEntry& entry : cache.list()) {
      if (std::find(files.begin(), files.end(), entry.file) == files.end()) {
        files.push_back(entry.file);
      }
    }
  }
  REQUIRE(cache.size() == kCap);
  for (int i = 0; i < 16; i++) {
    setUsed(folder.path + "/" + files[static_cast<size_t>(i)], i);
  }
  CHECK(cache.list().front().file == files[0]);
  CHECK(cache.load(key(0)).has_value());  // used: now the newest
  CHECK(cache.list().back().file == files[0]);
  CHECK(cache.store(key(16), payload));  // makes room for an eighth of the cap: three go
  CHECK(cache.size() == 14 * kEntry);
  CHECK(cache.counts().evictions == 3);
  for (int i = 0; i <= 16; i++) {
    CHECK(cache.load(key(i)).has_value() == (i < 1 || i > 3));
  }
  for (int i = 17; i < 200; i++) {
    REQUIRE(cache.store(key(i), payload));
    CHECK(cache.size() <= kCap);
    CHECK(cache.load(key(i)).has_value());
  }
  CHECK_FALSE(cache.store("large", std::string(static_cast<size_t>(kCap), 'x')));
  CHECK(cache.list().size() > 10);  // and nothing went for it
  CHECK(cache.store("nearly", std::string(static_cast<size_t>(kCap) - 100, 'x')));
  CHECK(cache.list().size() == 1);
  CHECK(cache.load("nearly").has_value());
  CHECK(folder.warnings.empty());
}

TEST_CASE("disk cache: what other objects stored counts against the cap too") {
  CacheFolder folder;
  constexpr int64_t kCap = 64'000;
  DiskCache first = folder.cache(kCap), second = folder.cache(kCap);
  const std::string payload(900, 'x');
  for (int i = 0; i < 1000; i++) {  // 15 times the cap
    REQUIRE((i % 2 == 0 ? first : second).store(text("key ", i), payload));
    // Each looks again after a sixteenth of the cap.
    CHECK(first.size() <= kCap + 2 * (kCap / 16 + 1000));
  }
}

TEST_CASE("disk cache: files that are not its own stay, those of killed writers go") {
  CacheFolder folder;
  REQUIRE(folder.cache().store("key", "payload"));
  const std::vector<std::string> others = {"notes.txt", "x.kernel", ".kernel", "abc.kernel.old"};
  for (const std::string& name : others) {
    writeFile(folder.path + "/" + name, "mine");
  }
  writeFile(folder.path + "/.tmp-1-2-3", "half an ent");
  writeFile(folder.path + "/.tmp-1-2-4", "half an ent");
  setUsed(folder.path + "/.tmp-1-2-3", 0);
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));  // looks at the folder
  CHECK(access((folder.path + "/.tmp-1-2-3").c_str(), F_OK) != 0);
  CHECK(access((folder.path + "/.tmp-1-2-4").c_str(), F_OK) == 0);  // may be at work
  CHECK(cache.list().size() == 1);
  CHECK(cache.clear() == 1);
  std::vector<std::string> left = filesIn(folder.path);
  for (const std::string& name : others) {
    CHECK(access((folder.path + "/" + name).c_str(), F_OK) == 0);
  }
  CHECK(left.size() == 3);  // ".kernel" is not listed
}

TEST_CASE("disk cache: names of folders") {
  CHECK(cacheFolder("/named", "/xdg", "/home/u") == "/named");
  CHECK(cacheFolder("", "/xdg", "/home/u") == "/xdg/nvfuser");
  CHECK(cacheFolder("", "relative", "/home/u") == "/home/u/.cache/nvfuser");
  CHECK(cacheFolder("", nullptr, "/home/u") == "/home/u/.cache/nvfuser");
  CHECK(cacheFolder("", "", "/home/u") == "/home/u/.cache/nvfuser");
  char* here = getcwd(nullptr, 0);
  CHECK(cacheFolder("in/here", nullptr, nullptr) == text(here, "/in/here"));
  std::free(here);
  const std::string known = cacheFolder("", nullptr, nullptr);  // the home of the password file
  CHECK((known.empty() || (known[0] == '/' && known.ends_with("/.cache/nvfuser"))));
}

TEST_CASE("disk cache: odd names of folders") {
  CacheFolder base;
  for (const std::string& name :
       {std::string("with space"), std::string("a;b$(c)`d`"), std::string("new\nline"),
        std::string("\xff\xfe not UTF-8"), std::string(255, 'n')}) {
    CacheFolder folder;
    folder.path = base.base.path() + "/" + name + "/nvfuser";
    DiskCache cache = folder.cache();
    CHECK(cache.store("key", "payload"));
    CHECK(cache.load("key") == "payload");
  }
  CacheFolder folder;
  folder.path = base.base.path() + "/" + std::string(5000, 'n');
  DiskCache cache = folder.cache();
  CHECK_FALSE(cache.store("key", "payload"));
  CHECK_FALSE(cache.load("key").has_value());
  CHECK(folder.warnings.size() == 1);
}

TEST_CASE("disk cache: the tests' own process has none") { CHECK(processDiskCache() == nullptr); }

TEST_CASE("disk cache: this build has an identity, and so has a file") {
  CHECK(ownBuildId().size() == 40);  // the linker's SHA-1
  TemporaryDirectory folder;
  const std::string path = folder.path() + "/compiler";
  CHECK(fileIdentity(path) == "missing");
  CHECK(fileIdentity(folder.path()) == "missing");
  folder.write("compiler", "version 1");
  const std::string first = fileIdentity(path);
  CHECK(fileIdentity(path) == first);
  struct stat info;
  REQUIRE(stat(path.c_str(), &info) == 0);
  writeFile(path, "version 2");  // as long, and as old
  const timespec times[2] = {info.st_atim, info.st_mtim};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  CHECK(fileIdentity(path) != first);
}
