// SQLite's C API with owners and errors: a connection, a statement, a transaction.
//
// How numbers are stored (run.db and history.db alike): a value that wasn't measured is NULL. SQLite turns a
// bound NaN into NULL, so NaN is stored as the text 'nan'; infinity is an ordinary REAL. bind_value and value
// keep that in one place.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

struct sqlite3;
struct sqlite3_stmt;

namespace lathe {

class Statement;

// One connection, for one thread. Every failure is a lathe::Error that names the file.
class Database {
 public:
  enum class Mode { Create, Write, Read };
  // How long a lock is waited for: enough for any commit of ours on a slow disk; nobody holds it while
  // thinking.
  static constexpr std::chrono::milliseconds busy_timeout{20'000};

  // Create makes the file where missing; Write and Read want it there (NotFound). Read refuses to change
  // anything, yet needs write access to the folder, as WAL readers share memory through a file.
  Database(std::filesystem::path file, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Statement prepare(std::string_view sql) const;
  // Prepares once per SQL text and hands out the same statement again, reset. For statements that run
  // thousands of times.
  Statement& cached(const std::string& sql) const;
  void execute(const char* sql) const;  // several statements, no results
  int64_t integer(
      std::string_view sql) const;  // first column of the first row; Internal error when there is none

  int64_t last_row_id() const;
  int64_t changes() const;       // rows changed by the last statement
  int64_t data_version() const;  // changes when another connection commits
  const std::filesystem::path& file() const { return file_; }

  // Throws the Error for an SQLite result code; `doing` as in "reading".
  [[noreturn]] void fail(int code, std::string_view doing) const;

 private:
  friend class Statement;

  std::filesystem::path file_;
  sqlite3* connection_ = nullptr;
  mutable std::unordered_map<std::string, std::unique_ptr<Statement>> cache_;
};

class Statement {
 public:
  Statement(const Database& database, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  // Parameters count from 1, columns from 0, as in SQLite.
  Statement& bind(int index, int64_t value);
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::optional<int64_t> value);
  Statement& bind_blob(int index, std::span<const std::byte> bytes);
  Statement& bind_value(int index, std::optional<double> value);
  Statement& bind_null(int index);

  bool step();   // true: a row; false: done
  void run();    // executes to the end, then resets for the next use
  void reset();  // lets its locks go, keeps its parameters

  bool is_null(int column) const;
  int64_t integer(int column) const;
  std::optional<int64_t> optional_integer(int column) const;
  std::string text(int column) const;                 // always valid UTF-8: broken bytes become U+FFFD
  std::span<const std::byte> blob(int column) const;  // until the next step
  std::optional<double> value(int column) const;

 private:
  void check(int code, std::string_view doing) const;

  const Database* database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Takes the write lock at once (no upgrade from reading, which could fail as busy); rolls back unless
// committed.
class Transaction {
 public:
  explicit Transaction(const Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database& database_;
  bool open_ = true;
};

}  // namespace lathe
