// Light or dark: the user's word, else the desktop's, else light; now and whenever one of them changes.
#pragma once

namespace lathe::ui {

class DesktopIntegration;
class Preferences;
class Theme;

void follow_appearance(const Preferences& preferences, const DesktopIntegration& desktop, Theme& theme);

}  // namespace lathe::ui
