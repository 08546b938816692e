// For what is drawn or written once in the theme's colours: charts, documents, pictures.
#pragma once

#include <functional>

class QWidget;

namespace lathe::ui {

class Theme;

// Calls `dress` whenever the colours changed: at once while `widget` is in sight, else when it is next shown.
void follow_theme(const Theme& theme, QWidget* widget, std::function<void()> dress);

}  // namespace lathe::ui
