// What the application hands to every page: one struct of references, so that nothing is a singleton and a
// test can put fakes in. Everything outlives the pages.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "kernels/api/backend.h"

namespace lathe {
class HistoryStore;
}

namespace lathe::ui {

class AlertList;
class DesktopIntegration;
class Devices;
class Navigator;
class OwnSession;
class Preferences;
class Theme;

struct AppContext {
  std::filesystem::path home;  // history.db, runs/, preferences
  Devices& devices;            // ui/devices.h: what this machine can train on; ready a moment after start
  const BackendRegistry& registry;  // devices.registry(): empty until then, the same object afterwards
  // Opens the history of `home`; cheap, and a store belongs to the thread that opened it. Throws Error.
  std::function<std::unique_ptr<HistoryStore>()> open_history;
  Preferences& preferences;     // ui/preferences.h
  Theme& theme;                 // ui/theme/theme.h: colours, spacing, icons, changed()
  Navigator& navigator;         // ui/navigator.h: go to a place, open or clone a run
  OwnSession& session;          // ui/own_session.h: the run that trains on a thread of this window
  AlertList& alerts;            // ui/alerts.h: what the user should know, in the window and on the desktop
  DesktopIntegration& desktop;  // ui/desktop/desktop_integration.h
};

}  // namespace lathe::ui
