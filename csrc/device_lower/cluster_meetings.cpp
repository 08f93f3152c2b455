#include <device_lower/cluster_meetings.h>

#include <algorithm>
#include <vector>

namespace nvfuser {

void placeClusterMeetings(kir::Kernel& kernel) {
  std::vector<kir::ClusterReduce*> in_line;
  for (kir::Stmt& stmt : kernel.body) {
    if (auto* reduce = std::get_if<kir::ClusterReduce>(&stmt.node)) {
      in_line.push_back(reduce);
    }
  }
  size_t all = 0;
  kir::forEach(kernel.body, [&](const kir::Stmt& stmt) {
    all += std::holds_alternative<kir::ClusterReduce>(stmt.node) ? 1 : 0;
  });
  if (in_line.empty() || in_line.size() != all) {
    return;
  }
  for (kir::ClusterReduce* reduce : in_line) {
    reduce->before = kir::ClusterMeeting::Met;
  }
  in_line.front()->before = kir::ClusterMeeting::Arrived;
  kernel.body.insert(kernel.body.begin(),
                     {kir::Sync{kir::SyncKind::ClusterArrive, nullptr, "others may write here"}});
}

}  // namespace nvfuser
