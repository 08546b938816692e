// Text between core (UTF-8) and Qt (UTF-16), and numbers as people read them: one locale in the whole window
// (QLocale()), units always with the number. Exports use the C locale and don't come here.
#pragma once

#include <QString>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace lathe::ui {

QString to_qt(std::string_view utf8);
inline QString to_qt(const std::string& utf8) {
  return to_qt(std::string_view(utf8));
}
QString to_qt(const std::filesystem::path& path);
std::string to_std(const QString& text);
std::filesystem::path to_path(const QString& text);

QString count_text(int64_t count);                // "976,770,816"
QString short_count_text(double count);           // "977 M", "2.2 M", "20 B": powers of 1000, 3 digits
QString bytes_text(int64_t bytes);                // "15.2 GiB", "512 MiB": powers of 1024, 3 digits
QString number_text(double value, int decimals);  // "3.142"
QString real_text(double value);                  // shortest: "0.0003" as "3e-4"
QString duration_text(double seconds);            // "2 d 3 h", "1 h 05 min", "4 min 12 s", "7.3 s", "310 ms"
QString date_time_text(int64_t wall_ms);          // local, short, with seconds
QString percent_text(double fraction, int decimals = 0);  // 0.123 as "12%"

// One of the two: "1 update", "%1 updates" with the count.
QString counted_text(int64_t count, const QString& one, const QString& many);
QString sentence_text(const QString& text);  // "Saved at step 12." of "saved at step 12"

// What an empty place for a number shows.
QString no_value();

}  // namespace lathe::ui
