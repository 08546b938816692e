#include "ui/navigator.h"

namespace lathe::ui {

Navigator::Navigator(QObject* parent) : QObject(parent) {}

}  // namespace lathe::ui
