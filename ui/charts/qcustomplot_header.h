// QCustomPlot's header is written with Qt's lower-case keywords, which the window is built without: they are
// there for its sake only.
#pragma once

#define signals Q_SIGNALS
#define slots Q_SLOTS
#define emit
#define foreach(variable, container) for (variable : container)
#include <qcustomplot.h>
#undef signals
#undef slots
#undef emit
#undef foreach
