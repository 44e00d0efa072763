/** Adapters (LoRA): options, files and choice. */

import type { Source } from './engine.js';
import type { Bytes } from './internal/platform.js';

/**
 * LoRA (Hu et al. 2021): beside frozen weights small matrices train, y = W x + (alpha / r) · B(A(dropout(x))). Names,
 * meanings and defaults are PEFT's, whose spelling (`lora_alpha`, `target_modules`, …) is taken as well, and so is the
 * content of a whole `adapter_config.json`, where what it asks for is here.
 */
export interface LoraOptions {
  /** The rank: rows of A, columns of B. Default 8. */
  r?: number;
  /** Default 8. What the branch gives counts alpha / r times, with `rsLora` alpha / √r times. */
  alpha?: number;
  /** The probability with which a number that A reads is dropped in training; default 0. None of an embedding's. */
  dropout?: number;
  /**
   * The modules that are adapted: names, ends of names from a dot on (`q_proj`), or globs over these; default
   * `'all-linear'`: every Gemm, MatMul and MatMulNBits of a frozen weight but those that no other comes after. By name
   * also convolutions of one group and embeddings (Gather). A module is called what the exporter notes; else after the
   * node's path (`/model/layers.0/self_attn/q_proj/MatMul`), else after the weight; a name that matches none is an
   * error that lists them.
   */
  targets?: string | readonly string[];
  /** Exceptions among these modules; the same kinds of names. Default: none. */
  exclude?: string | readonly string[];
  /** Rank-stabilized (Kalajdzievski 2023): see `alpha`. Default false. */
  rsLora?: boolean;
  /** Another rank for modules by name, as `{ down_proj: 4 }`; the first that matches. Default: none. */
  rankPattern?: Readonly<Record<string, number>>;
  /** Another alpha, likewise. */
  alphaPattern?: Readonly<Record<string, number>>;
  /** Modules whose own parameters train, as a classifier's. Default: none. */
  modulesToSave?: readonly string[];
  /**
   * The initial values of the matrices: `kaiming-uniform` (the default: A even between ± 1 / √inputs) or `gaussian` (A
   * normal with deviation 1 / r); B is zero. Of an embedding A is zero and B standard normal. The same in every run.
   */
  init?: 'kaiming-uniform' | 'gaussian';
  /** The biases that train too: `none` (the default), `all`, or `lora_only`: those of the modules that are adapted. */
  bias?: 'none' | 'all' | 'lora_only';
  /** Names of modules by the name of their node or weight, where those found are not PyTorch's. */
  moduleNames?: Readonly<Record<string, string>>;
}

/** The files of an adapter's folder, as PEFT names them. */
export interface AdapterFiles {
  /** The numbers of what trains, by PEFT's names. */
  'adapter_model.safetensors': Bytes;
  /** The ranks, alphas and modules, as UTF-8 JSON. */
  'adapter_config.json': Bytes;
}

/**
 * The file of an adapter as ONNX Runtime reads it: the inputs of a model that was exported with `adapters: 'inputs'`.
 */
export interface OnnxAdapterFiles {
  /** The matrices A and B, float32, by the names of the model's inputs. */
  'adapter.onnx_adapter': Bytes;
}

/** One of PEFT's, or `adapter.onnx_adapter`. */
export interface AdapterSources {
  /** The numbers of a PEFT adapter. Default: those of `adapter.onnx_adapter`. */
  'adapter_model.safetensors'?: Source;
  /** Checked against the artifacts' ranks and alphas, which the other files do not tell. Default: not checked. */
  'adapter_config.json'?: Source;
  /** The file of an adapter in ONNX Runtime's format. Default: PEFT's files. */
  'adapter.onnx_adapter'?: Source;
}

/** Options of `exportAdapter`. */
export interface ExportAdapterOptions {
  /**
   * Default `peft`, its folder. `onnx`: one file in ONNX Runtime's own format (`LoraAdapter`, Python's
   * `AdapterFormat`): A and B under the names of the inputs of `exportModel({ adapters: 'inputs' })`,
   * as float32; alpha / r is in that model. It takes none of the options below, and cannot hold what trains whole.
   */
  format?: 'peft' | 'onnx';
  /**
   * The type in which numbers are kept; default `float32`. Half of the bytes are enough for most: `float16`,
   * `bfloat16`.
   */
  type?: 'float32' | 'float16' | 'bfloat16';
  /** A prefix of the modules' names that PyTorch's names lack, as `'model.'` of a wrapper; default '': nothing. */
  prefix?: string;
  /** The name of the base in the configuration, for example `'HuggingFaceTB/SmolLM2-135M'`. Default: nothing. */
  baseModel?: string;
}

/** An adapter by its name; null: none, the base alone; weights by name: their sum. */
export type AdapterChoice = string | null | Readonly<Record<string, number>>;

/** The adapters of a session. */
export interface Adapters {
  /** In the order in which they were added; the artifacts' own is called `default`. Empty without `lora`. */
  readonly names: readonly string[];
  /**
   * The last argument of `useAdapter`: a name, weights by name, or null; null too without `lora`, and where a
   * checkpoint was saved while a sum was in use, which then answers until another is used.
   */
  readonly active: string | null | Readonly<Record<string, number>>;
}
