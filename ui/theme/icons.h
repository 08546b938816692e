// The window's icons: outlines on a 24 × 24 grid, drawn with the palette's colours at any size, so that one
// drawing serves light and dark and every scale.
#pragma once

#include <QIcon>
#include <QPainterPath>
#include <QString>
#include <QStringList>

namespace lathe::ui {

class Theme;

// Draws in `theme`'s colours of the moment; `theme` must outlive the icon.
QIcon make_icon(const Theme& theme, const QString& name);

// Names there are, for tests and the picture sheet.
QStringList icon_names();

// Reads an outline: M x y, L x y, H x, V y, C x1 y1 x2 y2 x y, Z as in SVG (absolute only), and O cx cy r for
// a circle, R x y w h r for a rounded rectangle. An unknown letter ends the path there.
QPainterPath icon_path(const QString& outline);

// The program's own icon: a lathe's headstock with a turned profile, in its own colours.
QIcon application_icon();

}  // namespace lathe::ui
