// Editors show a sentence for each option, callback, field and method of the package's types.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import ts from 'typescript-5.9';
import { root } from '../../support/engines.js';

/** @import { Node } from 'typescript-5.9' */

const FOLDER = path.join(root, 'js/types');
/** They are no options: each field is the name of a type of elements, or the class's own. */
const NAMED = /^(?:DataTypeMap\..*|TensorConstructor\.prototype)$/;

/** @param {Node} node */
const isMember = (node) =>
  ts.isPropertySignature(node) ||
  ts.isPropertyDeclaration(node) ||
  ts.isMethodSignature(node) ||
  ts.isMethodDeclaration(node);

/** @param {Node} node */
const isNamed = (node) =>
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isClassDeclaration(node) ||
  ts.isFunctionDeclaration(node);

/** @param {Node} node */
const hasSentence = (node) => ts.getJSDocCommentsAndTags(node).some((doc) => ts.isJSDoc(doc) && doc.comment);

/** Names of members, functions and classes. @param {string} text @returns {{ all: string[], without: string[] }} */
function found(text) {
  const [all, without] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
  const visit = (/** @type {Node} */ node, /** @type {string} */ within) => {
    const name = isMember(node) || isNamed(node) ? [within, node.name?.getText()].filter(Boolean).join('.') : within;
    if ((isMember(node) || ts.isClassDeclaration(node) || ts.isFunctionDeclaration(node)) && !NAMED.test(name)) {
      all.push(name);
      if (!hasSentence(node)) without.push(name);
    }
    ts.forEachChild(node, (child) => visit(child, name));
  };
  visit(ts.createSourceFile('types.d.ts', text, ts.ScriptTarget.Latest, true), '');
  return { all, without };
}

test('each option, callback, field and method has a sentence', async () => {
  const files = (await readdir(FOLDER, { recursive: true })).filter((file) => file.endsWith('.d.ts'));
  const without = [];
  let count = 0;
  for (const file of files.filter((name) => path.dirname(name) !== 'internal')) {
    const members = found(await readFile(path.join(FOLDER, file), 'utf8'));
    count += members.all.length;
    without.push(...members.without.map((name) => `${file}: ${name}`));
  }
  assert.deepEqual(without, []);
  assert.ok(count > 700, `${count} were looked at`);
});

test('one without a sentence is found, in a union and in an object too', () => {
  const text = `
    export interface Options {
      /** The rate. */
      rate?: number;
      nested?: {
        /** A sentence. */
        first: number;
        second: number;
      };
      onStep?: (event: { step: number }) => unknown;
    }
    export type Choice = 'none' | { type: 'one' };
    export function use(options: Options): void;`;
  const { without } = found(text);
  assert.deepEqual(without, [
    'Options.nested',
    'Options.nested.second',
    'Options.onStep',
    'Options.onStep.step',
    'Choice.type',
    'use',
  ]);
});
