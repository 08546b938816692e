// New: edit a configuration, see what it will need, launch it.
#pragma once

#include <QString>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ui/forms/config_document.h"
#include "ui/latest_job.h"
#include "ui/pages/new_storage.h"
#include "ui/pages/page.h"

class QComboBox;
class QLineEdit;
class QPushButton;
class QSplitter;
class QToolButton;

namespace lathe::ui {

class ConfigForm;
class DataJob;
class FactGrid;
class LaunchBar;
class NewAssessor;
class VerdictPanel;
struct DeviceChoice;

class NewPage : public Page {
  Q_OBJECT
 public:
  explicit NewPage(AppContext& context, QWidget* parent = nullptr);
  ~NewPage() override;

  void activated() override;
  void deactivated() override;  // keeps the draft
  void show_run(const QString& id) override;
  void show_dataset(const QString& folder) override;
  void focus_search() override;
  void ask_for_help() override;  // of the setting that has the keyboard

  ConfigDocument& document() { return document_; }
  NewAssessor& assessor() { return *assessor_; }
  ConfigForm& form() { return *form_; }
  LaunchBar& launch_bar() { return *launch_; }
  VerdictPanel& verdict() { return *verdict_; }
  QComboBox& devices() { return *devices_; }

  void load_preset_named(const QString& name);
  void load_file(const QString& path);
  void save_file(const QString& path);
  // Judges against a card that no table knows, by its memory alone.
  void plan_for_card(qint64 bytes);

  // Asks the disks, on a worker; a test answers in their place.
  std::function<Storage(const StorageQuestion&)> look_at = ask_storage;

 private:
  QWidget* make_header();
  void make_more_menu(QToolButton* button);
  void fill_devices();
  void follow_config_device();
  void choose_device(int index);
  void show_device(size_t choice);
  void ask_for_card();
  void look_at_storage();
  void refresh_header();
  void refresh_facts();
  void open_first();
  void keep_draft();
  void show_changes();
  void with_runs(const QString& title, std::function<void(const QString&)> use);
  void compare_with_run(const QString& id);
  void build_sample();
  void attempt(const std::function<void()>& action);  // an Error becomes an alert

  ConfigDocument document_;
  std::unique_ptr<NewAssessor> assessor_;
  std::vector<DeviceChoice> choices_;
  bool opened_ = false;
  bool chosen_ = false;  // the device, by a person
  Storage storage_;
  std::optional<StorageQuestion> looked_at_;
  ConfigForm* form_ = nullptr;
  FactGrid* facts_ = nullptr;
  VerdictPanel* verdict_ = nullptr;
  LaunchBar* launch_ = nullptr;
  QSplitter* splitter_ = nullptr;
  QComboBox* devices_ = nullptr;
  QLineEdit* search_ = nullptr;
  QPushButton *presets_ = nullptr, *changed_ = nullptr;
  DataJob* sample_ = nullptr;
  LatestJob runs_, disk_;
};

}  // namespace lathe::ui
