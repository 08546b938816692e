#include "ui/pages/new_page.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QInputDialog>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStandardItemModel>
#include <QVBoxLayout>
#include <algorithm>

#include "core/config/config_json.h"
#include "core/config/presets.h"
#include "core/history/history_store.h"
#include "ui/alerts.h"
#include "ui/app_context.h"
#include "ui/devices.h"
#include "ui/forms/assessment.h"
#include "ui/forms/config_form.h"
#include "ui/forms/diff_dialog.h"
#include "ui/navigator.h"
#include "ui/pages/data_job.h"
#include "ui/pages/new_assessor.h"
#include "ui/pages/new_facts.h"
#include "ui/pages/new_launch_bar.h"
#include "ui/pages/new_run_picker.h"
#include "ui/pages/new_verdict_panel.h"
#include "ui/preferences.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

constexpr int kAnotherCard = -1;  // in place of an index into choices_

// A line of the list that can't be chosen.
void add_device_heading(QComboBox& box, const QString& text) {
  box.addItem(text);
  auto* item = static_cast<QStandardItemModel*>(box.model())->item(box.count() - 1);
  item->setFlags(Qt::NoItemFlags);
}

}  // namespace

NewPage::NewPage(AppContext& context, QWidget* parent)
    : Page(context, Place::New, parent), assessor_(std::make_unique<NewAssessor>(context, document_)) {
  form_ = new ConfigForm(document_, context.theme);
  facts_ = new FactGrid(context.theme);
  verdict_ = new VerdictPanel(*assessor_, document_, context.theme);
  launch_ = new LaunchBar(context, document_, *assessor_);
  sample_ = new DataJob(this);

  auto* left = new QWidget;
  auto* left_column = new QVBoxLayout(left);
  left_column->setContentsMargins(0, 0, 0, 0);
  left_column->setSpacing(Theme::grid);
  auto* fact_card = new Card;
  fact_card->body()->addWidget(facts_);
  auto* head = new QVBoxLayout;
  head->setContentsMargins(0, 0, scroll_bar_width(), 0);
  head->addWidget(fact_card);
  left_column->addLayout(head);
  left_column->addWidget(form_, 1);
  left->setMinimumWidth(64 * Theme::grid);
  verdict_->setMinimumWidth(44 * Theme::grid);

  splitter_ = new QSplitter(Qt::Horizontal);
  splitter_->addWidget(left);
  splitter_->addWidget(verdict_);
  splitter_->setStretchFactor(0, 1);
  splitter_->setStretchFactor(1, 2);
  // The form is as wide as its editors need; the verdict takes what is left.
  splitter_->setSizes({64 * Theme::grid, 80 * Theme::grid});
  splitter_->setHandleWidth(Theme::grid);
  splitter_->setChildrenCollapsible(false);
  splitter_->restoreState(context.preferences.value(QStringLiteral("new/splitter")).toByteArray());

  auto* layout = new QVBoxLayout(this);
  // The scroll bar of the verdict's column stands in the page's margin.
  const int right = 2 * Theme::grid - scroll_bar_width();
  layout->setContentsMargins(2 * Theme::grid, Theme::grid, right, Theme::grid);
  layout->setSpacing(Theme::grid);
  QWidget* header = make_header();
  header->setContentsMargins(0, 0, scroll_bar_width(), 0);
  launch_->setContentsMargins(0, 0, scroll_bar_width(), 0);
  layout->addWidget(header);
  layout->addWidget(splitter_, 1);
  layout->addWidget(launch_);

  connect(verdict_, &VerdictPanel::setting_asked, this,
          [this](const QString& key) { form_->go_to(to_std(key)); });
  connect(launch_, &LaunchBar::setting_asked, this,
          [this](const QString& key) { form_->go_to(to_std(key)); });
  connect(launch_, &LaunchBar::sample_dataset_asked, this, &NewPage::build_sample);
  connect(form_, &ConfigForm::help_asked, &context.navigator, &Navigator::show_setting_help);
  connect(&document_, &ConfigDocument::changed, this, [this] {
    refresh_header();
    refresh_facts();
    look_at_storage();
  });
  connect(&document_, &ConfigDocument::loaded, this, &NewPage::follow_config_device);
  connect(assessor_.get(), &NewAssessor::started, this,
          [this] { form_->show_assessment(assessor_->assessment(), true); });
  connect(assessor_.get(), &NewAssessor::assessed, this, [this] {
    form_->show_assessment(assessor_->assessment(), false);
    refresh_facts();
  });
  connect(assessor_.get(), &NewAssessor::record_ready, this, &NewPage::refresh_facts);
  connect(&context.devices, &Devices::ready_changed, this, &NewPage::fill_devices);
  connect(sample_, &DataJob::finished, this, [this](const QString& folder) { show_dataset(folder); });
  connect(sample_, &DataJob::failed, this,
          [this](const Error& error) { this->context().alerts.add_error(error); });
  fill_devices();
  refresh_header();
}

NewPage::~NewPage() {
  keep_draft();
  context().preferences.set_value(QStringLiteral("new/splitter"), splitter_->saveState());
}

void NewPage::activated() {
  looked_at_.reset();
  look_at_storage();
}

// The disks are asked when the page comes into sight, and when what a run reads or keeps on them changes.
void NewPage::look_at_storage() {
  if (!isVisible() && !looked_at_) return;
  StorageQuestion question = storage_question(document_.config(), context().home);
  if (looked_at_ == question) return;
  looked_at_ = question;
  disk_.run([look = look_at, question = std::move(question)] { return look(question); },
            [this](Storage storage) {
              storage_ = std::move(storage);
              refresh_facts();
            });
}

void NewPage::ask_for_help() {
  const QString key = form_->focused_key();
  if (key.isEmpty()) {
    Page::ask_for_help();
  } else {
    Q_EMIT context().navigator.show_setting_help(key);
  }
}

void NewPage::deactivated() {
  keep_draft();
}

// The devices are known a moment after the window is there; what opens depends on whether one is a GPU.
void NewPage::fill_devices() {
  const QSignalBlocker blocker(devices_);
  choices_ = device_choices(context().registry, context().home);
  const qint64 other = context().preferences.value(QStringLiteral("new/other_card")).toLongLong();
  if (other > 0) choices_.push_back(other_card(other));
  devices_->clear();
  const auto first_elsewhere = std::ranges::find(choices_, false, &DeviceChoice::here);
  for (auto choice = choices_.begin(); choice != choices_.end(); ++choice) {
    if (choice == first_elsewhere && choice != choices_.begin()) {
      devices_->insertSeparator(devices_->count());
      add_device_heading(*devices_, tr("Not in this machine"));
    }
    devices_->addItem(choice->here ? context().theme.icon(QStringLiteral("check")) : QIcon(),
                      to_qt(choice->name), static_cast<int>(choice - choices_.begin()));
    devices_->setItemData(devices_->count() - 1,
                          choice->here ? tr("In this machine") : tr("Not in this machine: for planning"),
                          Qt::ToolTipRole);
  }
  devices_->addItem(tr("Another card…"), kAnotherCard);
  devices_->setItemData(devices_->count() - 1, tr("Plan for a card by its memory alone"), Qt::ToolTipRole);
  if (context().devices.ready() && !opened_) open_first();
  follow_config_device();
}

void NewPage::show_device(size_t choice) {
  const QSignalBlocker blocker(devices_);
  devices_->setCurrentIndex(devices_->findData(static_cast<int>(choice)));
}

void NewPage::open_first() {
  opened_ = true;
  const bool gpu =
      std::any_of(choices_.begin(), choices_.end(), [](const DeviceChoice& c) { return c.here && c.gpu(); });
  attempt([&] { load_preset_named(gpu ? QStringLiteral("977m") : QStringLiteral("tiny")); });
  document_.undo_stack().clear();
  const QString draft = context().preferences.value(QStringLiteral("new/draft")).toString();
  const QString base = context().preferences.value(QStringLiteral("new/draft_base")).toString();
  if (draft.isEmpty()) return;
  try {
    const RunConfig config = from_json_text(to_std(draft), {}, "the last draft");
    RunConfig base_config = document_.base();
    for (const PresetInfo& preset : list_presets()) {
      if (to_qt(preset.name) == base) base_config = load_preset(preset.name);
    }
    if (config == base_config) return;
    if (base_config != document_.base()) document_.load(base_config, base);
    document_.apply(config, tr("take up the last draft"));
  } catch (const Error& error) {
    // Written by another version, perhaps: the preset stands, and the text is there to be mended.
    context().alerts.add({Alert::Level::Warning,
                          tr("The draft of last time can't be taken up."),
                          to_qt(error.what_happened()),
                          {},
                          draft});
  }
}

void NewPage::keep_draft() {
  if (!opened_) return;
  Preferences& preferences = context().preferences;
  const bool changed = !document_.changes().empty();
  preferences.set_value(QStringLiteral("new/draft"),
                        changed ? to_qt(to_json(document_.config()).dump()) : QString());
  preferences.set_value(QStringLiteral("new/draft_base"), document_.base_name());
}

// run.device decides: cpu means the CPU, anything else a GPU, of this machine when there is one, else one of
// a size that people have.
void NewPage::follow_config_device() {
  if (choices_.empty()) return;
  const bool cpu = document_.config().run.device == Device::Cpu;
  const std::optional<DeviceChoice>& now = assessor_->device();
  const auto suits = [&](const DeviceChoice& choice) { return choice.gpu() != cpu; };
  const bool stays = now && (now->here || chosen_);
  auto found = stays ? std::ranges::find(choices_, now->name, &DeviceChoice::name) : choices_.end();
  constexpr int64_t usual_bytes = int64_t{16} << 30;
  const auto likely = [&](const DeviceChoice& choice) {
    return suits(choice) && (choice.here || choice.total_bytes >= usual_bytes);
  };
  if (found == choices_.end() || !suits(*found)) found = std::ranges::find_if(choices_, likely);
  if (found == choices_.end()) found = choices_.begin();
  show_device(static_cast<size_t>(found - choices_.begin()));
  assessor_->set_device(*found);
}

void NewPage::choose_device(int index) {
  const QVariant item = devices_->itemData(index);
  if (!item.isValid()) return;
  if (item.toInt() == kAnotherCard) return ask_for_card();
  const DeviceChoice& choice = choices_[static_cast<size_t>(item.toInt())];
  chosen_ = true;
  assessor_->set_device(choice);
  const bool cpu = document_.config().run.device == Device::Cpu;
  if (cpu == choice.gpu())
    document_.set_text("run.device", choice.gpu() ? QStringLiteral("auto") : QStringLiteral("cpu"));
}

void NewPage::ask_for_card() {
  follow_config_device();  // the picker shows what counts until there is an answer
  auto* dialog = new QInputDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Another card"));
  dialog->setLabelText(tr("Memory of the card in GiB. How fast it is stays unknown."));
  dialog->setInputMode(QInputDialog::IntInput);
  dialog->setIntRange(1, 1024);
  dialog->setIntValue(24);
  connect(dialog, &QInputDialog::intValueSelected, this,
          [this](int gib) { plan_for_card(qint64{gib} << 30); });
  dialog->open();
}

void NewPage::plan_for_card(qint64 bytes) {
  context().preferences.set_value(QStringLiteral("new/other_card"), bytes);
  fill_devices();
  choose_device(devices_->findData(static_cast<int>(choices_.size()) - 1));
  show_device(choices_.size() - 1);
}

void NewPage::refresh_facts() {
  if (!document_.can_estimate()) {
    facts_->set_stale(true);
    return;
  }
  facts_->set_stale(false);
  const RunConfig& config = document_.config();
  const Assessment* assessment = assessor_->assessment().get();
  const double predicted = assessment ? assessment->estimate.tokens_per_s : 0;
  facts_->set_facts(derived_facts(config, assessment, storage_.free_bytes,
                                  assessor_->record().measured_speed.value_or(predicted)));
  const bool known = assessment && assessment->config == config;
  launch_->set_warning(storage_warning(storage_, config, known ? assessment->estimate.checkpoint_bytes : 0));
}

// A preset is a model and how it is trained. Data and name are the user's, and stay where it states none; so
// do prompts, unless they came with what was loaded before.
void NewPage::load_preset_named(const QString& name) {
  const RunConfig preset = load_preset(to_std(name)), &now = document_.config();
  RunConfig config = preset;
  if (preset.data.sources.empty()) config.data.sources = now.data.sources;
  if (preset.data.validation.empty()) config.data.validation = now.data.validation;
  if (preset.run.name.empty()) config.run.name = now.run.name;
  if (preset.run.prompts.empty() && now.run.prompts != document_.base().run.prompts)
    config.run.prompts = now.run.prompts;
  document_.load(preset, name, config);
}

void NewPage::load_file(const QString& path) {
  const std::filesystem::path file = to_path(path);
  document_.load(load_config(file), to_qt(file.filename()));
}

void NewPage::save_file(const QString& path) {
  save_config(document_.config(), to_path(path));
}

void NewPage::show_run(const QString& id) {
  runs_.run([id = to_std(id), open = context().open_history] { return open()->details(id); },
            [this](const RunDetails& run) {
              attempt([&] {
                RunConfig config = from_json_text(run.settings_json, {}, "the history");
                config.run.name.clear();
                document_.load(config, to_qt(run.name));
              });
            },
            [this](const Error& error) { context().alerts.add_error(error); });
}

void NewPage::show_dataset(const QString& folder) {
  RunConfig config = document_.config();
  config.data.sources = {{to_std(folder), 1, 0}};
  document_.apply(config, tr("train on %1").arg(folder));
}

void NewPage::build_sample() {
  attempt([this] {
    sample_->build_sample(to_path(context().preferences.data_folder()), document_.config().model.vocab);
    context().alerts.add(
        {Alert::Level::Info, tr("Building the sample dataset; it takes a few seconds."), {}});
  });
}

void NewPage::show_changes() {
  auto* dialog = new DiffDialog(document_.base_name(), tr("now"), document_.changes(), this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &DiffDialog::chosen, this, [this, dialog](const QString& key) {
    dialog->accept();
    form_->go_to(to_std(key));
  });
  dialog->open();
}

void NewPage::with_runs(const QString& title, std::function<void(const QString&)> use) {
  runs_.run([open = context().open_history] { return open()->list(); },
            [this, title, use = std::move(use)](const std::vector<RunSummary>& runs) {
              auto* picker = new RunPicker(title, runs, this);
              picker->setAttribute(Qt::WA_DeleteOnClose);
              connect(picker, &RunPicker::picked, this, use);
              picker->open();
            },
            [this](const Error& error) { context().alerts.add_error(error); });
}

void NewPage::compare_with_run(const QString& id) {
  runs_.run([id = to_std(id), open = context().open_history] { return open()->details(id); },
            [this](const RunDetails& run) {
              attempt([&] {
                const RunConfig other = from_json_text(run.settings_json, {}, "the history");
                auto* dialog =
                    new DiffDialog(to_qt(run.name), tr("now"), diff(other, document_.config()), this);
                dialog->setAttribute(Qt::WA_DeleteOnClose);
                connect(dialog, &DiffDialog::chosen, this, [this, dialog](const QString& key) {
                  dialog->accept();
                  form_->go_to(to_std(key));
                });
                dialog->open();
              });
            },
            [this](const Error& error) { context().alerts.add_error(error); });
}

void NewPage::attempt(const std::function<void()>& action) {
  try {
    action();
  } catch (...) {
    context().alerts.add_error(as_error(std::current_exception()));
  }
}

}  // namespace lathe::ui
