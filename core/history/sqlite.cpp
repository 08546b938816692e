#include "core/history/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <utility>

#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "kernels/api/utf8.h"

namespace lathe {

Database::Database(std::filesystem::path file, Mode mode) : file_(std::move(file)) {
  std::error_code ignored;
  if (mode != Mode::Create && !std::filesystem::exists(file_, ignored)) {
    throw Error(ErrorCode::NotFound, fmt::format("{} doesn't exist.", to_utf8(file_)),
                "Check the home folder (--home or LATHE_HOME); a run's files may have been deleted by hand.");
  }
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (mode == Mode::Create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(to_utf8(file_).c_str(), &connection_, flags, nullptr);
  try {
    if (code != SQLITE_OK) fail(code, "opening");
    sqlite3_extended_result_codes(connection_, 1);
    sqlite3_busy_timeout(connection_, static_cast<int>(busy_timeout.count()));
    // A history may come from anywhere: its schema gets no say, and cells are checked before they are
    // trusted.
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    execute("PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;");
    if (mode == Mode::Read) execute("PRAGMA query_only = ON");
  } catch (...) {
    sqlite3_close(connection_);
    throw;
  }
}

Database::~Database() {
  cache_.clear();
  sqlite3_close_v2(connection_);
}

Statement Database::prepare(std::string_view sql) const {
  return Statement(*this, sql);
}

Statement& Database::cached(const std::string& sql) const {
  std::unique_ptr<Statement>& statement = cache_[sql];
  if (statement) {
    statement->reset();
  } else {
    statement = std::make_unique<Statement>(*this, sql);
  }
  return *statement;
}

void Database::execute(const char* sql) const {
  const int code = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, "working with");
}

int64_t Database::integer(std::string_view sql) const {
  Statement statement = prepare(sql);
  if (!statement.step()) throw Error(ErrorCode::Internal, fmt::format("No row came from: {}", sql));
  return statement.integer(0);
}

int64_t Database::last_row_id() const {
  return sqlite3_last_insert_rowid(connection_);
}

int64_t Database::changes() const {
  return sqlite3_changes(connection_);
}

int64_t Database::data_version() const {
  Statement& statement = cached("PRAGMA data_version");
  const int64_t version = statement.step() ? statement.integer(0) : 0;
  statement.reset();
  return version;
}

void Database::fail(int code, std::string_view doing) const {
  const std::string what =
      fmt::format("{} {} failed: {} (SQLite code {}).", doing, to_utf8(file_),
                  connection_ ? sqlite3_errmsg(connection_) : sqlite3_errstr(code), code);
  switch (code & 0xFF) {
    case SQLITE_FULL:
      throw Error(ErrorCode::DiskFull, what,
                  "Free some space on that disk, then go on; nothing committed before is lost.");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      throw Error(
          ErrorCode::CorruptFile, what,
          "The file is damaged or not Lathe's. Restore it from a backup, or move it away; checkpoints are "
          "separate files and not affected.");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(ErrorCode::Busy, what,
                  "Another program keeps this database locked; close it and try again.");
    case SQLITE_NOMEM:
      throw Error(ErrorCode::OutOfMemory, what, "Close other programs and try again.");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      throw Error(ErrorCode::Io, what, "The file and its folder must be readable and writable for you.");
    // SQL written for our schema that doesn't fit the file's: the file isn't what its version number says.
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
      throw Error(ErrorCode::CorruptFile, what,
                  "The tables in this file are not those Lathe makes. Restore it from a backup.");
    default:
      throw Error(ErrorCode::Io, what, "Check the disk and the file's permissions.");
  }
}

Statement::Statement(const Database& database, std::string_view sql) : database_(&database) {
  check(sqlite3_prepare_v2(database.connection_, sql.data(), static_cast<int>(sql.size()), &statement_,
                           nullptr),
        "reading");
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), statement_(std::exchange(other.statement_, nullptr)) {}

void Statement::check(int code, std::string_view doing) const {
  if (code != SQLITE_OK) database_->fail(code, doing);
}

Statement& Statement::bind(int index, int64_t value) {
  check(sqlite3_bind_int64(statement_, index, value), "binding for");
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL instead of an empty text.
  const char* data = text.data() ? text.data() : "";
  check(sqlite3_bind_text64(statement_, index, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8),
        "binding for");
  return *this;
}

Statement& Statement::bind(int index, std::optional<int64_t> value) {
  return value ? bind(index, *value) : bind_null(index);
}

Statement& Statement::bind_blob(int index, std::span<const std::byte> bytes) {
  check(sqlite3_bind_blob64(statement_, index,
                            bytes.data() ? bytes.data() : reinterpret_cast<const std::byte*>(""),
                            bytes.size(), SQLITE_TRANSIENT),
        "binding for");
  return *this;
}

Statement& Statement::bind_value(int index, std::optional<double> value) {
  if (!value) return bind_null(index);
  if (std::isnan(*value)) {
    check(sqlite3_bind_text(statement_, index, "nan", 3, SQLITE_STATIC), "binding for");
  } else {
    check(sqlite3_bind_double(statement_, index, *value), "binding for");
  }
  return *this;
}

Statement& Statement::bind_null(int index) {
  check(sqlite3_bind_null(statement_, index), "binding for");
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  // Read the message first: reset may replace it.
  try {
    database_->fail(code, sqlite3_stmt_readonly(statement_) ? "reading" : "writing");
  } catch (...) {
    sqlite3_reset(statement_);
    throw;
  }
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::optional<int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return data ? valid_utf8({data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))})
              : std::string{};
}

std::span<const std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  return {data, data ? static_cast<size_t>(sqlite3_column_bytes(statement_, column)) : 0};
}

std::optional<double> Statement::value(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_FLOAT:
    case SQLITE_INTEGER:
      return sqlite3_column_double(statement_, column);
    case SQLITE_NULL:
      return std::nullopt;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

Transaction::Transaction(const Database& database) : database_(database) {
  database.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Error&) {
    // SQLite has rolled back by itself after the error that brought us here.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace lathe
