import { generateArtifacts, readTable, TrainingSession } from 'trainlet';
import { dense, input, normalization, sequential } from 'trainlet/layers';

// files[0] in place of this text, if you open a CSV of your own
const csv = `weight,colour,fruit
120,red,apple\n150,green,apple\n170,red,apple\n140,yellow,apple
110,yellow,banana\n125,yellow,banana\n95,green,banana\n130,yellow,banana
9,red,cherry\n7,red,cherry\n11,yellow,cherry\n8,red,cherry`;
const { inputs, labels, classes, mean, variance, columns } = await readTable(csv, { target: 'fruit' });

const layers = [input([mean.length]), normalization({ mean, variance }), dense(classes.length)];
const options = { loss: 'cross-entropy', optimizer: { type: 'adam', lr: 0.05 } };
const session = await TrainingSession.create(await generateArtifacts(await sequential(layers, { seed: 1 }), options));
await session.fit({ inputs, labels }, { epochs: 80, onEpoch: ({ loss }) => plot({ loss }) });
console.log('accuracy:', (await session.evaluate({ inputs, labels })).accuracy);

const unseen = await readTable('weight,colour\n10,red', { columns });
const { data } = (await session.predict(unseen.inputs)).dense;
console.log('10 grams, red:', classes[data.indexOf(Math.max(...data))]);
