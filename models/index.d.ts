/** URLs of the pretrained models in the package. Importing them loads none: `fineTune` and others read a URL. */

/**
 * The URL of a network that gives 320 features of a picture, for `fineTune`: 96 × 96 pixels, 0.49 MB. It was trained on
 * drawn pictures of emoji and icons; `models/pictures.md` says how good it is and what it is not good for.
 * ```js
 * const image = await Tensor.fromImage(photos, { size: 96, mean: 0.5, std: 0.5 });
 * const { session } = await fineTune(pictures, { inputs: { image }, labels });
 * ```
 */
export const pictures: URL;
