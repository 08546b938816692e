#include "ui/theme/icons.h"

#include <QIconEngine>
#include <QPainter>
#include <QPixmap>
#include <algorithm>
#include <array>
#include <iterator>

#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

struct Outline {
  const char* name;
  const char* stroke;
  const char* fill = "";
};

constexpr std::array kOutlines = std::to_array<Outline>({
    {"new",
     "M 4 6 H 10 M 14 6 H 20 M 4 12 H 6 M 10 12 H 20 M 4 18 H 13 M 17 18 H 20 O 12 6 2 O 8 12 2 O 15 18 2"},
    {"run", "M 3 4 V 20 H 21 M 6 7 C 9 16 12 16 20 17"},
    {"runs", "M 3 4 V 20 H 21 M 6 6 C 9 13 13 14 20 14 M 6 11 C 10 16 14 17 20 17.5"},
    {"data", "M 4 6 C 4 3 20 3 20 6 C 20 9 4 9 4 6 V 18 C 4 21 20 21 20 18 V 6 M 4 12 C 4 15 20 15 20 12"},
    {"system",
     "R 6 6 12 12 2 R 9.5 9.5 5 5 1 M 9 2.5 V 6 M 15 2.5 V 6 M 9 18 V 21.5 M 15 18 V 21.5 M 2.5 9 H 6 M 2.5 "
     "15 H 6 M 18 9 H 21.5 M 18 15 H 21.5"},
    {"help", "O 12 12 9 M 9 9.5 C 9 5.5 15 5.5 15 9.5 C 15 12 12 12 12 14.2", "O 12 17.2 1.1"},
    {"undo", "M 8 5 L 4 9 L 8 13 M 4 9 H 14 C 22 9 22 19 14 19 H 9"},
    {"redo", "M 16 5 L 20 9 L 16 13 M 20 9 H 10 C 2 9 2 19 10 19 H 15"},
    {"search", "O 10.5 10.5 6 M 15 15 L 20.5 20.5"},
    {"save", "M 5 4 H 16 L 20 8 V 20 H 4 V 5 L 5 4 Z M 8 4 V 9 H 15 V 4 M 8 20 V 14 H 16 V 20"},
    {"open", "M 3 19 V 5 H 9 L 11 7.5 H 19 V 11 M 3 19 L 6.5 11 H 22 L 18.5 19 Z"},
    {"folder", "M 3 19 V 5 H 9 L 11 7.5 H 21 V 19 Z"},
    {"import", "M 12 3 V 14 M 7.5 10 L 12 14.5 L 16.5 10 M 4 16 V 20 H 20 V 16"},
    {"export", "M 12 15 V 4 M 7.5 8 L 12 3.5 L 16.5 8 M 4 16 V 20 H 20 V 16"},
    {"copy", "R 8 8 12 12 2 M 16 5 V 4 H 4 V 16 H 5"},
    {"clone", "R 8 8 12 12 2 M 16 5 V 4 H 4 V 16 H 5 M 14 11 V 17 M 11 14 H 17"},
    {"play", "", "M 7 4.5 L 19.5 12 L 7 19.5 Z"},
    {"pause", "", "R 6.5 5 4 14 1 R 13.5 5 4 14 1"},
    {"stop", "", "R 6 6 12 12 1.5"},
    {"stop_save", "M 4 16 V 20 H 20 V 16", "R 7.5 4 9 9 1.5"},
    {"evaluate", "M 4 20 V 14 H 8 V 20 M 10 20 V 9 H 14 V 20 M 16 20 V 4 H 20 V 20 M 3 20 H 21"},
    {"sample", "M 4 5 H 20 M 4 10 H 20 M 4 15 H 13 M 17 14 V 21 M 15 14 H 19 M 15 21 H 19"},
    {"check", "M 5 12.5 L 10 17.5 L 19.5 7"},
    {"close", "M 6 6 L 18 18 M 18 6 L 6 18"},
    {"plus", "M 12 5 V 19 M 5 12 H 19"},
    {"minus", "M 5 12 H 19"},
    {"warning", "M 12 3.5 L 22 20.5 H 2 Z M 12 10 V 15", "O 12 17.7 1"},
    {"error", "O 12 12 9 M 12 7 V 13", "O 12 16.5 1.1"},
    {"info", "O 12 12 9 M 12 11 V 17", "O 12 7.5 1.1"},
    {"bell", "M 6 17 V 10.5 C 6 3 18 3 18 10.5 V 17 L 20 18.5 H 4 Z M 10 21 H 14 M 12 4.5 V 3"},
    {"refresh",
     "M 19.5 8 C 16 2.5 7 3 5 10 M 19.5 4 V 8.5 H 15 M 4.5 16 C 8 21.5 17 21 19 14 M 4.5 20 V 15.5 H 9"},
    {"tag", "M 3.5 4 H 12 L 21 13 L 13 21 L 3.5 12 Z", "O 8 8.3 1.4"},
    {"trash", "M 4 7 H 20 M 9 7 V 4 H 15 V 7 M 6 7 L 7 20.5 H 17 L 18 7 M 10 10.5 V 17 M 14 10.5 V 17"},
    {"archive", "R 3 4 18 5 1 M 5 9 V 20 H 19 V 9 M 10 13 H 14"},
    {"edit", "M 4 20 L 5 15.5 L 16 4.5 L 19.5 8 L 8.5 19 Z M 14 6.5 L 17.5 10"},
    {"pin", "M 9 3 H 15 L 14.5 10 L 18 14 H 6 L 9.5 10 Z M 12 14 V 21"},
    {"compare", "M 8 4 V 20 M 16 4 V 20 M 8 8 H 3 M 8 14 H 4 M 16 10 H 21 M 16 17 H 20"},
    {"columns", "R 3.5 4 17 16 1.5 M 9.5 4 V 20 M 15 4 V 20"},
    {"filter", "M 3 5 H 21 L 14 13 V 20 L 10 18 V 13 Z"},
    {"more", "", "O 5.5 12 1.6 O 12 12 1.6 O 18.5 12 1.6"},
    {"down", "M 6 9.5 L 12 15.5 L 18 9.5"},
    {"right", "M 9.5 6 L 15.5 12 L 9.5 18"},
    {"left", "M 14.5 6 L 8.5 12 L 14.5 18"},
    {"fit", "M 4 9 V 4 H 9 M 15 4 H 20 V 9 M 20 15 V 20 H 15 M 9 20 H 4 V 15"},
    {"follow", "M 3 17 L 9 11 L 12 14 L 20 6 M 14.5 6 H 20 V 11.5"},
    {"table", "R 3.5 5 17 14 1.5 M 3.5 10 H 20.5 M 3.5 14.5 H 20.5 M 10 5 V 19"},
    {"terminal", "R 3 4.5 18 15 2 M 7 9.5 L 10 12 L 7 14.5 M 12 15 H 17"},
    {"clock", "O 12 12 9 M 12 6.5 V 12 L 15.5 14.5"},
    {"resume", "M 5 5 V 19", "M 9 5 L 20 12 L 9 19 Z"},
});

const Outline* find_outline(const QString& name) {
  const auto found =
      std::ranges::find_if(kOutlines, [&](const Outline& o) { return name == QLatin1String(o.name); });
  return found == kOutlines.end() ? nullptr : &*found;
}

class OutlineEngine : public QIconEngine {
 public:
  OutlineEngine(const Theme& theme, const QString& name) : theme_(theme), name_(name) {
    const Outline* outline = find_outline(name);
    stroke_ = icon_path(QString::fromLatin1(outline ? outline->stroke : "R 5 5 14 14 1"));
    fill_ = icon_path(QString::fromLatin1(outline ? outline->fill : ""));
  }

  void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
    const Colors& colors = theme_.colors();
    QColor color = mode == QIcon::Selected ? colors.accent_text
                   : state == QIcon::On    ? colors.accent
                                           : colors.text;
    if (mode == QIcon::Disabled) {
      color = colors.muted;
      color.setAlphaF(0.5F);
    }
    const int side = std::min(rect.width(), rect.height());
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->translate(rect.x() + (rect.width() - side) / 2.0, rect.y() + (rect.height() - side) / 2.0);
    painter->scale(side / 24.0, side / 24.0);
    painter->setPen(QPen(color, 1.7, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter->setBrush(Qt::NoBrush);
    painter->drawPath(stroke_);
    painter->setPen(Qt::NoPen);
    painter->setBrush(color);
    painter->drawPath(fill_);
    painter->restore();
  }

  QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
    QPixmap pixmap(size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paint(&painter, QRect(QPoint(0, 0), size), mode, state);
    return pixmap;
  }

  QIconEngine* clone() const override { return new OutlineEngine(theme_, name_); }

 private:
  const Theme& theme_;
  QString name_;
  QPainterPath stroke_, fill_;
};

}  // namespace

QPainterPath icon_path(const QString& outline) {
  QPainterPath path;
  const QStringList words = outline.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  qsizetype at = 0;
  const auto number = [&] { return at < words.size() ? words[at++].toDouble() : 0.0; };
  while (at < words.size()) {
    const QString letter = words[at++];
    if (letter == QLatin1String("M") || letter == QLatin1String("L")) {
      const double x = number(), y = number();
      letter == QLatin1String("M") ? path.moveTo(x, y) : path.lineTo(x, y);
    } else if (letter == QLatin1String("H")) {
      path.lineTo(number(), path.currentPosition().y());
    } else if (letter == QLatin1String("V")) {
      path.lineTo(path.currentPosition().x(), number());
    } else if (letter == QLatin1String("C")) {
      const double x1 = number(), y1 = number(), x2 = number(), y2 = number(), x = number(), y = number();
      path.cubicTo(x1, y1, x2, y2, x, y);
    } else if (letter == QLatin1String("O")) {
      const double x = number(), y = number(), radius = number();
      path.addEllipse(QPointF(x, y), radius, radius);
    } else if (letter == QLatin1String("R")) {
      const double x = number(), y = number(), w = number(), h = number(), radius = number();
      path.addRoundedRect(x, y, w, h, radius, radius);
    } else if (letter == QLatin1String("Z")) {
      path.closeSubpath();
    } else {
      break;
    }
  }
  return path;
}

QIcon make_icon(const Theme& theme, const QString& name) {
  return QIcon(new OutlineEngine(theme, name));
}

QStringList icon_names() {
  QStringList names;
  std::ranges::transform(kOutlines, std::back_inserter(names),
                         [](const Outline& o) { return QString::fromLatin1(o.name); });
  return names;
}

QIcon application_icon() {
  QIcon icon;
  for (const int side : {16, 24, 32, 48, 64, 128, 256}) {
    QPixmap pixmap(side, side);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(side / 24.0, side / 24.0);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(0x14, 0x3A, 0x5E));
    painter.drawRoundedRect(QRectF(1, 1, 22, 22), 5, 5);
    // The falling loss curve is the turned profile, mirrored at the axis of rotation.
    painter.setBrush(QColor(0x6C, 0xB8, 0xFF));
    painter.drawPath(
        icon_path(QStringLiteral("M 4 5 C 8 10.2 13 10.6 20 10.8 L 20 13.2 C 13 13.4 8 13.8 4 19 Z")));
    painter.setPen(QPen(QColor(0xFF, 0xC1, 0x4D), 1.2, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(QPointF(4, 12), QPointF(20, 12));
    painter.end();
    icon.addPixmap(pixmap);
  }
  return icon;
}

}  // namespace lathe::ui
