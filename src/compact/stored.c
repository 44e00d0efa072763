/* Stored: the tables of what a compact file holds; their order is the file's. */
#include "compact/stored.h"

#define FIELDS(...) ((const Field[]){__VA_ARGS__, {FIELD_END}})
#define AT(Type, kind, field) {kind, offsetof(Type, field)}
#define LIST(Type, field, count, record) {FIELD_LIST, offsetof(Type, field), offsetof(Type, count), &(record)}

static const Record ints = {sizeof(int), FIELDS({FIELD_INT, 0})};
static const Record longs = {sizeof(int64_t), FIELDS({FIELD_LONG, 0})};
static const Record floats = {sizeof(float), FIELDS({FIELD_FLOAT, 0})};
static const Record texts = {sizeof(char *), FIELDS({FIELD_TEXT, 0})};
static const Record options = {sizeof(char *), FIELDS({FIELD_OPTION, 0})};

const Field stored_attr_values[ATTR_KINDS] = {
    [ATTR_FLOAT] = AT(Attr, FIELD_FLOAT, f),      [ATTR_INT] = AT(Attr, FIELD_LONG, i),
    [ATTR_STRING] = AT(Attr, FIELD_TEXT, s),      [ATTR_FLOATS] = LIST(Attr, floats, count, floats),
    [ATTR_INTS] = LIST(Attr, ints, count, longs), [ATTR_STRINGS] = LIST(Attr, strings, count, texts),
};

/* ---- graphs ---- */

static const Record opset = {sizeof(Opset), FIELDS(AT(Opset, FIELD_TEXT, domain), AT(Opset, FIELD_INT, version))};

static const Record value = {sizeof(StoredValue),
                             FIELDS(AT(StoredValue, FIELD_TEXT, tensor.name), AT(StoredValue, FIELD_CONSTANT, tensor),
                                    AT(StoredValue, FIELD_FLAG, initializer))};

static const Record attr = {sizeof(Attr), FIELDS({FIELD_ATTR, 0})};

static const Record node = {sizeof(StoredNode),
                            FIELDS(AT(StoredNode, FIELD_TEXT, domain), AT(StoredNode, FIELD_TEXT, op),
                                   AT(StoredNode, FIELD_TEXT, name), AT(StoredNode, FIELD_LONG, stream),
                                   LIST(StoredNode, in, in_count, ints), LIST(StoredNode, out, out_count, options),
                                   LIST(StoredNode, attrs, attr_count, attr))};

static const Record graph = {
    sizeof(StoredGraph),
    FIELDS(AT(StoredGraph, FIELD_INT, ir_version), AT(StoredGraph, FIELD_INT, file_opset),
           AT(StoredGraph, FIELD_INT, made), LIST(StoredGraph, opsets, opset_count, opset),
           LIST(StoredGraph, metadata, metadata_count, texts), LIST(StoredGraph, symbols, symbol_count, texts),
           LIST(StoredGraph, values, value_count, value), LIST(StoredGraph, nodes, node_count, node),
           LIST(StoredGraph, outputs, output_count, ints))};

/* ---- the checkpoint ---- */

static const Record tensor = {sizeof(CheckpointTensor),
                              FIELDS(AT(CheckpointTensor, FIELD_TEXT, name), {FIELD_TENSOR, 0})};
static const Record weight = {sizeof(CheckpointTensor),
                              FIELDS(AT(CheckpointTensor, FIELD_TEXT, name), {FIELD_WEIGHT, 0})};

static const Record moments = {
    sizeof(CheckpointMoments),
    FIELDS(AT(CheckpointMoments, FIELD_TEXT, parameter), AT(CheckpointMoments, FIELD_LONG, steps),
           {FIELD_FEW, offsetof(CheckpointMoments, moment), offsetof(CheckpointMoments, count), &tensor})};

static const Record property = {sizeof(Property), FIELDS(AT(Property, FIELD_TEXT, name), AT(Property, FIELD_INT, kind),
                                                         AT(Property, FIELD_LONG, i), AT(Property, FIELD_FLOAT, f),
                                                         AT(Property, FIELD_OPTION, s))};

static const Record bounds = {sizeof(CheckpointBounds), FIELDS(AT(CheckpointBounds, FIELD_TEXT, parameter),
                                                               AT(CheckpointBounds, FIELD_FLOAT, least),
                                                               AT(CheckpointBounds, FIELD_FLOAT, most))};

static const Record groups = {sizeof(CheckpointGroup), FIELDS(AT(CheckpointGroup, FIELD_TEXT, parameter),
                                                              AT(CheckpointGroup, FIELD_FLOAT, lr_scale),
                                                              AT(CheckpointGroup, FIELD_FLOAT, weight_decay),
                                                              AT(CheckpointGroup, FIELD_FLOAT, anchor))};

/* ---- the file ---- */

#define IN_CHECKPOINT(kind, field) AT(Stored, kind, checkpoint.field)
#define CHECKPOINT_LIST(field, count, record) LIST(Stored, checkpoint.field, checkpoint.count, record)

const Record stored_record = {
    sizeof(Stored),
    FIELDS(LIST(Stored, settings, setting_count, floats), LIST(Stored, graphs, graph_count, graph),
           IN_CHECKPOINT(FIELD_FLAG, nominal), CHECKPOINT_LIST(trainable, trainable_count, weight),
           CHECKPOINT_LIST(frozen, frozen_count, weight), IN_CHECKPOINT(FIELD_FLAG, has_optimizer),
           IN_CHECKPOINT(FIELD_LONG, step), IN_CHECKPOINT(FIELD_FLOAT, initial_learning_rate),
           IN_CHECKPOINT(FIELD_FLOAT, learning_rate), CHECKPOINT_LIST(moments, moment_count, moments),
           CHECKPOINT_LIST(properties, property_count, property), IN_CHECKPOINT(FIELD_LONG, rng_seed),
           IN_CHECKPOINT(FIELD_LONG, rng_step), IN_CHECKPOINT(FIELD_LONG, position[0]),
           IN_CHECKPOINT(FIELD_LONG, position[1]), IN_CHECKPOINT(FIELD_LONG, position[2]),
           IN_CHECKPOINT(FIELD_LONG, position[3]), IN_CHECKPOINT(FIELD_LONG, position[4]),
           IN_CHECKPOINT(FIELD_OPTION, fit), CHECKPOINT_LIST(best, best_count, tensor),
           CHECKPOINT_LIST(bounds, bound_count, bounds), CHECKPOINT_LIST(groups, group_count, groups),
           CHECKPOINT_LIST(averages, average_count, tensor), CHECKPOINT_LIST(bases, base_count, tensor))};
