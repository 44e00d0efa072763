/* Files that are no ONNX models, by how they begin. No model begins so: its first byte would be a field of a number or
 * kind that ONNX does not have there. */
#include "onnx/not_onnx.h"

#include <ctype.h>
#include <string.h>

#define BEGINS(text) text, sizeof text - 1

static const struct {
  size_t at;
  const char *begin;
  size_t length;
  const char *what;
} foreign[] = {
    {0, BEGINS("PK\x03\x04"), "a ZIP archive, as of PyTorch (.pt) or Keras: export the model to ONNX there"},
    {0, BEGINS("\x80\x02"), "a Python pickle, as of PyTorch (.pt): export the model to ONNX there"},
    {0, BEGINS("\x80\x04"), "a Python pickle: export the model to ONNX where it was made"},
    {0, BEGINS("\x89HDF"), "HDF5, as of Keras (.h5): convert the model to ONNX"},
    {0, BEGINS("\x1f\x8b"), "compressed by gzip: decompress it"},
    {0, BEGINS("version https://git-lfs"), "a pointer of Git LFS: git lfs pull brings the file"},
    {0, BEGINS("\x93NUMPY"), "an array of NumPy"},
    {0, BEGINS("\x89PNG"), "a picture (PNG)"},
    {0, BEGINS("GGUF"), "GGUF, which holds weights alone"},
    {0, BEGINS("\rTLCK"), "a checkpoint of Trainlet"},
    {4, BEGINS("ODTC"), "a checkpoint of ONNX Runtime"},
    {4, BEGINS("TFL3"), "a TensorFlow Lite model: convert it to ONNX"},
    {4, BEGINS("\0\0\0\0{\""), "safetensors, which holds weights alone: export the model to ONNX"},
};

/* Text may begin with white space. */
static const char *text_of(const uint8_t *bytes, size_t count) {
  size_t i = 0;
  while (i < count && isspace(bytes[i])) i++;
  return i == count ? NULL : bytes[i] == '<' ? "a web page or XML" : bytes[i] == '{' ? "JSON" : NULL;
}

const char *onnx_not_onnx(const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    if (count >= foreign[i].at + foreign[i].length &&
        memcmp(bytes + foreign[i].at, foreign[i].begin, foreign[i].length) == 0)
      return foreign[i].what;
  return text_of(bytes, count);
}
