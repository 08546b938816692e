#include "ui/theme/style.h"

#include <QAbstractScrollArea>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QFrame>
#include <QLabel>
#include <QListView>
#include <QScrollBar>
#include <QStyleFactory>
#include <algorithm>

#include "ui/theme/style_parts.h"

namespace lathe::ui {

LatheStyle::LatheStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void LatheStyle::polish(QWidget* widget) {
  QProxyStyle::polish(widget);
  // Its groove is what lies below.
  if (qobject_cast<QScrollBar*>(widget) != nullptr) widget->setAttribute(Qt::WA_OpaquePaintEvent, false);
}

void LatheStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                                    QPainter* painter, const QWidget* widget) const {
  switch (control) {
    case CC_ComboBox:
      if (const auto* combo = qstyleoption_cast<const QStyleOptionComboBox*>(option); combo && combo->frame)
        return draw_combo_box(*combo, *painter, widget);
      break;
    case CC_SpinBox:
      if (const auto* spin = qstyleoption_cast<const QStyleOptionSpinBox*>(option); spin && spin->frame)
        return draw_spin_box(*spin, *painter, widget);
      break;
    case CC_ToolButton:
      if (const auto* button = qstyleoption_cast<const QStyleOptionToolButton*>(option))
        return draw_tool_button(*button, *painter, widget);
      break;
    case CC_ScrollBar:
      if (const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option))
        return draw_scroll_bar(*bar, *painter);
      break;
    case CC_Slider:
      if (const auto* slider = qstyleoption_cast<const QStyleOptionSlider*>(option))
        return draw_slider(*slider, *painter, widget);
      break;
    default:
      break;
  }
  QProxyStyle::drawComplexControl(control, option, painter, widget);
}

void LatheStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                             const QWidget* widget) const {
  switch (element) {
    case CE_PushButton:
      if (const auto* button = qstyleoption_cast<const QStyleOptionButton*>(option))
        return draw_push_button(*button, *painter, widget);
      break;
    case CE_ProgressBar:
      if (const auto* bar = qstyleoption_cast<const QStyleOptionProgressBar*>(option))
        return draw_progress_bar(*bar, *painter);
      break;
    case CE_ShapedFrame:
      if (const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
          frame && frame->frameShape == QFrame::StyledPanel)
        return draw_frame(*frame, *painter, widget);
      break;
    case CE_Header:
      if (const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(option))
        return draw_header(*header, *painter);
      break;
    case CE_HeaderEmptyArea:
      return draw_header_ground(*option, *painter);
    case CE_TabBarTabShape:
      if (const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(option))
        return draw_tab(*tab, *painter);
      break;
    case CE_TabBarTabLabel:
      if (const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(option))
        return draw_tab_text(*tab, *painter);
      break;
    case CE_MenuItem:
      if (const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option))
        return draw_menu_item(*item, *painter);
      break;
    case CE_MenuEmptyArea:
      return;
    case CE_Splitter:
      if (has(*option, State_MouseOver)) painter->fillRect(option->rect, color(*option, QPalette::Mid));
      return;
    default:
      break;
  }
  QProxyStyle::drawControl(element, option, painter, widget);
}

void LatheStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                               const QWidget* widget) const {
  switch (element) {
    case PE_IndicatorCheckBox:
    case PE_IndicatorItemViewItemCheck:
      return draw_check_box(*option, *painter);
    case PE_PanelLineEdit:
      if (const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
          frame && frame->lineWidth > 0)
        return draw_field(*option, *painter, widget);
      // Inside a combo or spin box it stands on their field.
      if (widget == nullptr || (qobject_cast<QComboBox*>(widget->parentWidget()) == nullptr &&
                                qobject_cast<QAbstractSpinBox*>(widget->parentWidget()) == nullptr))
        painter->fillRect(option->rect, color(*option, QPalette::Base));
      return;
    case PE_Widget:  // of a widget with Qt::WA_StyledBackground
      return draw_card(*option, *painter);
    case PE_PanelMenu:
      return draw_menu(*option, *painter);
    case PE_PanelTipLabel:
      return draw_tip(*option, *painter);
    case PE_FrameTabBarBase:
      painter->fillRect(option->rect, color(*option, QPalette::Mid));
      return;
    case PE_FrameFocusRect:
      if (has(*option, State_KeyboardFocusChange))
        draw_box(*painter, option->rect, 3, {}, color(*option, QPalette::Highlight));
      return;
    case PE_FrameMenu:
    case PE_FrameTabWidget:
    case PE_PanelScrollAreaCorner:
      return;
    case PE_IndicatorArrowUp:
      return draw_chevron(*painter, option->rect, Qt::UpArrow, color(*option, QPalette::Text));
    case PE_IndicatorArrowDown:
      return draw_chevron(*painter, option->rect, Qt::DownArrow, color(*option, QPalette::Text));
    case PE_IndicatorArrowLeft:
      return draw_chevron(*painter, option->rect, Qt::LeftArrow, color(*option, QPalette::Text));
    case PE_IndicatorArrowRight:
      return draw_chevron(*painter, option->rect, Qt::RightArrow, color(*option, QPalette::Text));
    default:
      break;
  }
  QProxyStyle::drawPrimitive(element, option, painter, widget);
}

QSize LatheStyle::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                                   const QWidget* widget) const {
  switch (type) {
    case CT_PushButton:
      return size.expandedTo(QSize(0, kStyle.button_text_height)).grownBy(kStyle.button);
    case CT_ToolButton:
      return size.grownBy(kStyle.tool);
    case CT_LineEdit:
      if (const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
          frame && frame->lineWidth > 0)
        return size.grownBy(kStyle.field);
      return size;
    case CT_HeaderSection:
      if (const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(option)) {
        QSize result = header->fontMetrics.size(0, header->text).grownBy(kStyle.header);
        if (header->sortIndicator != QStyleOptionHeader::None) result.rwidth() += kStyle.chevron_room;
        return result;
      }
      break;
    case CT_MenuItem:
      if (const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option))
        return menu_item_size(*item, size);
      break;
    case CT_ProgressBar:
      return {size.width(), std::max(option->fontMetrics.height() + 2, kStyle.progress_height)};
    default:
      break;
  }
  QSize result = QProxyStyle::sizeFromContents(type, option, size, widget);
  if (type == CT_ComboBox) result.rwidth() += 2 * kStyle.combo_indent;
  if (type == CT_ComboBox || type == CT_SpinBox)
    result.setHeight(std::max(result.height(), kStyle.field_height));
  // Lists breathe; tables set their own row height.
  if (type == CT_ItemViewItem && qobject_cast<const QListView*>(widget) != nullptr)
    result.rheight() += kStyle.list_gap;
  return result;
}

QRect LatheStyle::subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                                 const QWidget* widget) const {
  if (control == CC_ScrollBar) {
    if (const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option))
      return scroll_bar_part(*bar, part);
  }
  QRect rect = QProxyStyle::subControlRect(control, option, part, widget);
  if (control == CC_ComboBox && part == SC_ComboBoxEditField) {
    option->direction == Qt::LeftToRight ? rect.setLeft(rect.left() + kStyle.combo_indent)
                                         : rect.setRight(rect.right() - kStyle.combo_indent);
  }
  return rect;
}

QRect LatheStyle::subElementRect(SubElement element, const QStyleOption* option,
                                 const QWidget* widget) const {
  switch (element) {
    case SE_LineEditContents:
      if (const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
          frame && frame->lineWidth > 0)
        return visualRect(option->direction, option->rect, option->rect.marginsRemoved(kStyle.field));
      break;
    case SE_ShapedFrameContents:
      if (const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
          frame && frame->frameShape == QFrame::StyledPanel) {
        if (qobject_cast<const QLabel*>(widget) != nullptr) return frame->rect.marginsRemoved(kStyle.tint);
        if (qobject_cast<const QAbstractScrollArea*>(widget) != nullptr && !widget->isWindow()) {
          constexpr int around = kStyle.area_frame;
          return frame->rect.marginsRemoved(QMargins(around, around, around, around));
        }
      }
      break;
    default:
      break;
  }
  return QProxyStyle::subElementRect(element, option, widget);
}

int LatheStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
  switch (metric) {
    case PM_ScrollBarExtent:
      return kStyle.scroll_bar;
    case PM_ScrollBarSliderMin:
      return kStyle.scroll_handle;
    case PM_TabBarTabHSpace:
      return kStyle.tab.left() + kStyle.tab.right();
    case PM_TabBarTabVSpace:
      return kStyle.tab.top() + kStyle.tab.bottom();
    case PM_TabBarBaseOverlap:
      return 1;
    case PM_TabBarTabOverlap:
    case PM_TabBarTabShiftVertical:
    case PM_TabBarTabShiftHorizontal:
    case PM_ButtonShiftHorizontal:
    case PM_ButtonShiftVertical:
      return 0;
    case PM_MenuPanelWidth:
      return 1;
    case PM_MenuHMargin:
    case PM_MenuVMargin:
    case PM_ToolTipLabelFrameWidth:
      return kStyle.menu_margin;
    case PM_FocusFrameHMargin:  // before an item's text
      if (qobject_cast<const QListView*>(widget) != nullptr) return kStyle.list_indent;
      break;
    default:
      break;
  }
  return QProxyStyle::pixelMetric(metric, option, widget);
}

int LatheStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                          QStyleHintReturn* result) const {
  // A list below the box, not a menu over it.
  if (hint == SH_ComboBox_Popup || hint == SH_DialogButtonBox_ButtonsHaveIcons) return 0;
  return QProxyStyle::styleHint(hint, option, widget, result);
}

}  // namespace lathe::ui
