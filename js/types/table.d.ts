/** Tables: CSV or rows of a page to tensors, and the encoding that turns new rows into the same. */

import type { LoadProgress, Source } from './engine.js';
import type { AbortSignal } from './internal/platform.js';
import type { Tensor } from './tensor.js';

/** A row of a page: a value by the name of its column. Null and undefined are missing values. */
export type TableRow = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Options of reading a table; the first five are for a table that is read anew. */
export interface TableOptions {
  /** The column that is to be predicted, or several of numbers. Default: none, and the table has no labels. */
  target?: string | readonly string[];
  /**
   * `regression`: the target is a number, float32 (examples, targets), for `mse`, `l1` and `huber`. `classification`:
   * it is a class, int64 (examples), for `cross-entropy`. Default: classification for texts, true and false, and 0 and
   * 1; else regression.
   */
  task?: 'regression' | 'classification';
  /**
   * Types of columns by their names: `{ zip: 'category' }`. Default: guessed from the cells, and told in `columns`. A
   * guessed category has at most 20 different texts, or half as many as examples up to 100; dates and texts that are
   * all different are refused, and so are numbers among which is another text.
   */
  types?: Readonly<Record<string, TableColumn['type']>>;
  /** Columns that are left out, as names and dates. Default: none. */
  ignore?: readonly string[];
  /**
   * The share of the examples that is held out as `validation`, drawn by `seed`; of each class the same share, of fewer
   * than five examples none. Default 0.
   */
  validation?: number;
  /** The seed of `validation`, a whole number. Default 0. */
  seed?: number;
  /** The encoding of an earlier table: new rows get the same. Default: one is chosen. */
  columns?: readonly TableColumn[];
  /**
   * Cells without a value. `fill` (default): a number becomes its column's mean, a category 0 everywhere. `drop`: such
   * examples are left out. `refuse`: an error names the column. Examples without a target are always left out.
   */
  missing?: 'fill' | 'drop' | 'refuse';
  /** More texts that mean that a value is missing, beside pandas' (empty, NA, NaN, null, …) and the question mark. */
  naValues?: readonly string[];
  /** The names of the columns, of a file whose first line is an example. Default: its first line has them. */
  header?: readonly string[];
  /** The character between cells. Default: the one of , ; tab and | that the first line has most often. */
  separator?: string;
  /** The decimal sign. Default: a comma if more numbers have one (1,5) than a point; `warnings` tells of it. */
  decimal?: '.' | ',';
  /** The encoding of the bytes, as TextDecoder names it. Default: UTF-8, or UTF-16 with a byte order mark. */
  encoding?: string;
  /** The name of the model's input. Default `input_layer`, as that of a network of `trainlet/layers` is called. */
  input?: string;
  /** Stops the loading; the promise is then rejected with the code `aborted`. */
  signal?: AbortSignal;
  /** Told while the file is loaded, with the source `table`. */
  onProgress?: (progress: LoadProgress) => void;
}

/** A column and its encoding. It is plain data: JSON keeps it whole. */
export interface TableColumn {
  /** The name in the table. */
  readonly name: string;
  /** Part of the model's input, or what it learns to predict. */
  readonly role: 'input' | 'target';
  /** A boolean is 0 or 1; a category takes an element of each row for each text that it may be (one-hot). */
  readonly type: 'number' | 'boolean' | 'category';
  /** Texts in the order of the alphabet, numbers by their size. Absent for numbers and booleans. */
  readonly categories?: readonly string[];
  /** The mean of the examples to train on. Absent for a category. */
  readonly mean?: number;
  /** Their variance, over their count as in scikit-learn; 1 if all are the same. Absent for a category. */
  readonly variance?: number;
}

/** Examples as `fit`, `evaluate` and `predict` take them. */
export interface TableExamples {
  /** Float32 (examples, features), by the name of the model's input. */
  readonly inputs: Record<string, Tensor<'float32'>>;
  /** `labels` of a classification, `target` of a regression. */
  readonly labels: Record<string, Tensor>;
}

/** A table without a target has no labels. */
export interface Table extends Omit<TableExamples, 'labels'> {
  /** `labels` of a classification, `target` of a regression; absent without a target. */
  readonly labels?: TableExamples['labels'];
  /** The encoding, for new rows: `readTable(rows, { columns })`. */
  readonly columns: readonly TableColumn[];
  /** The name of each element of a row: a column's, or `column=category`. */
  readonly features: readonly string[];
  /** The mean of each feature in the examples to train on, for a normalization; 0 for a category. */
  readonly mean: readonly number[];
  /** The variance of each feature there; 1 for a category. */
  readonly variance: readonly number[];
  /** The names of the classes, in the order of their indices. Absent without classes. */
  readonly classes?: readonly string[];
  /** The examples that are held out. Absent if none are. */
  readonly validation?: TableExamples;
  /** A sentence for each guess and loss that one may want to know of: filled cells, columns and rows left out. */
  readonly warnings: readonly string[];
}

/**
 * Reads a table to train on: CSV in a file, at a URL, in Node at a path, or as a text of several lines; or an array of
 * rows. `columns` has the encoding, with which new rows become the same inputs.
 * ```js
 * const { inputs, labels, columns } = await readTable('houses.csv', { target: 'price' });
 * await session.fit({ inputs, labels });
 * const house = await readTable([{ rooms: 4, city: 'Bern' }], { columns });
 * const { price } = await session.predict(house.inputs);
 * ```
 * Errors: `invalid-argument` (options), `source-unreadable` (what is no table, or has cells that nothing can be learned
 * from), `aborted`.
 */
export function readTable(
  source: Source | readonly TableRow[],
  options: TableOptions & {
    /** The column that is to be predicted, or several of numbers. */
    target: string | readonly string[];
  },
): Promise<Table & TableExamples>;
/** Reads a table without a target, as new rows whose target is to be predicted. */
export function readTable(source: Source | readonly TableRow[], options?: TableOptions): Promise<Table>;
