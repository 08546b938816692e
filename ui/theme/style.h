// Draws the window flat and calm: rounded boxes, hairlines, the accent where the keyboard is. All colours
// come from the palette; what is not drawn here (texts, layouts) is Fusion's.
#pragma once

#include <QProxyStyle>

namespace lathe::ui {

class LatheStyle : public QProxyStyle {
  Q_OBJECT
 public:
  LatheStyle();

  void polish(QWidget* widget) override;
  using QProxyStyle::polish;
  void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                          const QWidget* widget) const override;
  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override;
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
  QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                         const QWidget* widget) const override;
  QRect subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                       const QWidget* widget) const override;
  QRect subElementRect(SubElement element, const QStyleOption* option, const QWidget* widget) const override;
  int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
  int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                QStyleHintReturn* result) const override;
};

}  // namespace lathe::ui
