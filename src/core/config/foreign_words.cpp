#include "core/config/foreign_words.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <array>

namespace skyline {
namespace {

/// Returns the word of an entry that has these letters, as its tool spells it; empty if there is none.
std::string_view spelling_of(const std::string& letters, std::string_view words) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (letters_of(word) == letters) return word;
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return {};
}

constexpr WordPlace kSection{
    "a section", " objectives algorithm time_limit overhead refit accumulate normalization framework "};
constexpr WordPlace kAnywhere{"a section, an option",
                              " objectives algorithm time_limit overhead refit accumulate normalization "
                              "framework blocks --resume --resolved "};
constexpr WordPlace kFileOrRun{"the file, `run`", " objectives time_limit "};
constexpr WordPlace kTop{"the file, `run`, `search`, an option",
                         " objectives time_limit algorithm --resume --resolved "};
constexpr WordPlace kOption{"an option", " --resume --resolved "};
constexpr WordPlace kEpochs{"an option of `skyline train`", " --epochs "};
constexpr WordPlace kFinal{"`final`", " refit "};
constexpr WordPlace kSearch{"`search`", " algorithm "};
constexpr WordPlace kCommandName{"a command", " doctor "};
constexpr WordPlace kAlgorithm{"`search.algorithm`", " evolution_pareto "};
constexpr WordPlace kAccuracy{"a metric", " metric:validation_accuracy "};
constexpr WordPlace kLoss{"a metric", " metric:validation_loss "};
constexpr WordPlace kLatency{"a metric", " metric:latency_ms "};
constexpr WordPlace kParameters{"a metric", " metric:parameters "};
constexpr WordPlace kWeightBytes{"a metric", " metric:weight_bytes "};
constexpr WordPlace kActivationBytes{"a metric", " metric:peak_activation_bytes "};
constexpr WordPlace kObjective{"an objective", " maximize "};
constexpr WordPlace kBetter{"`better` of a metric", " better better: "};
constexpr WordPlace kSpace{"`space`", " blocks "};
constexpr WordPlace kParameter{"a parameter", " choice "};
constexpr WordPlace kLayer{"a layer", " conv2d "};
constexpr WordPlace kItem{"an item of a network", " merge body network "};
constexpr WordPlace kTraining{"`training`", " accumulate "};
constexpr WordPlace kOptimizer{"an optimizer", " learning_rate "};
constexpr WordPlace kPrecision{"`training`, `training.precision`", " precision training.precision: "};
constexpr WordPlace kDevice{"`training`, `command`, their `device`",
                            " device training.device: command.device: "};
constexpr WordPlace kAugment{"`training.augment`", " cutout "};
constexpr WordPlace kCommand{"`command`", " framework "};

constexpr std::array kTable{
    // The length of a search
    ForeignWords{"n_trials", kAnywhere, "Optuna", "`search.trials`",
                 "or `search.iterations` with `search.algorithm: evolution_pareto`"},
    ForeignWords{"num_samples", kAnywhere, "Ray Tune", "`search.trials`"},
    ForeignWords{"max_trials", kAnywhere, "Keras Tuner", "`search.trials`"},
    ForeignWords{"executions_per_trial", kAnywhere, "Keras Tuner", "`search.repeats`"},
    ForeignWords{"maxTrialNumber maxTrialNum", kAnywhere, "NNI", "`search.trials`"},
    ForeignWords{"num_iters n_iterations", kAnywhere, "Archai", "`search.iterations`",
                 "with `search.algorithm: evolution_pareto`"},
    ForeignWords{"init_num_models", kAnywhere, "Archai", "`search.initial`",
                 "with `search.algorithm: evolution_pareto`"},
    ForeignWords{"max_unseen_population", kAnywhere, "Archai", "`search.max_unseen`",
                 "with `search.algorithm: evolution_pareto`"},
    ForeignWords{"num_random_mix", kAnywhere, "Archai", "`search.random_mix`",
                 "with `search.algorithm: evolution_pareto`"},
    ForeignWords{"num_crossovers", kAnywhere, "Archai", "`search.crossovers`",
                 "with `search.algorithm: evolution_pareto`"},
    ForeignWords{"timeout", kTop, "Optuna", "`run.time_limit`", "and that of a trial `run.trial_timeout`"},
    ForeignWords{"timeout", kCommand, "", "the key is `run.trial_timeout`"},
    ForeignWords{"time_budget_s", kAnywhere, "Ray Tune", "`run.time_limit`"},
    ForeignWords{"maxExperimentDuration maxExecDuration", kAnywhere, "NNI", "`run.time_limit`"},
    ForeignWords{"maxTrialDuration", kAnywhere, "NNI", "`run.trial_timeout`"},
    ForeignWords{"max_failures", kTop, "Ray Tune", "`command.retries`",
                 "and the end of all `run.most_failures`"},

    // Algorithms
    ForeignWords{"asha ASHAScheduler AsyncHyperBandScheduler async_hyperband", kAlgorithm, "Ray Tune",
                 "`search.algorithm: mo_asha`"},
    ForeignWords{"hyperband HyperBandScheduler", kAlgorithm, "Ray Tune", "`search.algorithm: mo_asha`",
                 "with `brackets`"},
    ForeignWords{"bohb TuneBOHB", kAlgorithm, "Ray Tune", "`search.algorithm: skyline`", "with `budgets`"},
    ForeignWords{"SuccessiveHalvingPruner HyperbandPruner", kAlgorithm, "Optuna",
                 "`search.algorithm: mo_asha`", "Hyperband with `brackets`"},
    ForeignWords{"MedianPruner PercentilePruner", kAlgorithm, "Optuna", "`search.pruning`",
                 "beside any algorithm"},
    ForeignWords{"Medianstop Curvefitting", kAlgorithm, "NNI", "`search.pruning`", "beside any algorithm"},
    ForeignWords{"BanditPolicy MedianStopping TruncationSelection", kAlgorithm, "SweepJob",
                 "`search.pruning`", "beside any algorithm"},
    ForeignWords{"TPE TPESampler GPSampler CmaEsSampler BoTorchSampler", kAlgorithm, "Optuna",
                 "`search.algorithm: skyline`", "a model of the results"},
    ForeignWords{
        "bayesian BayesianOptimization bayes BayesOptSearch HyperOptSearch SMAC Metis GPTuner Anneal",
        kAlgorithm, "", "a model of the results is `search.algorithm: skyline` here"},
    ForeignWords{"GridSampler", kAlgorithm, "Optuna", "`search.algorithm: exhaustive`"},
    ForeignWords{"grid GridSearch", kAlgorithm, "", "a grid is `search.algorithm: exhaustive` here"},
    ForeignWords{"RandomSampler", kAlgorithm, "Optuna", "`search.algorithm: random`"},
    ForeignWords{"RandomSearch", kAlgorithm, "Archai", "`search.algorithm: random`"},
    ForeignWords{"NSGAIISampler NSGAIIISampler", kAlgorithm, "Optuna", "`search.algorithm: nsga2`"},
    ForeignWords{"NSGAII", kAlgorithm, "", "it is `search.algorithm: nsga2` here"},
    ForeignWords{"MoBananasSearch", kAlgorithm, "Archai", "`search.algorithm: mo_bananas`"},
    ForeignWords{"EvolutionParetoSearch", kAlgorithm, "Archai", "`search.algorithm: evolution_pareto`"},
    ForeignWords{"RegularizedEvolutionSearch", kAlgorithm, "Archai",
                 "`search.algorithm: regularized_evolution`"},
    ForeignWords{"SuccessiveHalvingSearch SuccessiveHalvingAlgo", kAlgorithm, "Archai",
                 "`search.algorithm: successive_halving`"},
    ForeignWords{"DARTS ENAS SPOS Petridish ProxylessNAS", kAlgorithm, "",
                 "there is no network that holds all others; a child begins with its parent's weights by "
                 "`training.inherit: true`"},
    ForeignWords{"tuner advisor", kTop, "NNI", "`search.algorithm`"},
    ForeignWords{"assessor", kTop, "NNI", "`search.pruning`"},
    ForeignWords{"sampler", kTop, "Optuna", "`search.algorithm`"},
    ForeignWords{"pruner", kTop, "Optuna", "`search.pruning`"},
    ForeignWords{"search_alg scheduler", kTop, "Ray Tune", "`search.algorithm`"},
    ForeignWords{"algorithm", kFileOrRun, "", "the key is `search.algorithm`"},
    ForeignWords{"points_to_evaluate enqueue_trial", kAnywhere, "",
                 "listed trials are `search.genotypes`, with `search.algorithm: listed`"},

    // Objectives and metrics
    ForeignWords{"direction directions", kTop, "Optuna", "`objectives: [{maximize: validation_accuracy}]`"},
    ForeignWords{"metric mode", kTop, "Ray Tune", "`objectives: [{maximize: validation_accuracy}]`"},
    ForeignWords{"optimize_mode", kTop, "NNI", "`objectives: [{maximize: validation_accuracy}]`"},
    ForeignWords{"search_objectives", kTop, "Archai", "`objectives`"},
    ForeignWords{"maximise minimise maximize minimize", kTop, "",
                 "they are `objectives: [{maximize: validation_accuracy}, {minimize: flops}]`"},
    ForeignWords{"direction directions goal mode metric name", kObjective, "",
                 "an objective is `objectives: [{maximize: validation_accuracy}]`"},
    ForeignWords{"val_acc val_accuracy", kAccuracy, "Archai", "`validation_accuracy`"},
    ForeignWords{"acc top1 eval_accuracy val_acc_top1", kAccuracy, "",
                 "accuracy on held-out samples is `validation_accuracy` here"},
    ForeignWords{"val_loss eval_loss", kLoss, "Keras", "`validation_loss`"},
    ForeignWords{"num_params n_params param_count TotalParameters", kParameters, "",
                 "it is `parameters` here"},
    ForeignWords{"onnx_latency AvgOnnxLatency inference_time", kLatency, "Archai", "`latency_ms`"},
    ForeignWords{"model_size", kWeightBytes, "", "it is `weight_bytes` here, or `parameters`"},
    ForeignWords{"peak_memory memory", kActivationBytes, "", "it is `peak_activation_bytes` here"},
    ForeignWords{"maximize max minimize min", kBetter, "",
                 "the words are `better: higher` and `better: lower`"},

    // Spaces
    ForeignWords{"searchSpaceFile searchSpacePath", kAnywhere, "NNI", "`space.file`"},
    ForeignWords{"search_space param_space", kAnywhere, "", "the space is `space.parameters`"},
    ForeignWords{"ArchParamTree DiscreteChoice", kSpace, "Archai", "`space.parameters`"},
    ForeignWords{"suggest_float suggest_loguniform suggest_uniform", kParameter, "Optuna",
                 "`range: [0.001, 0.1]`", "with `log: true` for even ratios"},
    ForeignWords{"suggest_int", kParameter, "Optuna", "`range: [1, 8]`"},
    ForeignWords{"suggest_categorical", kParameter, "Optuna", "`choice: [3, 5]`"},
    ForeignWords{"suggest_float suggest_int suggest_categorical", kAnywhere, "Optuna", "`space.parameters`",
                 "a `choice: [3, 5]` or a `range: [1, 8]` for each name"},
    ForeignWords{"_type _value randint uniform quniform", kParameter, "NNI",
                 "`range: [1, 8]` or `choice: [3, 5]`"},
    ForeignWords{"loguniform qloguniform", kParameter, "NNI", "`range: [0.001, 0.1]` with `log: true`"},
    ForeignWords{"values", kParameter, "SweepJob", "`choice: [3, 5]`"},
    ForeignWords{"min max low high min_value max_value", kParameter, "", "they are `range: [1, 8]` here"},
    ForeignWords{
        "upsample upsampling upsampling2d interpolate deconv deconv2d transposedconv transposedconv2d "
        "transposeconv transposeconv2d convtranspose convtranspose2d conv2dtranspose convtransposed2d "
        "pixelshuffle unet",
        kLayer, "",
        "a network has one input and one output, of classes, labels or numbers; there are no layers "
        "for segmentation"},
    ForeignWords{"inputs outputs", kItem, "", "a network has one input and one output"},

    // Trainers of users
    ForeignWords{"num_epochs n_epochs max_epochs num_train_epochs", kCommand, "",
                 "the key is `command.epochs`"},
    ForeignWords{"early_stopping patience", kCommand, "",
                 "a trainer of yours has it; trials that are far behind are ended by `search.pruning`"},
    ForeignWords{"gpus devices accelerator strategy", kCommand, "Lightning", "`command.device`",
                 "of which a rank has one; a trial has several processes by `command.processes`"},
    ForeignWords{"fsdp deepspeed zero_stage", kCommand, "",
                 "a trainer of yours has it, in the processes that `command.processes` gives a trial"},
    ForeignWords{
        "lr learning_rate momentum weight_decay batch_size minibatch train_batch_size "
        "per_device_train_batch_size lr_scheduler lr_scheduler_type warmup_steps warmup_ratio max_grad_norm "
        "gradient_clip_val clipnorm amp fp16 bf16 mixed_precision gradient_accumulation_steps "
        "accumulate_grad_batches validation_split val_split validation_size num_workers "
        "dataloader_num_workers pin_memory",
        kCommand, "",
        "a trainer of yours reads it: an argument of `command.run`, or one of `space.parameters`"},
    ForeignWords{"save_steps save_every_n_epochs checkpoint_freq", kCommand, "",
                 "a trainer of yours saves when it likes, in the folder of its trial"},

    // Training
    ForeignWords{"num_epochs n_epochs max_epochs num_train_epochs full_training_epochs", kEpochs, "",
                 "the option is `--epochs`"},
    ForeignWords{"num_epochs n_epochs max_epochs num_train_epochs", kFinal, "", "the key is `final.epochs`"},
    ForeignWords{"amp autocast half float16", kPrecision, "PyTorch", "`training.precision: bf16`",
                 "whose range is that of float32"},
    ForeignWords{"fp16", kPrecision, "Transformers", "`training.precision: bf16`"},
    ForeignWords{"bf16-mixed 16-mixed mixed_precision mixed", kPrecision, "Lightning",
                 "`training.precision: bf16`"},
    ForeignWords{"amp fp16 bf16 mixed_precision", kAnywhere, "", "it is `training.precision: bf16` here"},
    ForeignWords{"gradient_accumulation_steps", kAnywhere, "Transformers", "`training.accumulate`"},
    ForeignWords{"accumulate_grad_batches", kAnywhere, "Lightning", "`training.accumulate`"},
    ForeignWords{"early_stopping patience", kAnywhere, "Keras", "`training.full.patience`",
                 "and of trials of the search `search.algorithm: mo_asha`"},
    ForeignWords{"num_epochs n_epochs", kAnywhere, "", "it is `training.epochs`, or `command.epochs`"},
    ForeignWords{"max_epochs", kAnywhere, "Lightning", "`training.epochs`", "or `command.epochs`"},
    ForeignWords{"num_train_epochs", kAnywhere, "Transformers", "`training.epochs`", "or `command.epochs`"},
    ForeignWords{"partial_training_epochs", kAnywhere, "Archai", "`training.epochs`", "or `command.epochs`"},
    ForeignWords{"full_training_epochs", kAnywhere, "Archai", "`final.epochs`"},
    ForeignWords{"epochs", kTop, "", "it is `training.epochs`, or `command.epochs`"},
    ForeignWords{"lr", kOptimizer, "", "did you mean `learning_rate`?"},
    ForeignWords{"lr learning_rate momentum weight_decay", kAnywhere, "",
                 "the optimizer has it, as in `training: {optimizer: {adam: {learning_rate: 0.001}}}`"},
    ForeignWords{"batch_size", kAnywhere, "Keras", "`training.batch`"},
    ForeignWords{"minibatch train_batch_size per_device_train_batch_size", kAnywhere, "",
                 "it is `training.batch` here"},
    ForeignWords{"lr_scheduler lr_scheduler_type warmup_steps warmup_ratio", kAnywhere, "Transformers",
                 "`training.schedule`"},
    ForeignWords{"max_grad_norm gradient_clip_val clipnorm", kAnywhere, "",
                 "it is `training.optimizer.adam.clip_norm` here, or that of another optimizer"},
    ForeignWords{"validation_split val_split validation_size", kAnywhere, "Keras", "`data.validation`"},
    ForeignWords{"num_workers dataloader_num_workers pin_memory", kAnywhere, "",
                 "nothing of it is set: data sets are read from memory"},
    ForeignWords{"rotation rotate randomrotation", kAugment, "",
                 "images are not rotated; `crop` and `flip` move them"},

    // Ranks, slots and devices
    ForeignWords{"n_jobs", kAnywhere, "Optuna", "`--slots`",
                 "with the ranks of `mpirun -np 8 skyline search`"},
    ForeignWords{"trialConcurrency", kAnywhere, "NNI", "`--slots`",
                 "with the ranks of `mpirun -np 8 skyline search`"},
    ForeignWords{"max_concurrent_trials", kAnywhere, "Ray Tune", "`--slots`",
                 "with the ranks of `mpirun -np 8 skyline search`"},
    ForeignWords{"maxTrialNumberPerGpu", kAnywhere, "NNI", "`--slots`"},
    ForeignWords{"resources_per_trial", kAnywhere, "Ray Tune", "`training.threads` or `command.threads`",
                 "and a rank has one GPU"},
    ForeignWords{"trialGpuNumber", kAnywhere, "NNI", "`command.processes`", "since a rank has one GPU"},
    ForeignWords{"gpus devices accelerator strategy", kAnywhere, "Lightning", "`training.device`",
                 "of which a rank has one; several ranks train a trial by `training.group.members`"},
    ForeignWords{"gpu cuda:0", kDevice, "", "it is `device: cuda` here"},
    ForeignWords{"fsdp deepspeed zero_stage", kAnywhere, "Transformers", "`training.group.sharding`"},
    ForeignWords{"world_size nproc_per_node nnodes num_nodes node_rank rank ranks", kAnywhere, "",
                 "ranks are started by `mpirun -np 8 skyline search`"},
    ForeignWords{"process_count_per_node node_count instance_count", kAnywhere, "",
                 "ranks are started by `mpirun -np 8 skyline search`, on Azure ML by aml/submit.py"},

    // Files
    ForeignWords{"storage study_name", kAnywhere, "Optuna", "`--run`", "in Python the argument folder"},
    ForeignWords{"checkpoint_dir log_dir logdir output_dir save_dir default_root_dir local_dir storage_path",
                 kAnywhere, "", "all files of a run are in the folder of `--run`"},
    ForeignWords{"experimentName experimentWorkingDirectory", kAnywhere, "NNI", "`--run`"},
    ForeignWords{"name folder", kFileOrRun, "", "the run folder is `--run`"},
    ForeignWords{"resume resume_from_checkpoint", kSection, "", "a run is resumed by `--resume`"},
    ForeignWords{"save_steps save_every_n_epochs checkpoint_freq", kAnywhere, "",
                 "it is `checkpoint.interval` here"},
    ForeignWords{"save_pareto_model_weights save_top_k", kAnywhere, "", "it is `run.keep_weights` here"},
    ForeignWords{"trialCommand", kAnywhere, "NNI", "`command.run`"},
    ForeignWords{"config", kOption, "",
                 "the configuration is an argument without a name, as in `skyline search photos.yaml`"},

    // Keys of other sections
    ForeignWords{"seed random_seed random_state manual_seed", kTop, "", "the key is `run.seed`"},
    ForeignWords{"seed random_seed random_state manual_seed", kTraining, "", "the key is `run.seed`"},
    ForeignWords{"trials iterations budgets known repeats", kFileOrRun, "", "a key of `search`"},
    ForeignWords{"trials iterations algorithm budgets", kOption, "", "a key of `search`, for `--set`"},
    ForeignWords{"batch precision optimizer loss schedule augment inherit latency device", kTop, "",
                 "a key of `training`"},
    ForeignWords{"window commit dispatch time_limit trial_timeout keep_weights", kTop, "", "a key of `run`"},
    ForeignWords{"parameters network where", kTop, "", "a key of `space`"},
    ForeignWords{"objectives constraints", kSearch, "",
                 "sections of their own are `objectives` and `constraints`"},

    // Commands
    ForeignWords{"tune optimize hpo run start create nnictl fit", kCommandName, "",
                 "a search is started by `skyline search`"},
    ForeignWords{"dashboard ui view", kCommandName, "",
                 "a run is shown by `skyline report` and `skyline status`"},
    ForeignWords{"test eval", kCommandName, "", "a model is tested by `skyline evaluate`"},
    ForeignWords{"infer inference", kCommandName, "", "a model is asked by `skyline predict`"},
    ForeignWords{"convert", kCommandName, "", "models are written by `skyline export`"}};

}  // namespace

bool has_word(std::string_view words, std::string_view word) {
  return !word.empty() && words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

std::string letters_of(std::string_view word) {
  std::string letters = lower_case(word);
  std::erase_if(letters, [](char letter) { return letter == '_' || letter == '-'; });
  return letters;
}

std::string answer_to(std::string_view word, const ForeignWords& entry) {
  const std::string addition = entry.addition.empty() ? "" : ", " + std::string(entry.addition);
  if (entry.tool.empty()) return std::string(entry.answer) + addition;
  return std::string(entry.tool) + (entry.tool.ends_with('s') ? "' " : "'s ") + std::string(word) + " is " +
         std::string(entry.answer) + " here" + addition;
}

std::string foreign_answer(std::string_view word, const std::vector<std::string>& known,
                           std::string_view kind) {
  const std::string letters = letters_of(word);
  // A name of the same letters is the nearest word.
  if (letters.empty() || std::ranges::find(known, letters, letters_of) != known.end()) return {};
  for (const ForeignWords& entry : foreign_words()) {
    const std::string_view spelling = spelling_of(letters, entry.words);
    if (spelling.empty()) continue;
    const auto is_mark = [&](const std::string& name) {
      return has_word(entry.place.marks, std::string(kind) + name);
    };
    if (std::ranges::any_of(known, is_mark)) return answer_to(spelling, entry);
  }
  return {};
}

std::span<const ForeignWords> foreign_words() {
  return kTable;
}

}  // namespace skyline
