/* Stored: what a compact file holds, as structs of lists, and the tables by which these are written and read, field by
 * field. Used only within src/compact. */
#pragma once
#include "compact/compact.h"

typedef struct StoredValue {
  CheckpointTensor tensor; /* an input, whose dims may be symbols, has no data */
  bool initializer;
} StoredValue;

/* Values are numbered from 1: those of the list first, then the outputs of each node; 0 is an absent one. */
typedef struct StoredNode {
  const char *domain, *op, *name;
  int64_t stream; /* less the node's place in the list */
  int *in;
  const char **out; /* NULL: absent */
  Attr *attrs;
  int in_count, out_count, attr_count;
} StoredNode;

typedef struct StoredGraph {
  int ir_version, file_opset, made;
  Opset *opsets;
  const char **metadata; /* a key and its text, by turns */
  const char **symbols;
  StoredValue *values;
  StoredNode *nodes;
  int *outputs;
  int opset_count, metadata_count, symbol_count, value_count, node_count, output_count;
} StoredGraph;

typedef struct Stored {
  float *settings; /* the optimizer's, by SettingId; a flag is 0 or 1 */
  int setting_count;
  StoredGraph *graphs; /* train, eval */
  int graph_count;
  Checkpoint checkpoint;
} Stored;

typedef enum FieldKind {
  FIELD_END,
  FIELD_FLAG,   /* bool: a byte */
  FIELD_INT,    /* int, not negative: 7 bits a byte, the lowest first; all but the last byte have the highest bit set */
  FIELD_LONG,   /* 64 bits: 0, -1, 1, -2 … as 0, 1, 2, 3 …, then the same */
  FIELD_FLOAT,  /* 4 bytes */
  FIELD_TEXT,   /* its number in the list of texts + 1 */
  FIELD_OPTION, /* the same; 0: NULL */
  FIELD_CONSTANT, /* CheckpointTensor without its name: type, dims, CompactCoding, elements */
  FIELD_TENSOR,   /* the same, whose elements need not outlive the bytes */
  FIELD_WEIGHT,   /* the same, which may be coded */
  FIELD_ATTR,     /* Attr: name, kind, and the field that stored_attr_values has for it, or a tensor's name and it */
  FIELD_LIST,     /* a pointer to records: their number, then each */
  FIELD_FEW,      /* the same in place, FEW at most */
} FieldKind;
enum { FEW = 2 };

typedef struct Record Record;
typedef struct Field {
  uint8_t kind;
  uint16_t at, count_at; /* its place in the struct, and that of a list's count */
  const Record *of;
} Field;
struct Record {
  size_t bytes;
  const Field *fields; /* to FIELD_END */
};

extern const Record stored_record;
extern const Field stored_attr_values[]; /* an attribute's, by its AttrKind */
#define ATTR_KINDS (ATTR_STRINGS + 1)    /* the kinds that are stored */
