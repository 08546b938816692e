// lathe: the command line of the workbench. Parses, dispatches, and turns errors into text and exit codes.
#include <exception>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/config_options.h"

int main(int argc, char** argv) {
  using namespace lathe;
  cli::Context context;
  CLI::App app{
      "Lathe: pretrain a Llama-style language model on one GPU, knowing memory and speed before launch."};
  app.name("lathe");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", "lathe " LATHE_VERSION);
  app.add_flag("--json", context.json, "Print machine-readable JSON");
  app.add_option("--home", context.home,
                 "Folder of history, runs and caches (default: the platform's data folder)")
      ->envname("LATHE_HOME");
  app.footer(
      "Exit codes: 0 done, 2 wrong usage or settings, 3 not found, 4 corrupt file, 5 I/O, 6 disk full,\n"
      "7 out of memory, 8 unsupported, 9 backend, 10 NaN or infinity, 11 busy, 12 stopped on request.");
  cli::register_settings_command(app, context);
  cli::register_data_commands(app, context);
  cli::register_runs_commands(app, context);
  cli::register_train_commands(app, context);
  cli::register_estimate_command(app, context);
  cli::register_profile_command(app, context);
  cli::register_plan_command(app, context);
  cli::register_bench_command(app, context);
  cli::register_doctor_command(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError& error) {
    app.exit(error);
    std::cerr << cli::flag_suggestions(app.remaining(true));
    return 2;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const Error& error) {
    return cli::report(context, error);
  } catch (const std::bad_alloc&) {
    return cli::report(context,
                       Error(ErrorCode::OutOfMemory, "The system has no memory left for this command."));
  } catch (const std::exception& error) {
    return cli::report(context,
                       Error(ErrorCode::Internal, error.what(), "This is a bug in Lathe; please report it."));
  }
  return context.exit_code;
}
