/* The names that a file has for domains and nodes. */
#include <string.h>

#include "onnx/parts.h"

const char *onnx_domain(const char *domain) {
  if (!domain || strcmp(domain, "ai.onnx") == 0) return "";
  return strcmp(domain, "ai.trainlet") == 0 ? "com.trainlet" : domain;
}

const char *onnx_node_title(const Onnx__NodeProto *n) {
  if (has_name(n->name)) return n->name;
  return n->n_output && has_name(n->output[0]) ? n->output[0] : "";
}

bool onnx_constant_is(const Onnx__NodeProto *n) {
  return n->op_type && strcmp(n->op_type, "Constant") == 0 && !*onnx_domain(n->domain);
}
