// Packs the package for a release, with its addresses in package.json, and publishes it where asked: HELP says how.
// `npm publish` by hand runs this without options, which is refused.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../js/cli/options.js';
import { Failure, remove, root, runMain, say } from './programs.mjs';

const HELP = `node tools/release.mjs --repository URL [--homepage URL] [--bugs URL] [--publish]
Builds the package and packs it in build/release, with its addresses in package.json.

  --repository URL  the source, as https://HOST/OWNER/NAME
  --homepage URL    default: the repository's readme
  --bugs URL        default: the repository's issues
  --publish         gives the tarball to npm
`;
const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  repository: { type: 'string' },
  homepage: { type: 'string' },
  bugs: { type: 'string' },
  publish: { type: 'boolean' },
};
const FOLDER = join(root, 'build/release');

/**
 * The fields of package.json that say where the project is.
 * @param {{ repository?: string, homepage?: string, bugs?: string }} given
 */
export function addressesOf({ repository, homepage, bugs }) {
  if (!repository)
    throw new Failure('package.json has no repository: publish by node tools/release.mjs --repository URL --publish.');
  const url = addressOf('repository', repository).replace(/(\.git)?\/?$/, '');
  return {
    repository: { type: 'git', url: `git+${url}.git` },
    homepage: addressOf('homepage', homepage ?? `${url}#readme`),
    bugs: { url: addressOf('bugs', bugs ?? `${url}/issues`) },
  };
}

/** @param {string} name @param {string} text */
function addressOf(name, text) {
  if (URL.canParse(text) && new URL(text).protocol === 'https:') return text;
  throw new Failure(`--${name} must be an address that begins with https://, not '${text}'.`);
}

/**
 * Packs the contents of a tarball anew with more fields in package.json.
 * @param {string} tarball @param {object} fields @param {string} folder where the new one goes, and its contents
 * @returns {string} the new tarball
 */
export function packWith(tarball, fields, folder) {
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  const contents = join(folder, 'package');
  const file = join(contents, 'package.json');
  writeFileSync(file, `${JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...fields }, null, 2)}\n`);
  const made = npmPack(contents, ['--ignore-scripts', '--pack-destination', folder]);
  return join(folder, made);
}

/** @param {string} folder of a package.json @param {string[]} options @returns {string} the tarball's name */
function npmPack(folder, options) {
  const stdio = /** @type {const} */ (['ignore', 'pipe', 'inherit']);
  return execFileSync('npm', ['pack', ...options], { cwd: folder, encoding: 'utf8', stdio })
    .trim()
    .split('\n')
    .at(-1);
}

function readValues() {
  try {
    return readOptions(process.argv.slice(2), OPTIONS).values;
  } catch (error) {
    throw new Failure(`${error.message} (see node tools/release.mjs --help)`);
  }
}

async function main() {
  const values = readValues();
  if (values.help) return void process.stdout.write(HELP);
  const fields = addressesOf(values);
  remove(FOLDER);
  mkdirSync(FOLDER, { recursive: true });
  const built = npmPack(root, ['--pack-destination', FOLDER]); // its prepack builds
  const tarball = packWith(join(FOLDER, built), fields, FOLDER);
  say(`Packed: ${relative(root, tarball)}, ${readFileSync(tarball).length} bytes.`);
  if (values.publish) execFileSync('npm', ['publish', tarball, '--ignore-scripts'], { stdio: 'inherit' });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runMain(main);
