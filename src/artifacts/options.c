/* Artifact options: keys and values as text, with a setter for each key. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "artifacts/artifacts.h"

static Status invalid(TrainletArtifacts *a, const char *key, const char *value, const char *wanted) {
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "option %.60s: '%.100s' is not %s", key, value, wanted);
}

static Status unknown(TrainletArtifacts *a, const char *key, Names *known) {
  char text[LISTED_MAX];
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "there is no option '%.60s'; it knows %s", key,
                   names_listed(text, known, NULL, "and"));
}

static Status list_add(TrainletArtifacts *a, NameList *list, const char *value) {
  return names_add(list, value, &a->arena) ? STATUS_OK : error_memory(&a->error, "for the options");
}

static Status set_flag(TrainletArtifacts *a, const char *key, const char *value, bool *to) {
  bool set = strcmp(value, "1") == 0;
  if (!set && strcmp(value, "0") != 0) return invalid(a, key, value, "0 or 1");
  *to = set;
  return STATUS_OK;
}

static Status set_weights(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  char *end;
  int count = 0;
  for (const char *p = value; !count || *p; p = end + (*end == ',')) {
    float weight = strtof(p, &end);
    bool last = *end == '\0', more = *end == ',' && end[1];
    if (end == p || !(last || more) || !(weight >= 0 && weight <= FLT_MAX))
      return invalid(a, key, value, "numbers of at least 0 joined by commas");
    count++;
  }
  float *weights = block_reserve(&o->weight_memory, (size_t)count * sizeof *weights) ? o->weight_memory.data : NULL;
  o->weights = weights;
  if (!weights) return error_memory(&a->error, "for the options");
  for (int i = 0; i < count; i++) weights[i] = strtof(i ? end + 1 : value, &end);
  o->weight_count = count;
  return STATUS_OK;
}

/* The losses that one part of several may have: all but the external ones, which come last. */
static const char *part_loss_name(int i) { return loss_is_outside(&(LossOptions){.kind = i}) ? NULL : loss_name(i); }

static Status set_loss_type(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  char text[LISTED_MAX];
  bool part = o != &a->loss, training_info = !part && strcmp(value, "training-info") == 0;
  LossOptions named = {.kind = o->kind};
  if (!training_info && (!loss_named(value, &named.kind) || (part && loss_is_outside(&named))))
    return invalid(a, key, value,
                   names_listed(text, part ? part_loss_name : loss_name, part ? NULL : "training-info", "or"));
  a->by_training_info = training_info;
  o->kind = named.kind;
  return STATUS_OK;
}

static Status set_reduction(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  bool sum = strcmp(value, "sum") == 0;
  if (!sum && strcmp(value, "mean") != 0) return invalid(a, key, value, "mean or sum");
  o->sum = sum;
  return STATUS_OK;
}

static Status set_ignore_index(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  char *end;
  long long index = strtoll(value, &end, 10);
  if (!*value || *end) return invalid(a, key, value, "a whole number");
  o->ignore_index = index;
  o->has_ignore_index = true;
  return STATUS_OK;
}

/* A number of least … most; the option is as it was where it is none. */
static Status set_number(TrainletArtifacts *a, float *to, const char *key, const char *value, float least, float most,
                         const char *wanted) {
  char *end;
  float x = strtof(value, &end);
  if (end == value || *end || !(x >= least && x <= most)) return invalid(a, key, value, wanted);
  *to = x;
  return STATUS_OK;
}

static Status set_label_smoothing(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  return set_number(a, &o->label_smoothing, key, value, 0, 1, "a number from 0 to 1");
}

static Status set_class_axis(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  bool last = strcmp(value, "-1") == 0;
  if (!last && strcmp(value, "1") != 0) return invalid(a, key, value, "1 or -1 (the last axis)");
  o->class_axis = last ? -1 : 1;
  return STATUS_OK;
}

static Status set_delta(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  return set_number(a, &o->delta, key, value, FLT_TRUE_MIN, 1e30f, "a number above 0 and up to 1e30");
}

static Status set_name(TrainletArtifacts *a, const char **to, const char *key, const char *value) {
  if (!*value) return invalid(a, key, value, "a name");
  return (*to = arena_copy_text(&a->arena, value)) ? STATUS_OK : error_memory(&a->error, "for the options");
}

static Status set_input(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  return set_name(a, &o->input, key, value);
}

static Status set_label(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  return set_name(a, &o->label, key, value);
}

static Status set_weight(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  return set_number(a, &o->weight, key, value, 0, 1e30f, "a number from 0 to 1e30");
}

static Status set_sample_weights(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value) {
  bool wanted = false;
  TRY(set_flag(a, key, value, &wanted));
  if (wanted && o != &a->loss)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "option %.60s: one of several losses has none", key);
  o->sample_weights = wanted;
  return STATUS_OK;
}

typedef struct LossOption {
  const char *name;
  Status (*set)(TrainletArtifacts *a, LossOptions *o, const char *key, const char *value);
} LossOption;
static const LossOption loss_options[] = {
    {"type", set_loss_type},
    {"reduction", set_reduction},
    {"weights", set_weights},
    {"ignoreIndex", set_ignore_index},
    {"labelSmoothing", set_label_smoothing},
    {"sampleWeights", set_sample_weights},
    {"axis", set_class_axis},
    {"delta", set_delta},
    {NULL, NULL},
};
static const char *loss_option(int i) { return loss_options[i].name; }

static const LossOption options_of_part[] = {
    {"input", set_input}, {"label", set_label}, {"weight", set_weight}, {NULL, NULL}};
static const char *part_option(int i) { /* options of any loss are among them */
  int own = (int)(sizeof options_of_part / sizeof *options_of_part) - 1;
  return i < own ? options_of_part[i].name : loss_option(i - own);
}

static const LossOption *find_option(const LossOption *options, const char *name) {
  while (options->name && strcmp(options->name, name) != 0) options++;
  return options->name ? options : NULL;
}

static Status set_loss(TrainletArtifacts *a, const char *key, const char *value) {
  const LossOption *found = find_option(loss_options, key + strlen("loss."));
  return found ? found->set(a, &a->loss, key, value) : unknown(a, key, loss_option);
}

/* "losses.0.type" and so on; each begins with the number after the one before it. */
static Status set_part(TrainletArtifacts *a, const char *key, const char *value) {
  char *end;
  long long at = strtoll(key + strlen("losses."), &end, 10);
  if (end == key + strlen("losses.") || *end != '.' || at < 0 || at > a->loss_count)
    return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "there is no option '%.60s'", key);
  const LossOption *found = find_option(options_of_part, end + 1);
  if (!found && !(found = find_option(loss_options, end + 1))) return unknown(a, key, part_option);
  LossOptions *grown = arena_list_grow(&a->arena, a->losses, a->loss_count, &a->loss_capacity, sizeof *grown);
  if (!grown) return error_memory(&a->error, "for the options");
  a->losses = grown;
  bool is_new = at == a->loss_count;
  if (is_new) a->losses[at] = (LossOptions){.delta = 1, .weight = 1};
  TRY(found->set(a, &a->losses[at], key, value));
  a->loss_count += is_new;
  return STATUS_OK;
}

static Status set_optimizer_type(TrainletArtifacts *a, const char *key, const char *value) {
  char text[LISTED_MAX];
  OptimizerKind kind = optimizer_named(value);
  if (kind == OPTIMIZER_NONE) return invalid(a, key, value, names_listed(text, optimizer_choice, NULL, "or"));
  a->has_optimizer = true;
  a->optimizer = optimizer_default(kind);
  return STATUS_OK;
}

/* "a number of at least 0 and below 1" */
static const char *print_range(char text[96], const Setting *s, int count) {
  int at = snprintf(text, 96, "%s", count > 1 ? "numbers" : "a number");
  if (s->least > -FLT_MAX) at += snprintf(text + at, 96 - (size_t)at, " of at least %g", (double)s->least);
  if (s->below < INFINITY) at += snprintf(text + at, 96 - (size_t)at, " and below %g", (double)s->below);
  if (count > 1) snprintf(text + at, 96 - (size_t)at, ", %d joined by commas", count);
  return text;
}

/* The settings of one name, `count` from `id` on: as many numbers, joined by commas. */
static Status set_numbers(TrainletArtifacts *a, const char *key, const char *value, SettingId id, int count) {
  const char *at = value;
  Optimizer changed = a->optimizer;
  for (int i = 0; i < count; i++) {
    const Setting *s = optimizer_setting(id + (SettingId)i);
    char *end, wanted[96];
    float x = strtof(at, &end);
    bool good = end != at && *end == (i < count - 1 ? ',' : '\0') && x >= s->least && x < s->below;
    if (!good) return invalid(a, key, value, print_range(wanted, s, count));
    *setting_number(s, &changed) = x;
    at = end + 1;
  }
  a->optimizer = changed;
  return STATUS_OK;
}

static bool is_setting(SettingId id, const char *option) {
  return id < SETTING_COUNT && optimizer_setting(id)->option && strcmp(optimizer_setting(id)->option, option) == 0;
}

static const char *optimizer_option(int i) {
  if (i == 0) return "type";
  for (SettingId id = SETTING_LR; id < SETTING_COUNT; id++) {
    const char *option = optimizer_setting(id)->option;
    if (option && !is_setting(id + 1, option) && --i == 0) return option;
  }
  return NULL;
}

/* Clipping is every optimizer's. */
static bool has_setting(OptimizerKind kind, SettingId id) {
  return id == SETTING_CLIP_NORM || id == SETTING_CLIP_VALUE || optimizer_has(kind, id);
}

/* "type, lr, betas …": the options of the optimizer. */
static const char *options_of(OptimizerKind kind, char text[LISTED_MAX]) {
  int at = snprintf(text, LISTED_MAX, "type");
  for (SettingId id = SETTING_LR; id < SETTING_COUNT; id++) {
    const char *option = optimizer_setting(id)->option;
    if (option && has_setting(kind, id) && !is_setting(id + 1, option))
      at += snprintf(text + at, (size_t)(LISTED_MAX - at), ", %s", option);
  }
  return text;
}

/* Without a type the options are AdamW's, or refused where a training_info brings the optimizer. */
static Status check_has(TrainletArtifacts *a, const char *key, SettingId id) {
  char text[LISTED_MAX];
  if (has_setting(a->optimizer.kind, id)) return STATUS_OK;
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "option %.60s: %s has no such option; it has %s", key,
                   optimizer_name(a->optimizer.kind), options_of(a->optimizer.kind, text));
}

/* Set the type before the others: it brings its own defaults. */
static Status set_optimizer(TrainletArtifacts *a, const char *key, const char *value) {
  const char *option = key + strlen("optimizer.");
  if (strcmp(option, "type") == 0) return set_optimizer_type(a, key, value);
  SettingId id = SETTING_LR;
  while (id < SETTING_COUNT && !is_setting(id, option)) id++;
  if (id == SETTING_COUNT) return unknown(a, key, optimizer_option);
  TRY(check_has(a, key, id));
  a->has_settings = true;
  const Setting *s = optimizer_setting(id);
  if (s->is_flag) return set_flag(a, key, value, setting_flag(s, &a->optimizer));
  return set_numbers(a, key, value, id, is_setting(id + 1, option) ? 2 : 1);
}

static Status set_rank(TrainletArtifacts *a, const char *key, const char *value) {
  char *end;
  long long r = strtoll(value, &end, 10);
  if (!*value || *end || r < 1 || r > 1 << 16) return invalid(a, key, value, "a whole number from 1 to 65536");
  a->lora.r = (int)r;
  return STATUS_OK;
}

static bool is_number(const char *value, float *to) {
  char *end;
  *to = strtof(value, &end);
  return end != value && !*end && isfinite(*to);
}

static Status set_alpha(TrainletArtifacts *a, const char *key, const char *value) {
  return set_number(a, &a->lora.alpha, key, value, -FLT_MAX, FLT_MAX, "a number");
}

static Status set_dropout(TrainletArtifacts *a, const char *key, const char *value) {
  return set_number(a, &a->lora.dropout, key, value, 0, nextafterf(1, 0), "a number of at least 0 and below 1");
}

static Status set_init(TrainletArtifacts *a, const char *key, const char *value) {
  bool gaussian = strcmp(value, "gaussian") == 0;
  if (!gaussian && strcmp(value, "kaiming-uniform") != 0) return invalid(a, key, value, "kaiming-uniform or gaussian");
  a->lora.gaussian = gaussian;
  return STATUS_OK;
}

static Status set_bias(TrainletArtifacts *a, const char *key, const char *value) {
  static const char *const names[] = {"none", "all", "lora_only"};
  for (int i = 0; i < 3; i++)
    if (strcmp(value, names[i]) == 0) return a->lora.bias = (LoraBias)i, STATUS_OK;
  return invalid(a, key, value, "none, all or lora_only");
}

/* "pattern=number" */
static Status add_numbered(TrainletArtifacts *a, NameList *list, const char *key, const char *value) {
  const char *equals = strrchr(value, '=');
  float x;
  bool good = equals && equals > value && is_number(equals + 1, &x);
  if (good && list == &a->lora.ranks) good = x >= 1 && x <= 65536 && x == floorf(x);
  if (good) return list_add(a, list, value);
  return invalid(a, key, value,
                 list == &a->lora.ranks ? "pattern=rank, a whole number from 1 to 65536" : "pattern=alpha, a number");
}

static Status set_lora_option(TrainletArtifacts *a, const char *key, const char *value) {
  LoraOptions *o = &a->lora;
  const char *name = key + strlen("lora.");
  if (strcmp(name, "r") == 0) return set_rank(a, key, value);
  if (strcmp(name, "alpha") == 0) return set_alpha(a, key, value);
  if (strcmp(name, "dropout") == 0) return set_dropout(a, key, value);
  if (strcmp(name, "rsLora") == 0) return set_flag(a, key, value, &o->rs_lora);
  if (strcmp(name, "ofPeft") == 0) return set_flag(a, key, value, &o->of_peft);
  if (strcmp(name, "init") == 0) return set_init(a, key, value);
  if (strcmp(name, "bias") == 0) return set_bias(a, key, value);
  if (strcmp(name, "targets") == 0) return list_add(a, &o->targets, value);
  if (strcmp(name, "exclude") == 0) return list_add(a, &o->exclude, value);
  if (strcmp(name, "modulesToSave") == 0) return list_add(a, &o->modules_to_save, value);
  if (strcmp(name, "moduleNames") == 0) return list_add(a, &o->module_names, value);
  if (strcmp(name, "rankPattern") == 0) return add_numbered(a, &o->ranks, key, value);
  if (strcmp(name, "alphaPattern") == 0) return add_numbered(a, &o->alphas, key, value);
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                   "there is no option '%.60s'; it knows r, alpha, dropout, targets, exclude, rsLora, rankPattern, "
                   "alphaPattern, modulesToSave, moduleNames, init and bias",
                   key);
}

static Status set_lora(TrainletArtifacts *a, const char *key, const char *value) {
  TRY(set_lora_option(a, key, value));
  a->lora.wanted = true;
  return STATUS_OK;
}

static Status set_quantize(TrainletArtifacts *a, const char *key, const char *value) {
  QuantizeKind kind = quantize_named(value);
  if (!kind) return invalid(a, key, value, "int8, int4 or float16");
  a->quantize = kind;
  return STATUS_OK;
}

static Status set_units(TrainletArtifacts *a, const char *key, const char *value) {
  char *end;
  long long units = strtoll(value, &end, 10);
  if (!*value || *end || units < 0 || units > 1 << 20)
    return invalid(a, key, value, "a whole number from 0 to 1048576");
  a->head.hidden = (int)units;
  return STATUS_OK;
}

static Status set_class(TrainletArtifacts *a, const char *key, const char *value) {
  if (!*value) return invalid(a, key, value, "a name");
  return names_have(&a->head.classes, value) ? invalid(a, key, value, "a name of one class alone")
                                             : list_add(a, &a->head.classes, value);
}

static Status set_head(TrainletArtifacts *a, const char *key, const char *value) {
  if (strcmp(key, "head.classes") == 0) return set_class(a, key, value);
  if (strcmp(key, "head.at") == 0) return set_name(a, &a->head.at, key, value);
  if (strcmp(key, "head.hidden") == 0) return set_units(a, key, value);
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL,
                   "there is no option '%.60s'; it knows classes, at and hidden", key);
}

/* Names joined by commas. */
static Status set_passes(TrainletArtifacts *a, const char *key, const char *value) {
  unsigned passes = 0;
  for (const char *at = value; *at;) {
    size_t length = strcspn(at, ",");
    int i = 0;
    while (passes_name(i) && (strlen(passes_name(i)) != length || strncmp(passes_name(i), at, length) != 0)) i++;
    if (!passes_name(i)) return invalid(a, key, at, "names of passes joined by commas");
    passes |= 1u << i;
    at += length + (at[length] == ',');
  }
  a->passes = passes;
  return STATUS_OK;
}

static Status set_batch_norm(TrainletArtifacts *a, const char *key, const char *value) {
  bool update = strcmp(value, "update") == 0;
  if (!update && strcmp(value, "frozen") != 0) return invalid(a, key, value, "frozen or update");
  a->updates_batch_norm = update;
  return STATUS_OK;
}

static Status set_batch(TrainletArtifacts *a, const char *key, const char *value) {
  bool fixed = strcmp(value, "fixed") == 0;
  if (!fixed && strcmp(value, "free") != 0) return invalid(a, key, value, "free or fixed");
  a->fixed_batch = fixed;
  return STATUS_OK;
}

static Status set_limit(TrainletArtifacts *a, const char *key, const char *value) {
  char *end;
  double bytes = strtod(value, &end);
  if (end == value || *end || !(bytes >= 0)) return invalid(a, key, value, "a number of bytes");
  a->budget.limit_bytes = bytes;
  return STATUS_OK;
}

/* "bytes location" */
static Status set_in_pieces(TrainletArtifacts *a, const char *key, const char *value) {
  char *end;
  unsigned long long bytes = strtoull(value, &end, 10);
  if (end == value || *end != ' ' || !end[1] || bytes > SIZE_MAX) return invalid(a, key, value, "bytes and a location");
  return external_add_in_pieces(&a->external, end + 1, (size_t)bytes, &a->arena)
           ? STATUS_OK
           : error_memory(&a->error, "for the options");
}

static Status set(TrainletArtifacts *a, const char *key, const char *value) {
  if (strncmp(key, "loss.", 5) == 0) return set_loss(a, key, value);
  if (strncmp(key, "losses.", 7) == 0) return set_part(a, key, value);
  if (strncmp(key, "optimizer.", 10) == 0) return set_optimizer(a, key, value);
  if (strncmp(key, "head.", 5) == 0) return set_head(a, key, value);
  if (strncmp(key, "lora.", 5) == 0) return set_lora(a, key, value);
  if (strcmp(key, "requiresGrad") == 0) return list_add(a, &a->requires_grad, value);
  if (strcmp(key, "frozen") == 0) return list_add(a, &a->frozen, value);
  if (strcmp(key, "lossInputs") == 0) return list_add(a, &a->loss_inputs, value);
  if (strcmp(key, "additionalOutputs") == 0) return list_add(a, &a->additional_outputs, value);
  if (strcmp(key, "passes") == 0) return set_passes(a, key, value);
  if (strcmp(key, "nominal") == 0) return set_flag(a, key, value, &a->nominal);
  if (strcmp(key, "inPieces") == 0) return set_in_pieces(a, key, value);
  if (strcmp(key, "withoutWeights") == 0) {
    TRY(set_flag(a, key, value, &a->without_weights));
    a->external.without_weights = a->without_weights;
    a->nominal |= a->without_weights;
    return STATUS_OK;
  }
  if (strcmp(key, "otherWeights") == 0) {
    TRY(set_flag(a, key, value, &a->untie));
    a->external.without_weights |= a->untie;
    return STATUS_OK;
  }
  if (strcmp(key, "quantizeFrozen") == 0) return set_quantize(a, key, value);
  if (strcmp(key, "untie") == 0) {
    TRY(set_flag(a, key, value, &a->untie));
    a->keeps_merged = !a->untie;
    return STATUS_OK;
  }
  if (strcmp(key, "batch") == 0) return set_batch(a, key, value);
  if (strcmp(key, "batchNorm") == 0) return set_batch_norm(a, key, value);
  if (strcmp(key, "initialize") == 0) return set_flag(a, key, value, &a->initialize);
  if (strcmp(key, "ortFormat") == 0) return set_flag(a, key, value, &a->types);
  if (strcmp(key, "maxMemoryBytes") == 0) return set_limit(a, key, value);
  return error_set(&a->error, STATUS_INVALID_ARGUMENT, NULL, "there is no option '%.60s'", key);
}

Status trainlet_artifacts_set(TrainletArtifacts *a, const char *key, const char *value) {
  artifacts_enter(a);
  return artifacts_leave(a, set(a, key, value) == STATUS_OK);
}

const char *trainlet_loss_name(int i) { return loss_name(i); }
const char *trainlet_optimizer_name(int i) { return optimizer_choice(i); }
