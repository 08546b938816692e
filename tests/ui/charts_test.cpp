// Charts: what is drawn of many points, smoothing, linked ranges, pictures.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QImage>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <cmath>
#include <random>
#include <thread>

#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "ui/charts/chart.h"
#include "ui/charts/chart_export.h"
#include "ui/charts/chart_group.h"
#include "ui/charts/chart_legend.h"
#include "ui/charts/chart_table.h"
#include "ui/charts/run_colors.h"
#include "ui/charts/series_data.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

PointColumns noise(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(0, 1);
  PointColumns points;
  for (size_t i = 0; i < count; ++i) {
    points.x.push_back(static_cast<double>(i + 1));
    points.y.push_back(value(random));
  }
  return points;
}

TEST(SeriesData, Smoothing_IsDebiased) {
  SeriesData data;
  data.set_smoothing(0.9);
  data.assign({{1, 2, 3}, {5, kNan, 8}, {}, {}, {}});
  EXPECT_DOUBLE_EQ(data.smooth(0), 5);  // a plain average would begin at 0.5
  EXPECT_DOUBLE_EQ(data.smooth(1), 5);  // NaN doesn't enter
  EXPECT_NEAR(data.smooth(2), (0.9 * 0.1 * 5 + 0.1 * 8) / (1 - 0.81), 1e-12);
}

TEST(SeriesData, Append_SmoothsAsIfAssignedWhole) {
  const PointColumns all = noise(1000, 7);
  SeriesData whole, grown;
  whole.set_smoothing(0.99);
  grown.set_smoothing(0.99);
  whole.assign(all);
  for (size_t i = 0; i < all.size(); ++i) grown.append({{all.x[i]}, {all.y[i]}, {}, {}, {}});
  for (size_t i = 0; i < all.size(); ++i) ASSERT_DOUBLE_EQ(whole.smooth(i), grown.smooth(i)) << i;
  EXPECT_DOUBLE_EQ(whole.minimum(), grown.minimum());
  EXPECT_DOUBLE_EQ(whole.maximum(), grown.maximum());
}

// Every extreme and every NaN of a window survives, for windows that begin and end anywhere.
TEST(SeriesData, View_KeepsExtremesAndBadPoints) {
  PointColumns points = noise(100'000, 11);
  points.y[12'345] = 40;
  points.y[67'890] = -40;
  points.y[50'000] = kNan;
  points.y[50'001] = std::numeric_limits<double>::infinity();
  SeriesData data;
  data.assign(points);
  std::mt19937_64 random(13);
  SeriesView view;
  for (int round = 0; round < 50; ++round) {
    const double low = std::uniform_real_distribution<double>(1, 60'000)(random);
    const double high = low + std::uniform_real_distribution<double>(1'000, 40'000)(random);
    data.view(low, high, 300, view);
    double least = 1e9, most = -1e9;
    bool bad = false;
    for (size_t i = 0; i < points.size(); ++i) {
      if (points.x[i] < low || points.x[i] > high) continue;
      if (!std::isfinite(points.y[i])) {
        bad = true;
        continue;
      }
      least = std::min(least, points.y[i]);
      most = std::max(most, points.y[i]);
    }
    double shown_least = 1e9, shown_most = -1e9;
    for (const double y : view.raw.y) {
      if (!std::isfinite(y)) continue;
      shown_least = std::min(shown_least, y);
      shown_most = std::max(shown_most, y);
    }
    EXPECT_LE(shown_least, least);
    EXPECT_GE(shown_most, most);
    EXPECT_EQ(bad, !view.bad.empty()) << low << " to " << high;
    EXPECT_LE(view.raw.x.size(), 2u * 300u + 6u);
    EXPECT_TRUE(std::ranges::is_sorted(view.raw.x));
  }
}

// A dense curve is drawn once over, not back and forth in each column; and it ends at its last value.
TEST(SeriesData, View_OfANoisyCurve_IsOneStrokeAColumn) {
  const PointColumns points = noise(100'000, 17);
  SeriesData data;
  data.assign(points);
  SeriesView view;
  data.view(1, 100'000, 300, view);
  double strokes = 0, between = 0;
  for (size_t i = 1; i < view.raw.x.size(); ++i) {
    const double length = std::abs(view.raw.y[i] - view.raw.y[i - 1]);
    (view.raw.x[i] == view.raw.x[i - 1] ? strokes : between) += length;
  }
  EXPECT_LT(between, 0.25 * strokes);
  EXPECT_EQ(view.raw.x.back(), points.x.back());
  EXPECT_EQ(view.raw.y.back(), points.y.back());
}

TEST(SeriesData, View_OfAGap_BreaksTheLine) {
  SeriesData data;
  data.assign({{1, 2, 3, 4}, {1, kNan, kNan, 2}, {}, {}, {}});
  SeriesView view;
  data.view(1, 4, 100, view);
  ASSERT_EQ(view.raw.y.size(), 4u);
  EXPECT_TRUE(std::isnan(view.raw.y[1]));
  EXPECT_EQ(view.bad, (std::vector<double>{2, 3}));
  EXPECT_EQ(data.bad_count(), 2u);
}

TEST(SeriesData, Buckets_KeepTheirExtremes) {
  SeriesData data;
  data.assign({{64, 128}, {2, 3}, {1, kNan}, {9, kNan}, {0, 1}});
  EXPECT_DOUBLE_EQ(data.minimum(), 1);
  EXPECT_DOUBLE_EQ(data.maximum(), 9);
  EXPECT_EQ(data.bad_count(), 1u);
  data.append({{129}, {-5}, {}, {}, {}});  // a raw point behind them
  EXPECT_DOUBLE_EQ(data.minimum(), -5);
}

TEST(SeriesData, ClockSetBack_StaysInOrder) {
  SeriesData data;
  data.assign({{10, 20, 15, 30}, {1, 2, 3, 4}, {}, {}, {}});
  EXPECT_DOUBLE_EQ(data.x(2), 20);
  EXPECT_EQ(data.nearest(29), 3u);
  EXPECT_EQ(data.nearest(-5), 0u);
  EXPECT_EQ(SeriesData().nearest(1), std::nullopt);
}

TEST(Quantity, Text_ScalesAndNamesUnits) {
  EXPECT_EQ(quantity_text(8412, Quantity::Count, QStringLiteral("tokens/s")),
            QStringLiteral("8,412 tokens/s"));
  EXPECT_EQ(quantity_text(2.41234, Quantity::Plain), QStringLiteral("2.412"));
  EXPECT_EQ(quantity_text(kNan, Quantity::Plain), QStringLiteral("NaN"));
  EXPECT_TRUE(quantity_text(14.5 * 1073741824, Quantity::Bytes).endsWith(QStringLiteral("GiB")));
  EXPECT_EQ(quantity_of_unit(QStringLiteral("ms")), Quantity::Milliseconds);
}

ChartInfo info(const char* key) {
  ChartInfo one;
  one.key = QString::fromLatin1(key);
  one.title = one.key;
  one.log_allowed = true;
  return one;
}

TEST(FlowLayout, LowItems_StandInTheMiddleOfTheirLine) {
  QWidget owner;
  auto* layout = new FlowLayout(&owner, 8);
  QWidget high, low;
  high.setFixedSize(40, 30);
  low.setFixedSize(40, 10);
  layout->addWidget(&high);
  layout->addWidget(&low);
  layout->setGeometry(QRect(0, 0, 200, 30));
  EXPECT_EQ(low.geometry().center().y(), high.geometry().center().y());
}

TEST(FlowLayout, HiddenItems_TakeNoRoom) {
  QWidget line;
  auto* layout = new FlowLayout(&line, 8);
  std::vector<QPushButton*> buttons;
  for (int i = 0; i < 4; ++i) {
    buttons.push_back(new QPushButton(QStringLiteral("button"), &line));
    layout->addWidget(buttons.back());
  }
  line.resize(800, 40);
  line.show();
  for (int i = 0; i < 3; ++i) buttons[static_cast<size_t>(i)]->hide();
  layout->activate();
  EXPECT_EQ(buttons[3]->x(), 0);
}

TEST(ChartGroup, Zoom_ReachesEveryChart_AndFollowMovesOn) {
  Chart a(info("a")), b(info("b"));
  ChartGroup group;
  group.add(&a);
  group.add(&b);
  a.set_series(QStringLiteral("s"), {QStringLiteral("S"), Qt::red});
  b.set_series(QStringLiteral("s"), {QStringLiteral("S"), Qt::red});
  a.assign(QStringLiteral("s"), noise(1000, 1));
  b.assign(QStringLiteral("s"), noise(500, 2));
  QTest::qWait(10);
  EXPECT_EQ(b.x_range(), (Chart::Range{1, 1000}));
  Q_EMIT a.x_range_wanted(901, 1000);
  EXPECT_EQ(b.x_range(), (Chart::Range{901, 1000}));
  a.append(QStringLiteral("s"), {{1050}, {0.5}, {}, {}, {}});
  QTest::qWait(10);
  EXPECT_EQ(b.x_range(), (Chart::Range{951, 1050}));
  group.set_follow(false);
  a.append(QStringLiteral("s"), {{1100}, {0.5}, {}, {}, {}});
  QTest::qWait(10);
  EXPECT_EQ(b.x_range(), (Chart::Range{951, 1050}));
  Q_EMIT b.reset_wanted();
  EXPECT_EQ(a.x_range(), (Chart::Range{1, 1100}));
}

TEST(ChartGroup, LookingAtThePast_IsNotDraggedAlong) {
  Chart chart(info("a"));
  ChartGroup group;
  group.add(&chart);
  chart.set_series(QStringLiteral("s"), {QStringLiteral("S"), Qt::red});
  chart.assign(QStringLiteral("s"), noise(1000, 1));
  QTest::qWait(10);
  group.set_range(100, 200);
  chart.append(QStringLiteral("s"), {{1001}, {0.5}, {}, {}, {}});
  QTest::qWait(10);
  EXPECT_EQ(chart.x_range(), (Chart::Range{100, 200}));
}

TEST(ChartGroup, State_ComesBack) {
  Chart chart(info("a"));
  ChartGroup group;
  group.add(&chart);
  group.set_parts_together(true);
  chart.set_series(QStringLiteral("s"), {QStringLiteral("S"), Qt::red});
  chart.set_series(QStringLiteral("s/part"), {QStringLiteral("S"), Qt::red});
  group.set_smoothing(0.5);
  QTest::keyClick(&chart, Qt::Key_L);
  EXPECT_TRUE(chart.log_y());
  group.set_clip_outliers(true);
  group.set_follow(false);
  group.set_hidden(QStringLiteral("s"), true);
  EXPECT_TRUE(chart.is_hidden(QStringLiteral("s/part")));
  // The series come after the settings, as they do in the window; a chart that is chosen later, too.
  Chart other(info("a")), later(info("b"));
  ChartGroup restored;
  restored.set_parts_together(true);
  restored.add(&other);
  restored.restore(group.state());
  restored.add(&later);
  for (Chart* one : {&other, &later}) {
    one->set_series(QStringLiteral("s/part"), {QStringLiteral("S"), Qt::red});
    one->set_series(QStringLiteral("t"), {QStringLiteral("T"), Qt::red});
    EXPECT_TRUE(one->is_hidden(QStringLiteral("s/part")));
    EXPECT_FALSE(one->is_hidden(QStringLiteral("t")));
  }
  EXPECT_EQ(restored.state(), group.state());
  EXPECT_TRUE(other.log_y());
  EXPECT_FALSE(later.log_y());
}

TEST(Chart, YRange_ClipsOutliersOnlyWhenAsked) {
  Chart chart(info("a"));
  chart.resize(600, 300);
  chart.set_series(QStringLiteral("s"), {QStringLiteral("S"), Qt::red});
  PointColumns points = noise(5000, 3);
  points.y[10] = 1000;
  chart.assign(QStringLiteral("s"), points);
  chart.set_x_range(1, 5000);
  chart.paint_now();
  EXPECT_GE(chart.y_range().second, 1000);
  chart.set_clip_outliers(true);
  chart.paint_now();
  EXPECT_LT(chart.y_range().second, 10);
}

TEST(Chart, WithoutValues_HasNoTicks) {
  Chart chart(info("a"));
  chart.resize(600, 300);
  chart.set_series(QStringLiteral("s"), {QStringLiteral("S"), Qt::red});
  const auto labels = [&] {  // whether anything stands left of the y axis
    const QImage picture = chart.picture(QSize(600, 300), 1);
    int inked = 0;
    for (int y = 60; y < 260; ++y) {
      for (int x = 0; x < 56; ++x) inked += picture.pixel(x, y) != picture.pixel(0, 60);
    }
    return inked > 0;
  };
  EXPECT_FALSE(labels());
  chart.assign(QStringLiteral("s"), noise(50, 3));
  chart.set_x_range(1, 50);
  EXPECT_TRUE(labels());
}

TEST(Chart, Keys_ZoomPanAndReset) {
  Chart chart(info("a"));
  chart.set_x_range(0, 800);
  QSignalSpy wanted(&chart, &Chart::x_range_wanted), reset(&chart, &Chart::reset_wanted);
  QTest::keyClick(&chart, Qt::Key_Right);
  QTest::keyClick(&chart, Qt::Key_Plus);
  QTest::keyClick(&chart, Qt::Key_Home);
  ASSERT_EQ(wanted.size(), 2);
  EXPECT_EQ(wanted[0][0].toDouble(), 100);
  EXPECT_EQ(wanted[1][1].toDouble(), 700);
  EXPECT_EQ(reset.size(), 1);
  QTest::keyClick(&chart, Qt::Key_L);
  EXPECT_TRUE(chart.log_y());
}

TEST(Chart, Mouse_WheelZoomsAndDragTakesABox) {
  Chart chart(info("a"));
  chart.resize(600, 400);
  chart.show();
  chart.set_series(QStringLiteral("s"), {QStringLiteral("S"), Qt::red});
  chart.assign(QStringLiteral("s"), noise(1000, 3));
  chart.set_x_range(1, 1000);
  chart.paint_now();
  QSignalSpy wanted(&chart, &Chart::x_range_wanted);
  QWidget* plot = chart.findChild<QWidget*>(QString(), Qt::FindDirectChildrenOnly);
  for (QWidget* child : chart.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
    if (child->inherits("QCustomPlot")) plot = child;
  }
  ASSERT_TRUE(plot->inherits("QCustomPlot"));
  const QPoint from(150, 120), to(400, 125);
  QTest::mousePress(plot, Qt::LeftButton, {}, from);
  QTest::mouseMove(plot, to);
  QTest::mouseRelease(plot, Qt::LeftButton, {}, to);
  ASSERT_EQ(wanted.size(), 1);
  EXPECT_LT(wanted[0][0].toDouble(), wanted[0][1].toDouble());
  const QPointF at(300, 150);
  QWheelEvent wheel(at, plot->mapToGlobal(at), {}, QPoint(0, 120), Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(plot, &wheel);
  ASSERT_EQ(wanted.size(), 2);
  EXPECT_NEAR(wanted[1][1].toDouble() - wanted[1][0].toDouble(), 999 * 0.85, 1e-6);
}

TEST(Chart, Summary_SaysWhatTheCurvesShow) {
  Chart chart(info("loss"));
  EXPECT_TRUE(chart.summary().contains(QStringLiteral("No values")));
  chart.set_series(QStringLiteral("s"), {QStringLiteral("Run A"), Qt::red});
  chart.assign(QStringLiteral("s"), {{1, 2, 3}, {9, kNan, 2.5}, {}, {}, {}});
  const QString text = chart.summary();
  for (const char* part : {"Run A", "3 points", "last 2.5", "lowest 2.5", "highest 9", "NaN"}) {
    EXPECT_TRUE(text.contains(QString::fromLatin1(part))) << part << " in " << text.toStdString();
  }
}

TEST(SeriesTable, Model_IsSoundAndHoldsEveryPoint) {
  SeriesTableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  SeriesData data;
  data.set_smoothing(0.9);
  data.assign(noise(100, 5));
  model.set_series(info("loss"), {}, &data);
  EXPECT_EQ(model.rowCount(), 100);
  EXPECT_EQ(model.columnCount(), 3);
  model.set_series(info("loss"), {}, nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(RunColors, TicksComeAndGo_ColoursStay) {
  RunColors colors;
  const auto id = [](int i) { return QStringLiteral("run%1").arg(i); };
  colors.assign({id(1), id(2), id(3)});
  const int second = colors.slot(id(2));
  colors.assign({id(2)});
  colors.assign({id(4), id(2), id(1)});
  EXPECT_EQ(colors.slot(id(2)), second);
  QSet<int> slots_used;
  QStringList ten;
  for (int i = 1; i <= 10; ++i) ten << id(i);
  colors.assign(ten);
  for (const QString& run : ten) slots_used.insert(colors.slot(run));
  EXPECT_EQ(slots_used.size(), 10);
  RunColors restored;
  restored.restore(colors.state());
  for (const QString& run : ten) EXPECT_EQ(restored.slot(run), colors.slot(run));
}

class Export : public testing::Test {
 protected:
  void SetUp() override {
    chart.set_series(QStringLiteral("a"), {QStringLiteral("First"), Qt::blue, Qt::SolidLine, true});
    chart.set_series(QStringLiteral("b"), {QStringLiteral("Second"), Qt::red});
    chart.assign(QStringLiteral("a"), noise(200'000, 1));
    chart.assign(QStringLiteral("b"), noise(200'000, 2));
    chart.set_x_range(1, 200'000);
  }
  TemporaryFolder folder;
  Chart chart{info("loss")};
};

TEST_F(Export, Png_HasTheScaledSizeAndInk) {
  for (const int scale : {1, 2, 3, 4}) {
    const auto file = folder.path() / ("chart" + std::to_string(scale) + ".png");
    write_picture(paint_charts({&chart}, {PictureFormat::Png, {400, 200}, static_cast<double>(scale)}), file);
    const QImage image(QString::fromStdString(file.string()));
    ASSERT_EQ(image.size(), QSize(400, 200) * scale);
    int blue = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) blue += qBlue(image.pixel(x, y)) > qRed(image.pixel(x, y)) + 40;
    }
    EXPECT_GT(blue, 40 * scale);  // most of it lies behind the second curve
  }
}

TEST_F(Export, Png_AtAnyScale_ShowsTheWholeChart) {
  const auto means = [&](double scale) {
    const auto file = folder.path() / "chart.png";
    write_picture(paint_charts({&chart, &chart}, {PictureFormat::Png, {400, 200}, scale}), file);
    const QImage picture = QImage(to_qt(file)).convertToFormat(QImage::Format_RGB32);
    return picture.scaled(8, 8, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
  };
  const QImage plain = means(1);
  for (const double scale : {2.0, 3.0, 4.0}) {
    const QImage scaled = means(scale);
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x)
        EXPECT_NEAR(qGray(scaled.pixel(x, y)), qGray(plain.pixel(x, y)), 25)
            << scale << ": " << x << ' ' << y;
    }
  }
}

TEST_F(Export, SvgAndPdf_AreVectorsOfModestSize) {
  write_picture(paint_charts({&chart, &chart}, {PictureFormat::Svg, {400, 200}, 1}),
                folder.path() / "chart.svg");
  write_picture(paint_charts({&chart}, {PictureFormat::Pdf, {400, 200}, 1}), folder.path() / "chart.pdf");
  const std::string svg = read_file(folder.path() / "chart.svg");
  EXPECT_NE(svg.find("<svg"), std::string::npos);
  EXPECT_NE(svg.find("loss"), std::string::npos);
  EXPECT_LT(svg.size(), 2'000'000u);
  EXPECT_EQ(read_file(folder.path() / "chart.pdf").substr(0, 5), "%PDF-");
}

TEST_F(Export, WhatCannotBeMade_IsRefusedWithTheReason) {
  EXPECT_THROW(paint_charts({&chart}, {PictureFormat::Png, {400, 200}, 9}), Error);
  EXPECT_THROW(paint_charts({}, {}), Error);
  const PictureOptions huge{PictureFormat::Png, {4000, 4000}, 4};
  EXPECT_TRUE(picture_hindrance(1, huge).contains(QStringLiteral("256 million pixels")));
  EXPECT_THROW(paint_charts({&chart}, huge), Error);
  EXPECT_EQ(picture_hindrance(1, {PictureFormat::Svg, {4000, 4000}, 1}), QString());
  EXPECT_EQ(picture_hindrance(8, {PictureFormat::Png, {960, 480}, 4}), QString());
}

// The GUI thread only paints; a worker packs and writes what it painted.
TEST_F(Export, Written_OnAWorker_IsThePaintedPicture) {
  const Picture picture = paint_charts({&chart}, {PictureFormat::Png, {400, 200}, 2});
  std::thread([&] { write_picture(picture, folder.path() / "chart.png"); }).join();
  EXPECT_EQ(QImage(to_qt(folder.path() / "chart.png")).convertToFormat(QImage::Format_RGB32), picture.pixels);
}

}  // namespace
}  // namespace lathe::ui
