/* Resize: pictures made larger or smaller, by nearest, linear or cubic interpolation along any axes. */
#include "ops/vision/resize_axes.h"
#include "graph/upgrade.h"

/* Resize of opset 10 has no regions of interest among its inputs, and only one way to find a place. */
static Status resize_upgrade(Upgrade *u) {
  if (u->node->in_count != 2) return STATUS_OK;
  u->in[2] = u->in[1], u->in[1] = NULL;
  upgrade_add(u, attr_of_string("coordinate_transformation_mode", "asymmetric"));
  upgrade_add(u, attr_of_string("nearest_mode", "floor"));
  return STATUS_OK;
}

OPERATOR(resize) = {
    .name = "Resize",
    .since = {10, 11, 13, 18, 19},
    .inputs = {1, 4},
    .flags = OP_SMALL_IN_FLOAT,
    .infer = resize_op_infer,
    .run = resize_op_run,
    .grad = GRADIENT(resize_op_grad),
    .work = resize_work,
    .upgrade = resize_upgrade,
    .cases = CASES(
        {"f32[2,3,4,5] - f32[4]=1,1,2,2", ""},
        {"f32[1,2,4,5] - f32[4]=1,1,2,2", "nearest_mode=floor coordinate_transformation_mode=asymmetric"},
        {"f32[1,2,4,6] - - i64[4]=1,2,7,9", "mode=linear"},
        {"f32[2,2,4,6] - f32[4]=1,1,0.5,1.5", "mode=linear coordinate_transformation_mode=pytorch_half_pixel", 11},
        {"f32[1,2,4,3] - - i64[4]=1,2,7,9", "mode=linear coordinate_transformation_mode=align_corners", 13},
        {"f32[1,2,5,4] - - i64[4]=1,2,8,3", "mode=cubic"},
        {"f32[1,2,5,4] - - i64[4]=1,2,8,3", "mode=cubic coordinate_transformation_mode=align_corners", 11},
        {"f32[1,1,4,4] f32[8]=0,0,0.4,0.6,1,1,1.2,1.7 - i64[4]=1,1,3,3",
         "mode=linear coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=2.5"},
        {"f32[1,1,4,5] - f32[4]=1,1,0.6,0.6", "mode=cubic cubic_coeff_a=-0.5 exclude_outside=1"},
        {"f32[1,2,9,7] - - i64[2]=4,3", "mode=linear antialias=1 exclude_outside=1 axes=[2,3]", 18},
        {"f32[1,2,9,8] - - i64[2]=5,3", "mode=cubic antialias=1 exclude_outside=1 cubic_coeff_a=-0.5 axes=[-2,3]", 18},
        {"f32[1,2,4,6] - - i64[2]=8,9", "mode=linear axes=[3,2] keep_aspect_ratio_policy=not_larger", 18},
        {"f32[1,2,4,6] - - i64[2]=8,9", "axes=[3,2] keep_aspect_ratio_policy=not_smaller", 18},
        {"f32[1,2,5] - f32[3]=1,1,0.7", "mode=linear coordinate_transformation_mode=half_pixel_symmetric", 19},
        {"f32[1,2,3,4,2] - - i64[5]=1,2,5,6,4", "mode=linear"}, {"f32[1,3,2,5] - f32[4]=1,2,3,1", "nearest_mode=ceil"},
        {"f32[2,7] - f32[2]=1.5,0.6"},
        {"f32[1,1,4,4] f32[8]=0,0,0.4,0.6,1,1,1.2,1.7 - i64[4]=1,1,5,6",
         "coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=2.5"},
        {"f32[1,2,4,6] f32[4]=1,1,2.0,0.5", "mode=linear", 10}),
};
