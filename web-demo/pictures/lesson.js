// All that this page asks of Trainlet: a lesson from a few pictures, and a reading.
import { fineTune } from '../../js/index.js';
import { pictures } from '../../models/index.js'; // the address of a pretrained network

/** `unknown`: a threshold is chosen too, below which a picture is none of the classes. */
export async function learn(image, labels, options) {
  const head = { at: 'features' }; // the layer on which the new last one stands
  const { session, report } = await fineTune(
    pictures,
    { inputs: { image }, labels },
    { head, unknown: true, ...options },
  );
  return { session, threshold: report.calibration?.threshold };
}

/** The name is '' where no class is as probable as the threshold. */
export async function read(session, image, threshold) {
  const { labels, probabilities } = await session.predict({ image }, { labels: true, probabilities: true, threshold });
  return { names: labels.data, shares: probabilities.data };
}
