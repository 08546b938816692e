// Ctrl-C as a counter a loop can look at. The handler only counts, so nothing is ever cut in the middle.
#pragma once

namespace lathe {

// While an object lives, SIGINT, SIGTERM and (POSIX) SIGHUP, or Ctrl-C, Ctrl-Break and closing the console
// (Windows), are counted instead of ending the process. One object at a time; the former handlers come back
// at its end.
class InterruptWatcher {
 public:
  InterruptWatcher();
  InterruptWatcher(const InterruptWatcher&) = delete;
  InterruptWatcher& operator=(const InterruptWatcher&) = delete;
  ~InterruptWatcher();

  int count() const;  // how often since construction: once means "finish", twice "stop now"
  bool interrupted() const { return count() > 0; }
};

}  // namespace lathe
