// The two palettes. Texts reach 4.5:1 on window and surface (a test computes it).
#include "ui/theme/theme.h"

namespace lathe::ui {
namespace {

QColor rgb(unsigned value) {
  return QColor::fromRgb(0xFF000000U | value);
}

// Okabe and Ito's hues, then four more that stay apart from them by lightness.
constexpr std::array<unsigned, 10> kLightSeries = {0x0072B2, 0xD55E00, 0x009E73, 0xAA4499, 0x9C7400,
                                                   0x3A9BD9, 0x6B4FA0, 0x5B6570, 0x8C2D04, 0x117733};
constexpr std::array<unsigned, 10> kDarkSeries = {0x56B4E9, 0xE69F00, 0x1FC99A, 0xE38BC4, 0xF0E442,
                                                  0x7DA7FF, 0xC3A6FF, 0xB4BEC8, 0xFF9B73, 0x8BD17C};
// By Role: weight, master, gradient, optimizer state, activation, scratch, logits, batch, metric, KV cache,
// table. Persistent ones are blues and greens, those of the step oranges.
constexpr std::array<unsigned, kRoleCount> kLightRoles = {0x2166AC, 0x4393C3, 0x1B9E77, 0x74B78D,
                                                          0xE08214, 0xF2B46C, 0xB2478C, 0x8C8C8C,
                                                          0xA6A6A6, 0x7B5AA6, 0xBDBDBD};
constexpr std::array<unsigned, kRoleCount> kDarkRoles = {0x4A90D9, 0x79B8EA, 0x2FB58D, 0x8FD0A6,
                                                         0xF09A3E, 0xF7C58B, 0xD678B4, 0x9AA3AC,
                                                         0x838C95, 0xA68BD1, 0x6C757E};

template <std::size_t size>
std::array<QColor, size> colors_of(const std::array<unsigned, size>& values) {
  std::array<QColor, size> colors;
  for (std::size_t i = 0; i < size; ++i) colors[i] = rgb(values[i]);
  return colors;
}

}  // namespace

const Colors& light_colors() {
  static const Colors colors = [] {
    Colors c;
    c.window = rgb(0xF3F4F6);
    c.surface = rgb(0xFFFFFF);
    c.raised = rgb(0xEEF1F4);
    c.border = rgb(0xD6DBE1);
    c.text = rgb(0x1B2026);
    c.muted = rgb(0x5A6572);
    c.accent = rgb(0x0B62C4);
    c.accent_text = rgb(0xFFFFFF);
    c.good = rgb(0x1A7235);
    c.warning = rgb(0x8A5A00);
    c.bad = rgb(0xC0232C);
    c.series = colors_of(kLightSeries);
    c.role = colors_of(kLightRoles);
    c.overhead = rgb(0x6B7683);
    c.others = rgb(0xB9C1CA);
    c.free_memory = rgb(0xE9ECF0);
    return c;
  }();
  return colors;
}

const Colors& dark_colors() {
  static const Colors colors = [] {
    Colors c;
    c.window = rgb(0x16191D);
    c.surface = rgb(0x1E2227);
    c.raised = rgb(0x272C33);
    c.border = rgb(0x363D46);
    c.text = rgb(0xE5E9ED);
    c.muted = rgb(0x9BA6B2);
    c.accent = rgb(0x5AA4F5);
    c.accent_text = rgb(0x0B1622);
    c.good = rgb(0x4CC366);
    c.warning = rgb(0xE0A83A);
    c.bad = rgb(0xFF7B78);
    c.series = colors_of(kDarkSeries);
    c.role = colors_of(kDarkRoles);
    c.overhead = rgb(0x7C8793);
    c.others = rgb(0x525C67);
    c.free_memory = rgb(0x2A3037);
    return c;
  }();
  return colors;
}

}  // namespace lathe::ui
