/** Contents of a checkpoint file of any writer: parameters, optimizer, properties, data position. */

import { describeInfo } from '../base/feeds.js';
import { compileEngine } from '../engine/compile.js';
import { Engine, instanceFor } from '../engine/engine.js';
import { readExternal, readSource } from '../sources/source.js';

/** @import { EngineOptions } from '../types.js' */
/** @import { CheckpointContents, ExternalFile, PropertyEntry } from '../engine/protocol.js' */

/** An engine in this thread, for calls without a session. */
export async function engine() {
  const place = { threads: 1, reproducible: true };
  const { instance } = await instanceFor({ ...place, module: await compileEngine(place) });
  return new Engine(instance);
}

/**
 * @param {string} file
 * @param {EngineOptions} options with the external data
 * @returns {Promise<string[] | undefined>} lines; undefined: it is no checkpoint
 */
export async function describeCheckpoint(file, options) {
  const bytes = await readSource('checkpoint', file, {});
  const { length } = bytes;
  const contents = contentsOf(await engine(), bytes, await readExternal(options));
  return contents && linesOf(contents, length);
}

/**
 * Reads a checkpoint file without a model; undefined if it is not a checkpoint.
 * @param {Engine} from
 * @param {Uint8Array} bytes
 * @param {ExternalFile[]} external
 * @returns {CheckpointContents | undefined}
 */
function contentsOf(from, bytes, external) {
  const session = from.pointer('abi_session_new');
  const [at, length] = from.place('abi_session_file', bytes, session);
  const writer = from.call('abi_checkpoint_writer', at, length);
  if (!writer) return undefined;
  from.takeExternal('abi_session_external', session, external);
  from.run('abi_session_load', session, from.constants.artifacts.checkpoint, at, length);
  return { writer: from.text(writer), ...from.json('abi_session_checkpoint', session) };
}

const count = (/** @type {number} */ number) => number.toLocaleString('en');
const line = (/** @type {string} */ what, /** @type {string} */ text) => `${what.padEnd(17)} ${text}`;

/** @param {CheckpointContents} contents @param {number} bytes */
function linesOf({ writer, nominal, parameters, optimizer, properties, position }, bytes) {
  const [epoch, batches, , examples, batchSize] = position;
  return [
    line('checkpoint', `${writer}'s format, ${count(bytes)} bytes`),
    ...parameters.map((it) => line('parameter', nominal ? `${it.name}  ${it.type}` : parameterOf(it))),
    line('parameters', nominal ? `${parameters.length} by name alone: it is nominal` : sizes(parameters)),
    line('optimizer', optimizer ? optimizerOf(optimizer, writer, parameters) : 'no state'),
    ...(examples
      ? [
          line(
            'data',
            `epoch ${epoch + 1}, ${count(batches)} batches of ${batchSize} done, of ${count(examples)} examples`,
          ),
        ]
      : []),
    ...properties.map((property) => line('property', `${property.name}  ${shown(property)}`)),
  ];
}

/** @param {CheckpointContents['parameters'][number]} parameter */
const parameterOf = (parameter) =>
  `${parameter.name}  ${describeInfo(parameter)}${parameter.trainable ? '' : '  frozen'}`;

/** @param {CheckpointContents['parameters']} parameters */
function sizes(parameters) {
  const sum = (/** @type {typeof parameters} */ of) =>
    count(of.reduce((all, { dims }) => all + dims.reduce((size, d) => size * d, 1), 0));
  return `${sum(parameters)}, of which ${sum(parameters.filter(({ trainable }) => trainable))} are trained`;
}

/**
 * @param {NonNullable<CheckpointContents['optimizer']>} optimizer
 * @param {string} writer
 * @param {CheckpointContents['parameters']} parameters
 */
function optimizerOf(optimizer, writer, parameters) {
  const { steps, learningRate, initialLearningRate, moments } = optimizer;
  const first = learningRate === initialLearningRate ? '' : `, ${shortest(initialLearningRate)} at first`;
  const done = `${count(steps)} steps done, learning rate ${shortest(learningRate)}${first}, ${count(moments)} moments`;
  const trained = parameters.filter(({ trainable }) => trainable).length;
  return `${optimizer.type || unnamed(writer, moments / trained)}, ${done}`;
}

/**
 * The optimizer of a file that does not name it: ONNX Runtime's, which has AdamW and SGD, or Trainlet's older files.
 * @param {string} writer
 * @param {number} each moments of a parameter
 */
function unnamed(writer, each) {
  if (writer === 'Trainlet' || (each !== 1 && each !== 2)) return 'type not named';
  return each === 2 ? 'adamw by its two moments a parameter' : 'sgd by its one moment a parameter';
}

/** A float32 in as few digits as identify it. @param {number} value */
const shortest = (value) => String(Number(value.toPrecision(7)));

/** @param {PropertyEntry} property */
const shown = ({ type, value }) =>
  type === 'string' ? JSON.stringify(value) : type === 'float' ? shortest(Number(value)) : value;
