// The examples of the playground: a file of presets/ each.

/** @type {Record<string, { title: string, says: string }>} */
export const PRESETS = {
  xor: { title: 'XOR', says: 'The smallest problem that a single layer cannot solve.' },
  line: { title: 'A line through points', says: 'Regression: two numbers are found, a slope and an offset.' },
  table: { title: 'A table (CSV)', says: 'Columns of numbers and words become features; a class is predicted.' },
  digits: { title: 'Handwritten digits', says: 'A convolutional network reads MNIST, a thousand of it.' },
  pictures: { title: 'Pictures, pretrained', says: 'A pretrained network learns two kinds of pictures from six each.' },
  sine: { title: 'A wave (LSTM)', says: 'A recurrent network goes on with a wave that it was shown.' },
  adapter: { title: 'An adapter (LoRA)', says: 'Two thin matrices learn a new task; the network itself stays.' },
  save: { title: 'Save and load', says: 'A session is kept in this browser, and goes on where it was.' },
  gate: { title: 'A gate against bad lessons', says: 'Wrong labels are refused, and what was known stays.' },
  export: { title: 'Export and run', says: 'The trained network as ONNX, run again as any runtime would.' },
};
