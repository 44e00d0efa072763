/** A table's encoding: chosen from its rows, or that of an earlier table for new rows. */

import { invalid } from '../base/errors.js';
import { Tensor } from '../base/tensor.js';
import { unreadable } from './csv.js';
import { drawRows } from './split.js';
import { encode, featuresOf, guessType, momentsOf, sorted, valuesOf } from './table-columns.js';

/** @import { Table, TableColumn, TableExamples, TableOptions } from '../types.js' */
/** @import { Reader, Values } from './table-columns.js' */
/**
 * @typedef {Reader & { names: readonly string[], rows: readonly string[][] }} Loaded
 * @typedef {Pick<TableColumn, 'name' | 'role' | 'type' | 'categories'>} Typed
 */

/** Numbers to predict with so few different whole values may be meant as classes. */
const FEW_NUMBERS = 10;
/** Fewer texts that are all different are no surprise. */
const UNLIKE = 5;

/**
 * @param {Loaded} loaded @param {TableOptions} options
 * @returns {Table}
 */
export function encodeAnew(loaded, options) {
  const targets = [options.target ?? []].flat();
  checkNames(loaded, targets, options);
  const columns = typedColumns(loaded, targets, options);
  const rows = usedRows(loaded, columns, options.missing);
  const values = valuesOfAll(loaded, columns);
  const classes = values[columns.findIndex(isClasses)];
  const { validation = 0, seed = 0, input } = options;
  const labels = rows.map((row) => classes?.[row] ?? 0);
  const [kept, held] = drawRows(labels, validation, seed).map((part) => part.map((i) => rows[i]));
  const described = columns.map((column, c) => ({ ...column, ...momentsOf(values[c], kept) }));
  const part = (/** @type {readonly number[]} */ some) => tensorsOf(described, values, some, input);
  return { ...part(kept), ...summaryOf(described, loaded.warnings), ...(held.length && { validation: part(held) }) };
}

/**
 * Encodes new rows as an earlier table was. They have labels if no cell of the targets is missing.
 * @param {Loaded} loaded @param {readonly TableColumn[]} columns @param {TableOptions} options
 * @returns {Table}
 */
export function encodeAgain(loaded, columns, { missing, input }) {
  const { where, names } = loaded;
  const wanted = columns.filter(
    ({ role, name }) =>
      role === 'input' || (names.includes(name) && !cellsOf(loaded, name).some((cell) => loaded.isMissing(cell))),
  );
  const without = wanted.filter(({ name }) => !names.includes(name)).map(({ name }) => `'${name}'`);
  if (without.length)
    throw unreadable(`${where} has no column ${without.join(', ')}, which the table before had; it has ${names}`);
  const rows = usedRows(loaded, wanted, missing);
  return { ...tensorsOf(wanted, valuesOfAll(loaded, wanted), rows, input), ...summaryOf(columns, loaded.warnings) };
}

/** @param {Loaded} loaded @param {readonly string[]} target @param {TableOptions} options */
function checkNames({ where, names }, target, { types = {}, ignore = [] }) {
  for (const [option, list] of Object.entries({ target, types: Object.keys(types), ignore })) {
    const odd = list.find((name) => !names.includes(name));
    if (odd !== undefined)
      throw invalid(`readTable: ${option} names '${odd}', and the columns of ${where} are ${names.join(', ')}`);
  }
}

/** @param {Loaded} table @param {string} name */
const cellsOf = ({ names, rows }, name) => rows.map((row) => row[names.indexOf(name)]);

/** @param {Loaded} table @param {readonly Typed[]} columns */
const valuesOfAll = (table, columns) => columns.map((column) => valuesOf(column, cellsOf(table, column.name), table));

/**
 * The columns that are used, with their types.
 * @param {Loaded} table @param {readonly string[]} targets @param {TableOptions} options
 * @returns {Typed[]}
 */
function typedColumns(table, targets, { types = {}, ignore = [], task }) {
  const columns = /** @type {Typed[]} */ ([]);
  const refusals = /** @type {string[]} */ ([]);
  for (const name of table.names) {
    const cells = ignore.includes(name) ? [] : cellsOf(table, name);
    const present = cells.filter((cell) => !table.isMissing(cell));
    if (!present.length && targets.includes(name)) refusals.push(`column '${name}' has no value to learn`);
    if (cells.length && (!name || !present.length))
      table.warnings.push(
        name ? `column '${name}' has no value: it is left out` : 'a column without a name is left out',
      );
    if (!name || !present.length) continue;
    const { type = types[name], refusal } = types[name] ? {} : guessType(name, cells, table);
    if (refusal) refusals.push(refusal);
    if (!type) continue;
    const column = targets.includes(name)
      ? { name, role: /** @type {const} */ ('target'), type: targetType(table, name, type, task) }
      : { name, role: /** @type {const} */ ('input'), type };
    columns.push({ ...column, ...(column.type === 'category' && { categories: sorted(present) }) });
    if (cells.length > 1 && present.every((cell) => cell === present[0]))
      tellOfSame(table, columns[columns.length - 1], present[0]);
    if (!types[name]) tellOfUnlike(table, columns[columns.length - 1], present.length);
  }
  if (refusals.length) throw unreadable(`${table.where}: ${refusals.join('; ')}`);
  checkTargets(table, columns);
  return columns;
}

/** @param {Loaded} table @param {Typed} column @param {string} cell */
function tellOfSame({ where, warnings }, { name, role, type }, cell) {
  const same = `column '${name}' is '${cell}' in every example`;
  if (role === 'target' && type === 'category')
    throw unreadable(`${where}: ${same}: there must be two classes at least`);
  warnings.push(`${same}: nothing can be learned from it`);
}

/**
 * An input whose texts are all different can only tell the examples apart, as a name or number of theirs.
 * @param {Loaded} table @param {Typed} column @param {number} present cells that are not missing
 */
function tellOfUnlike({ warnings }, { name, role, categories }, present) {
  if (role === 'input' && present >= UNLIKE && categories?.length === present)
    warnings.push(`column '${name}' has another text in every example, as a name has: ignore it, if it is one`);
}

/**
 * The type of a column that is to be predicted: texts and 0 with 1 are classes, other numbers are numbers.
 * @param {Loaded} table @param {string} name @param {TableColumn['type']} type @param {TableOptions['task']} task
 */
function targetType(table, name, type, task) {
  if (task === 'regression' && type === 'category')
    throw unreadable(`${table.where}: regression needs numbers, and column '${name}' has texts`);
  if (task) return task === 'classification' ? 'category' : type;
  const different = new Set(cellsOf(table, name).filter((cell) => !table.isMissing(cell)));
  if (type === 'boolean' || [...different].sort().join() === '0,1') return 'category';
  const areWhole = type === 'number' && [...different].every((cell) => /^\d+$/.test(cell));
  if (areWhole && different.size <= FEW_NUMBERS && different.size < table.rows.length)
    table.warnings.push(
      `column '${name}' has ${different.size} different whole numbers and is read as a number; ` +
        "task: 'classification' makes them classes",
    );
  return type;
}

/** @param {Typed} column */
const isClasses = ({ role, type }) => role === 'target' && type === 'category';

/** @param {Loaded} table @param {readonly Typed[]} columns */
function checkTargets({ where }, columns) {
  const targets = columns.filter(({ role }) => role === 'target');
  if (targets.length > 1 && targets.some(isClasses))
    throw unreadable(
      `${where}: of several targets each must be numbers, and '${targets.find(isClasses)?.name}' is not`,
    );
  if (targets.length === columns.length) throw unreadable(`${where}: no column is left to learn from`);
}

/**
 * The rows that are used: those with a target, and where missing cells are not filled with all values.
 * @param {Loaded} table @param {readonly Typed[]} columns @param {TableOptions['missing']} missing
 */
function usedRows(table, columns, missing = 'fill') {
  const targets = columns.filter(({ role }) => role === 'target');
  const all = table.rows.map((_, row) => row);
  const learned = withValues(table, all, targets, `without '${targets.map(({ name }) => name).join("' or '")}'`);
  if (missing === 'drop') return withValues(table, learned, columns, 'with a cell without a value');
  for (const column of columns) {
    const count = learned.filter((row) => lacksValue(table, column, row)).length;
    if (!count) continue;
    const vacant = `column '${column.name}' has ${counted(count, 'cell')} without a value`;
    if (missing === 'refuse') throw unreadable(`${table.where}: ${vacant}`);
    table.warnings.push(
      `${vacant}: ${column.type === 'category' ? 'all its categories are 0' : 'its mean is put'} there`,
    );
  }
  return learned;
}

/**
 * The rows in which each of these columns has a value.
 * @param {Loaded} table @param {readonly number[]} rows @param {readonly Typed[]} columns
 * @param {string} others what the other rows are like
 */
function withValues(table, rows, columns, others) {
  const whole = rows.filter((row) => !columns.some((column) => lacksValue(table, column, row)));
  if (!whole.length) throw unreadable(`${table.where} has only examples ${others}`);
  const count = rows.length - whole.length;
  if (count) table.warnings.push(`left out: ${counted(count, 'example')} ${others}`);
  return whole;
}

/** @param {Loaded} table @param {Typed} column @param {number} row */
const lacksValue = ({ rows, names, isMissing }, { name }, row) => isMissing(rows[row][names.indexOf(name)]);

/** @param {number} count @param {string} noun */
const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/**
 * @param {readonly TableColumn[]} columns @param {readonly Values[]} values @param {readonly number[]} rows
 * @param {string} [input]
 * @returns {TableExamples} without labels where there are no targets
 */
function tensorsOf(columns, values, rows, input = 'input_layer') {
  const part = (/** @type {TableColumn['role']} */ wanted) => {
    const places = columns.flatMap(({ role }, c) => (role === wanted ? c : []));
    return { columns: places.map((c) => columns[c]), values: places.map((c) => values[c]) };
  };
  const [given, target] = [part('input'), part('target')];
  const inputs = { [input]: encode(given.columns, given.values, rows) };
  if (!target.columns.length) return /** @type {any} */ ({ inputs });
  if (!target.columns.some(isClasses))
    return { inputs, labels: { target: encode(target.columns, target.values, rows) } };
  const classes = BigInt64Array.from(rows, (row) => BigInt(target.values[0][row]));
  return { inputs, labels: { labels: new Tensor('int64', classes) } };
}

/** @param {readonly TableColumn[]} columns @param {string[]} warnings */
function summaryOf(columns, warnings) {
  const inputs = columns.filter(({ role }) => role === 'input');
  const each = (/** @type {'mean' | 'variance'} */ moment, /** @type {number} */ ofCategory) =>
    inputs.flatMap((column) => column.categories?.map(() => ofCategory) ?? column[moment] ?? ofCategory);
  return {
    columns,
    features: inputs.flatMap(featuresOf),
    mean: each('mean', 0),
    variance: each('variance', 1),
    classes: columns.find(isClasses)?.categories,
    warnings,
  };
}
