// Fusion with flat combo boxes, spin boxes and check boxes in the palette's colours: what a style sheet can't
// draw without arrow pictures.
#pragma once

#include <QProxyStyle>

namespace lathe::ui {

class LatheStyle : public QProxyStyle {
  Q_OBJECT
 public:
  LatheStyle();

  void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                          const QWidget* widget) const override;
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
  QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                         const QWidget* widget) const override;
  int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                QStyleHintReturn* result) const override;
};

}  // namespace lathe::ui
