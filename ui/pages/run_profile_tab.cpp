#include "ui/pages/run_profile_tab.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProcess>
#include <QPushButton>
#include <QStackedWidget>
#include <QTimer>
#include <QVBoxLayout>

#include "ui/app_context.h"
#include "ui/launch.h"
#include "ui/pages/run_tab_parts.h"
#include "ui/text.h"
#include "ui/theme/theme.h"
#include "ui/theme/widgets.h"

namespace lathe::ui {
namespace {

constexpr int kLookMs = 2000;

// A bar as long as the time; its strong part is the floor.
class BarDelegate : public QStyledItemDelegate {
 public:
  BarDelegate(const Theme& theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);  // background and selection
    const auto& model = *static_cast<const ProfileModel*>(index.model());
    const ProfileRow& row = model.row(index.row());
    if (model.longest_ms() <= 0) return;
    const QRectF area = QRectF(option.rect).adjusted(8, 6, -8, -6);
    const auto bar = [&](double ms) {
      return QRectF(area.left(), area.top(), area.width() * std::min(1.0, ms / model.longest_ms()),
                    area.height());
    };
    QColor strong = theme_.colors().series[0], faint = strong;
    faint.setAlpha(90);
    painter->fillRect(bar(row.ms), row.floor_ms > 0 ? faint : strong);
    painter->fillRect(bar(std::min(row.ms, row.floor_ms)), strong);
  }

 private:
  const Theme& theme_;
};

QString sequence_text(SequenceId id) {
  switch (id) {
    case SequenceId::MicroFirst:
    case SequenceId::MicroRest:
      return RunProfileTab::tr("A micro-step");
    case SequenceId::Update:
      return RunProfileTab::tr("The update");
    default:
      return to_qt(sequence_name(id));
  }
}

}  // namespace

RunProfileTab::RunProfileTab(AppContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  model_ = new ProfileModel(this);
  view_ = make_table(tr("Profile"), this);
  view_->setModel(model_);
  view_->setItemDelegateForColumn(ProfileModel::Bar, new BarDelegate(context.theme, view_));
  view_->setColumnWidth(ProfileModel::Name, 220);
  for (const int column :
       {ProfileModel::Ops, ProfileModel::Time, ProfileModel::Floor, ProfileModel::Ratio, ProfileModel::Share})
    view_->setColumnWidth(column, 88);
  sequence_ = new QComboBox(this);
  sequence_->setAccessibleName(tr("Part of the step"));
  by_ = new QComboBox(this);
  by_->addItems({tr("By kind of op"), tr("By layer"), tr("By phase")});
  by_->setAccessibleName(tr("Summed by"));
  summary_ = make_muted({}, this);
  auto* again = make_button(tr("Measure again"), {}, this);
  auto* line = new QHBoxLayout;
  line->addWidget(sequence_);
  line->addWidget(by_);
  line->addWidget(summary_, 1);
  line->addWidget(again);
  auto* shown = new QWidget(this);
  auto* layout = new QVBoxLayout(shown);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(Theme::grid);
  layout->addLayout(line);
  layout->addWidget(view_, 1);
  empty_ = new EmptyState(context.theme, QStringLiteral("clock"), tr("Not measured yet"), {},
                          tr("Measure now"), this);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(empty_);
  stack_->addWidget(shown);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(stack_);
  looks_ = new QTimer(this);
  looks_->setInterval(kLookMs);
  connect(looks_, &QTimer::timeout, this, &RunProfileTab::look);
  connect(empty_, &EmptyState::triggered, this, &RunProfileTab::measure);
  connect(again, &QPushButton::clicked, this, &RunProfileTab::measure);
  for (QComboBox* box : {sequence_, by_})
    connect(box, &QComboBox::currentIndexChanged, this, &RunProfileTab::show_profile);
  connect(&context.theme, &Theme::changed, view_->viewport(), qOverload<>(&QWidget::update));
  show_empty();
}

RunProfileTab::~RunProfileTab() {
  if (measuring_ == nullptr) return;
  measuring_->disconnect(this);
  measuring_->kill();
  measuring_->waitForFinished(1000);
}

void RunProfileTab::set_run(const QString& id) {
  job_.cancel();
  id_ = id;
  folder_.clear();
  read_.reset();
  profile_ = {};
  show_empty();
}

void RunProfileTab::apply(const RunDelta& delta) {
  if (!delta.details) return;
  const bool first = folder_.empty();
  folder_ = delta.details->folder;
  imported_ = delta.details->settings.empty();
  if (!first) return;
  show_empty();
  look();
}

void RunProfileTab::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  looks_->start();
  look();
}

void RunProfileTab::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  looks_->stop();
}

void RunProfileTab::look() {
  if (folder_.empty() || job_.busy() || !isVisible()) return;
  using Found = std::pair<std::filesystem::file_time_type, Profile>;
  job_.run(
      [file = folder_ / kProfileFile, known = read_]() -> std::optional<Found> {
        std::error_code none;
        const auto written = std::filesystem::last_write_time(file, none);
        if (none || written == known) return std::nullopt;
        return Found{written, read_profile(file)};
      },
      [this](std::optional<Found> found) {
        if (!found) return;
        read_ = found->first;
        profile_ = std::move(found->second);
        const QSignalBlocker quiet(sequence_);
        sequence_->clear();
        for (const SequenceProfile& one : profile_.sequences) sequence_->addItem(sequence_text(one.sequence));
        show_profile();
      },
      [this](const Error& error) { show_empty(to_qt(std::string_view(error.what()))); });
}

void RunProfileTab::measure() {
  if (measuring_ != nullptr || id_.isEmpty()) return;
  auto* process = new QProcess(this);
  try {
    process->setProgram(lathe_program());
  } catch (const Error& error) {
    delete process;
    show_empty(to_qt(std::string_view(error.what())));
    return;
  }
  process->setArguments({QStringLiteral("--home"), to_qt(context_.home), QStringLiteral("profile"),
                         QStringLiteral("--run"), id_});
  process->setStandardOutputFile(QProcess::nullDevice());
  measuring_ = process;
  const auto ended = [this, process](const QString& trouble) {
    if (measuring_ != process) return;
    measuring_ = nullptr;
    process->deleteLater();
    if (trouble.isEmpty()) {
      show_empty();
      look();
    } else {
      read_.reset();
      show_empty(trouble);
    }
  };
  connect(process, &QProcess::errorOccurred, this,
          [process, ended](QProcess::ProcessError) { ended(process->errorString()); });
  connect(process, &QProcess::finished, this, [process, ended](int code, QProcess::ExitStatus) {
    ended(code == 0 ? QString() : QString::fromUtf8(process->readAllStandardError()).trimmed());
  });
  process->start();
  show_empty();
}

void RunProfileTab::show_empty(const QString& trouble) {
  const bool busy = measuring_ != nullptr;
  if (busy) {
    empty_->set_text(tr("Measuring…"), tr("A process of its own times every op of the run's settings."));
  } else if (!trouble.isEmpty()) {
    empty_->set_text(tr("Not measured"), trouble);
  } else if (imported_) {
    empty_->set_text(tr("Nothing to measure"), tr("This run was imported: its settings aren't known."));
  } else {
    empty_->set_text(tr("Not measured yet"),
                     tr("A profile shows the time of every op beside the floor the hardware sets. It needs a "
                        "device with room for the run. In a terminal: lathe profile --run %1")
                         .arg(id_));
  }
  empty_->button()->setVisible(!busy && !imported_);
  stack_->setCurrentIndex(!busy && trouble.isEmpty() && read_ ? 1 : 0);
}

void RunProfileTab::show_profile() {
  const int index = sequence_->currentIndex();
  if (index < 0 || index >= static_cast<int>(profile_.sequences.size())) {
    show_empty();
    return;
  }
  const SequenceProfile& sequence = profile_.sequences[static_cast<size_t>(index)];
  model_->set_profile(sequence, static_cast<ProfileBy>(by_->currentIndex()));
  const double floor = model_->floor_ms();
  QString text = tr("%1 as it trains; ops sum to %2, idle %3")
                     .arg(milliseconds_text(sequence.wall_ms), milliseconds_text(sequence.sum_ms),
                          percent_text(sequence.idle_share(), 1));
  if (floor > 0) text += tr("; floor %1").arg(milliseconds_text(floor));
  summary_->setText(text + QStringLiteral(". ") + to_qt(profile_.device));
  show_empty();
}

void RunProfileTab::show_by(ProfileBy by) {
  by_->setCurrentIndex(static_cast<int>(by));
}

QString RunProfileTab::summary() const {
  return summary_->text();
}

bool RunProfileTab::empty() const {
  return stack_->currentIndex() == 0;
}

}  // namespace lathe::ui
