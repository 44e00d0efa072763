/** URLs of the pretrained models in the package. Importing them loads none: `fineTune` and others read a URL. */

export const pictures = new URL('./pictures.onnx', import.meta.url);
