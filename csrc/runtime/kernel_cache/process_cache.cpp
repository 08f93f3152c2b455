#include <runtime/kernel_cache/process_cache.h>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include <pwd.h>
#include <runtime/kernel_cache/private_folder.h>
#include <runtime/kernel_cache/sha256.h>
#include <support/text.h>

namespace nvfuser {
namespace {

DiskCache* makeProcessCache() {
  const Options& options = Options::ofEnvironment();
  const int64_t cap_mb = options.number(Setting::CacheMb);
  if (options.isDisabled(DisableOption::NvrtcCaching) || cap_mb == 0 || getauxval(AT_SECURE) != 0) {
    return nullptr;
  }
  std::string folder = cacheFolder(options.text(Setting::CacheDir),
                                   systemVariable("XDG_CACHE_HOME"), systemVariable("HOME"));
  return folder.empty() ? nullptr : new DiskCache(std::move(folder), cap_mb * 1'000'000);
}

std::string homeOfUser() {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  const bool known =
      getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return known && found->pw_dir != nullptr ? found->pw_dir : "";
}

/// The linker's hash of the object that holds an address.
struct BuildIdSearch {
  uintptr_t inside;
  std::string id;
};

int visitObject(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<BuildIdSearch*>(data);
  bool ours = false;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& header = info->dlpi_phdr[i];
    ours = ours || (header.p_type == PT_LOAD &&
                    search->inside - (info->dlpi_addr + header.p_vaddr) < header.p_memsz);
  }
  if (!ours) {
    return 0;
  }
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) {
      continue;
    }
    const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
    const char* end = at + header.p_memsz;
    while (end - at >= static_cast<ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* name = at + sizeof note;
      const char* bytes = name + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0) {
        for (size_t b = 0; b < note.n_descsz; b++) {
          search->id += "0123456789abcdef"[static_cast<unsigned char>(bytes[b]) >> 4];
          search->id += "0123456789abcdef"[static_cast<unsigned char>(bytes[b]) & 15];
        }
        return 1;
      }
      at = bytes + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

}  // namespace

DiskCache* processDiskCache() {
  static DiskCache* const cache = makeProcessCache();  // never destroyed: threads may still compile
  return cache;
}

std::string cacheFolder(const std::string& named, const char* xdg_cache_home, const char* home) {
  if (!named.empty()) {
    if (named[0] == '/') {
      return named;
    }
    char* here = getcwd(nullptr, 0);  // the program may go elsewhere later
    std::string folder = here != nullptr ? text(here, "/", named) : "";
    std::free(here);
    return folder;
  }
  if (xdg_cache_home != nullptr && xdg_cache_home[0] == '/') {
    return text(xdg_cache_home, "/nvfuser");
  }
  const std::string base = home != nullptr && home[0] == '/' ? home : homeOfUser();
  return base.empty() || base[0] != '/' ? "" : text(base, "/.cache/nvfuser");
}

const std::string& ownBuildId() {
  static const std::string* const id = [] {
    BuildIdSearch search{reinterpret_cast<uintptr_t>(&ownBuildId), ""};
    dl_iterate_phdr(visitObject, &search);
    Dl_info self;
    if (search.id.empty() && dladdr(reinterpret_cast<void*>(&ownBuildId), &self) != 0) {
      search.id = text(self.dli_fname, " ", fileIdentity(self.dli_fname));  // linked without one
    }
    return new std::string(search.id);
  }();
  return *id;
}

std::string fileIdentity(const std::string& path) {
  const OwnedDescriptor file(openat(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return "missing";
  }
  char head[4096];
  const ssize_t count = pread(file.get(), head, sizeof head, 0);
  const std::string_view bytes(head, count > 0 ? static_cast<size_t>(count) : 0);
  return text(info.st_size, " bytes of ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ",
              hexOf(sha256({bytes})).substr(0, 16));
}

}  // namespace nvfuser
