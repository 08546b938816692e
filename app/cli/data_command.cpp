// lathe data build | import | info | show | verify
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "app/cli/commands.h"
#include "app/cli/data_progress.h"
#include "core/data/dataset.h"
#include "core/data/dataset_builder.h"
#include "core/data/dataset_import.h"
#include "core/data/tokenizer.h"
#include "core/platform/files.h"

namespace lathe::cli {

namespace {

using nlohmann::json;

double megabytes(int64_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

json summary(const std::filesystem::path& folder) {
  const Dataset dataset(folder);
  json document = manifest_to_json(dataset.manifest());
  document["folder"] = to_utf8(folder);
  document["hash"] = dataset.hash();
  return document;
}

void print_summary(const std::filesystem::path& folder) {
  const Dataset dataset(folder);
  const DatasetManifest& manifest = dataset.manifest();
  fmt::print("{}\n", to_utf8(folder));
  fmt::print(
      "  vocabulary  {} ({} bytes a token), {}\n", manifest.vocab, manifest.bytes_per_token,
      manifest.tokenizer_hash.empty() ? "no tokenizer" : "tokenizer " + manifest.tokenizer_hash.substr(0, 8));
  fmt::print("  special     unk {}, bos {}, eos {}\n", manifest.unk, manifest.bos, manifest.eos);
  for (const Split split : {Split::Train, Split::Validation}) {
    fmt::print("  {:<11} {} tokens in {} documents{}\n", split_name(split), manifest[split].tokens,
               manifest[split].documents, manifest[split].has_mask ? ", with loss mask" : "");
  }
  if (manifest.text_bytes > 0) {
    const auto tokens = static_cast<double>(manifest.train.tokens + manifest.validation.tokens);
    fmt::print("  text        {:.1f} MB, {:.2f} bytes a token\n", megabytes(manifest.text_bytes),
               static_cast<double>(manifest.text_bytes) / tokens);
  }
  if (manifest.skipped_records > 0) fmt::print("  skipped     {} documents\n", manifest.skipped_records);
  fmt::print("  made        {} by {}, content {}\n", manifest.created, manifest.origin,
             dataset.hash().substr(0, 8));
  for (size_t i = 0; i < manifest.sources.size() && i < 10; ++i) {
    const SourceEntry& source = manifest.sources[i];
    fmt::print("  source      {}: {} documents, {} tokens\n", source.path, source.documents, source.tokens);
  }
  if (manifest.sources.size() > 10) fmt::print("  … and {} more sources\n", manifest.sources.size() - 10);
}

std::vector<std::filesystem::path> to_paths(const std::vector<std::string>& texts) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& text : texts) paths.push_back(from_utf8(text));
  return paths;
}

void register_build(CLI::App& data, Context& context) {
  struct Arguments {
    std::string target, tokenizer, field = "text", prompt_field, separator = "<|endoftext|>";
    std::vector<std::string> inputs;
    BuildOptions options;
    int64_t sample_mb = 64;
  };
  auto args = std::make_shared<Arguments>();
  CLI::App* build = data.add_subcommand("build", "Make a dataset from text files");
  build->add_option("out", args->target, "Folder to make")->required();
  build
      ->add_option(
          "-i,--input", args->inputs,
          "Files or folders: .txt .md .jsonl .json, each also .gz or .zst (may be given several times)")
      ->required();
  auto* tokenizer = build->add_option("--tokenizer", args->tokenizer, "SentencePiece model to use");
  build->add_option("--train-vocab", args->options.train_vocab, "Train a tokenizer with this many pieces")
      ->capture_default_str()
      ->excludes(tokenizer);
  build->add_option("--sample-mb", args->sample_mb, "Text the tokenizer is trained on, at most, in MiB")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{4096}));
  build->add_option("--field", args->field, "JSON field that holds the text")->capture_default_str();
  build->add_option("--prompt-field", args->prompt_field,
                    "JSON field with a text before it that doesn't count in the loss");
  build
      ->add_option("--split-documents", args->separator,
                   "Line that separates documents in .txt and .md files; \"\" for one document a file")
      ->capture_default_str();
  build
      ->add_option("--validation-fraction", args->options.validation_fraction,
                   "Share of the documents held out, chosen by their content")
      ->capture_default_str();
  build->add_flag("--skip-invalid", args->options.documents.skip_invalid,
                  "Leave out documents that can't be read instead of stopping");
  build->add_flag("--replace", args->options.replace, "Replace an existing dataset");
  build->add_option("--threads", args->options.threads, "Threads (0 = all cores)")
      ->check(CLI::Range(0, 1024));
  build->footer(
      "Example:\n  lathe data build austen --input resources/samples/austen.txt.zst --train-vocab 2048\n"
      "A file is one document unless a line separates them; a line of .jsonl is one document.");
  build->callback([args, &context] {
    BuildOptions& options = args->options;
    options.inputs = to_paths(args->inputs);
    if (!args->tokenizer.empty()) options.tokenizer = from_utf8(args->tokenizer);
    options.sample_bytes = args->sample_mb << 20;
    options.documents.field = args->field;
    options.documents.prompt_field = args->prompt_field;
    options.documents.separator = args->separator;
    const std::filesystem::path target = from_utf8(args->target);
    DataProgress progress(!context.json);
    const BuildResult result =
        build_dataset(target, options, [&](const BuildProgress& now) { return progress.show(now); });
    progress.clear();
    json document = summary(target);
    document["encode_seconds"] = result.encode_seconds;
    document["encode_mb_per_s"] = megabytes(result.manifest.text_bytes) / result.encode_seconds;
    document["word_cache"] = {
        {"used", result.cached}, {"hits", result.cache_hits}, {"misses", result.cache_misses}};
    print(context, document, [&] {
      print_summary(target);
      fmt::print("  encoded at  {:.1f} MB/s{}\n",
                 megabytes(result.manifest.text_bytes) / result.encode_seconds,
                 result.cached ? "" : " (this tokenizer can't be cached)");
    });
  });
}

void register_import(CLI::App& data, Context& context) {
  struct Arguments {
    std::string target, tokenizer;
    std::vector<std::string> files, validation;
    ImportOptions options;
    std::optional<int64_t> eos;
  };
  auto args = std::make_shared<Arguments>();
  CLI::App* import = data.add_subcommand("import", "Make a dataset from token files of other trainers");
  import->add_option("out", args->target, "Folder to make")->required();
  import->add_option("files", args->files, "Token files, in order")->required();
  const std::map<std::string, TokenFormat> formats = {
      {"nanogpt", TokenFormat::NanoGpt}, {"llmc", TokenFormat::LlmC}, {"llmq", TokenFormat::Llmq}};
  import
      ->add_option("--format", args->options.format,
                   "nanogpt (raw uint16), llmc or llmq (.bin with a header)")
      ->required()
      ->transform(CLI::CheckedTransformer(formats));
  import->add_option("--validation", args->validation, "Token files held out (then nothing else is)");
  import->add_option("--tokenizer", args->tokenizer, "SentencePiece model the tokens were made with");
  import->add_option("--vocab", args->options.vocab, "Size of the vocabulary, where the files don't say it")
      ->check(CLI::Range(int64_t{1}, int64_t{INT32_MAX}));
  import->add_option("--eos", args->eos, "Id between documents; -1: none (default: the format's)");
  import
      ->add_option("--validation-fraction", args->options.validation_fraction,
                   "Share of the documents held out")
      ->capture_default_str();
  import->add_flag("--replace", args->options.replace, "Replace an existing dataset");
  import->footer(
      "Examples:\n  lathe data import owt --format nanogpt train.bin --validation val.bin\n"
      "  lathe data import fineweb --format llmc fineweb_train_*.bin --validation fineweb_val_000000.bin");
  import->callback([args, &context] {
    ImportOptions& options = args->options;
  options.files = to_paths(args->files);
  options.validation_files = to_paths(args->validation);
  options.eos = args->eos;
  if (!args->tokenizer.empty()) options.tokenizer = from_utf8(args->tokenizer);
  const std::filesystem::path target = from_utf8(args->target);
  DataProgress progress(!context.json);
  import_tokens(target, options,
                [&](int64_t done, int64_t total) { return progress.show("importing", done, total); });
  progress.clear();
  print(context, summary(target), [&] { print_summary(target); });
});
}  // namespace

void register_info(CLI::App& data, Context& context) {
  auto folder = std::make_shared<std::string>();
  CLI::App* info = data.add_subcommand("info", "What a dataset holds");
  info->add_option("dataset", *folder, "Folder of the dataset")->required();
  info->footer("Example:\n  lathe data info austen");
  info->callback([folder, &context] {
    print(context, summary(from_utf8(*folder)), [&] { print_summary(from_utf8(*folder)); });
  });
}

void register_show(CLI::App& data, Context& context) {
  struct Arguments {
    std::string folder, split = "train";
    int64_t at = 0, count = 64;
  };
  auto args = std::make_shared<Arguments>();
  CLI::App* show = data.add_subcommand("show", "Tokens and text at a position");
  show->add_option("dataset", args->folder, "Folder of the dataset")->required();
  show->add_option("--at", args->at, "Position of the first token")->capture_default_str();
  show->add_option("--count", args->count, "How many tokens")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  show->add_option("--split", args->split, "train or validation")
      ->capture_default_str()
      ->check(CLI::IsMember({"train", "validation"}));
  show->footer("Example:\n  lathe data show austen --at 1000 --count 20");
  show->callback([args, &context] {
    const Dataset dataset(from_utf8(args->folder));
    const Split split = args->split == "train" ? Split::Train : Split::Validation;
    const int64_t tokens = dataset.tokens(split);
    if (args->at < 0 || args->at >= tokens) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("Position {} is outside the {} tokens of {}.", args->at, tokens, args->split),
                  "Give --at a smaller number.");
    }
    std::vector<int32_t> ids(static_cast<size_t>(std::min(args->count, tokens - args->at)));
    dataset.read(split, args->at, ids);
    std::vector<uint8_t> mask(ids.size());
    dataset.read_loss_mask(split, args->at, mask);
    std::optional<Tokenizer> tokenizer;
    if (const auto path = dataset.tokenizer_path()) tokenizer.emplace(*path);

    const int64_t document_number = dataset.document_at(split, args->at);
    json document = {{"split", args->split},
                     {"at", args->at},
                     {"document", document_number},
                     {"document_begin", dataset.document_begin(split, document_number)},
                     {"ids", ids}};
    if (dataset.has_loss_mask(split)) document["loss_mask"] = mask;
    std::string pieces;
    for (const int32_t id : ids) {
      pieces += tokenizer ? fmt::format("{}:{} ", id, tokenizer->piece(id)) : fmt::format("{} ", id);
    }
    if (tokenizer) document["text"] = tokenizer->decode(ids);
    print(context, document, [&] {
      fmt::print("{} tokens from {} on, in document {} (which begins at {})\n\n{}\n", ids.size(), args->at,
                 document_number, dataset.document_begin(split, document_number), pieces);
      if (tokenizer) fmt::print("\n{}\n", tokenizer->decode(ids));
    });
  });
}

void register_verify(CLI::App& data, Context& context) {
  auto folder = std::make_shared<std::string>();
  CLI::App* verify = data.add_subcommand("verify", "Read a whole dataset and check it against its manifest");
  verify->add_option("dataset", *folder, "Folder of the dataset")->required();
  verify->footer("Example:\n  lathe data verify austen");
  verify->callback([folder, &context] {
    DataProgress progress(!context.json);
    verify_dataset(from_utf8(*folder),
                   [&](int64_t done, int64_t total) { return progress.show("verifying", done, total); });
    progress.clear();
    print(context, {{"folder", *folder}, {"valid", true}},
          [&] { fmt::print("{}: everything matches.\n", *folder); });
  });
}

}  // namespace lathe::cli

void register_data_commands(CLI::App& app, Context& context) {
  CLI::App* data = app.add_subcommand("data", "Make, import, look at and check datasets");
  data->require_subcommand(1);
  data->fallthrough();
  register_build(*data, context);
  register_import(*data, context);
  register_info(*data, context);
  register_show(*data, context);
  register_verify(*data, context);
}

}  // namespace lathe::cli
