// Runs GoogleTest inside a QApplication, without a display unless one is asked for. Without one the only font
// is the shipped one, so that layouts and pictures are the same on every machine.
#include <gtest/gtest.h>

#include <QApplication>
#include <QFont>
#include <QLocale>

int main(int argc, char** argv) {
  const bool offscreen = qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
  if (offscreen) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qputenv("FONTCONFIG_FILE", LATHE_SOURCE_DIR "/tests/ui/fonts/fonts.conf");
  }
  QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
  QApplication application(argc, argv);
  if (offscreen) QApplication::setFont(QFont(QStringLiteral("DejaVu Sans"), 9));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
