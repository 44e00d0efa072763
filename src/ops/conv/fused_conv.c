/* FusedConv (com.trainlet): y = activation(Conv(x, w, bias)). Only the pass `activation` makes it, of bound graphs. */
#include "ops/elementwise/activation.h"
#include "ops/conv/conv.h"

static Status fused_conv_infer(Node *n) {
  Activation activation;
  const Attr *params = node_attr(n, "activation_params", ATTR_FLOATS);
  float first = params && params->count == 2 ? params->floats[0] : 0,
        second = params && params->count == 2 ? params->floats[1] : 0;
  TRY(activation_read(n, first, second, &activation));
  TRY(conv_op_infer(n));
  Conv *conv = n->params; /* a Conv3d begins with one */
  if (conv) conv->clamp = true, conv->low = activation.low, conv->high = activation.high;
  return STATUS_OK;
}

OPERATOR(fused_conv) = {
    .name = "FusedConv",
    .domain = "com.trainlet",
    .since = {1},
    .inputs = {2, 3},
    .flags = OP_OURS | OP_COSTLY,
    .infer = fused_conv_infer,
    .run = conv_op_run,
    .work = conv_work,
    .cases = CASES({"f32[2,3,5,7] f32[4,3,3,3] f32[4]", "pads=[1,1,1,1] activation=Relu"},
                   {"f32[2,5,6,7] f32[5,1,3,3] f32[5]",
                    "group=5 pads=[1,1,1,1] activation=Clip activation_params=[-0.5,0.75]"},
                   {"f32[2,3,4,5] f32[6,3,1,1]", "activation=Clip activation_params=[0.0,0.25]"},
                   {"f32[2,2,3,4,5] f32[2,1,2,3,3] f32[2]", "group=2 activation=Relu"}),
};
