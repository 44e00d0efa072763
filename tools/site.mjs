// npm run site: the site as a folder for any static host, build/site: the guides, what was measured, the reference made
// from js/types, and the demos at demo/. Its own packages are those of docs/package.json, installed when first needed.
//
//   node tools/site.mjs [--base /trainlet/] [--stale] [--serve]

import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { changedAt, ENGINES, Failure, root, runMain, say } from './programs.mjs';
import { startServer } from './serve-demo.js';

const HELP = `npm run site -- [--base /PATH/] [--stale] [--serve]
Writes build/site, a folder for any static host.

  --base /PATH/    the path under which it will stand; default /, the root of its host
  --stale          only if a source has changed since it was written
  --serve          then serves it on this machine`;
const docs = join(root, 'docs');
const source = join(docs, '.vitepress/pages');
const site = join(root, 'build/site');
const built = join(root, 'build/site-built.json');
const FOLDERS = ['learn', 'guides', 'measured', 'internals'];
/** Folders of web-demo that stand beside demo/ in the site. */
const APPS = ['play', 'try'];
/** Pages that stand elsewhere in the repository, by their address in the site. */
const PAGES = {
  'internals/contributing.md': 'CONTRIBUTING.md',
  'internals/operators.md': 'src/ops/README.md',
  'internals/wasm.md': 'wasm/README.md',
  'internals/formats.md': 'schema/VERSIONS.md',
  'guides/security.md': 'SECURITY.md',
  'guides/changes.md': 'CHANGELOG.md',
  'guides/pictures-model.md': 'web-demo/pictures/backbone/README.md',
  'guides/writer-model.md': 'web-demo/writer/base/README.md',
  'guides/pictures-card.md': 'models/pictures.md',
  'guides/notices.md': 'THIRD-PARTY-NOTICES.md',
  'guides/start.md': 'README.md',
  'index.md': 'docs/index.md',
};
/** TypeDoc writes these as tables, a line each. */
const TABLES = ['interfaceProperties', 'typeAliasProperties', 'propertyMembers', 'parameters', 'enumMembers'];
const LINK = /(\]\()([^)\s#]+)(#[^)\s]*)?\)/g;

/** Installs what docs/package.json names, where it is not there at its version. */
function install() {
  const { dependencies } = JSON.parse(readFileSync(join(docs, 'package.json'), 'utf8'));
  const isThere = ([name, version]) => {
    const file = join(docs, 'node_modules', name, 'package.json');
    return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === version;
  };
  if (Object.entries(dependencies).every(isThere)) return;
  say('Installing VitePress and TypeDoc into docs/node_modules …');
  const quiet = ['--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund', '--fetch-retries=1'];
  try {
    run('npm', ['install', ...quiet, '--fetch-retry-mintimeout=2000']);
  } catch ({ message }) {
    const [, code = 'npm install failed in docs/'] = /npm (?:error|ERR!) code (\w+)/.exec(message) ?? [];
    throw new Failure(`the packages of docs/package.json could not be installed (${code})`);
  }
}

/** Runs a program in docs/ to its end; what it prints is told when it fails. */
function run(program, args, env = {}) {
  try {
    execFileSync(program, args, { cwd: docs, encoding: 'utf8', stdio: 'pipe', env: { ...process.env, ...env } });
  } catch (error) {
    throw new Failure(`${program} ${args[0]} failed:\n${error.stdout}${error.stderr}`);
  }
}

/** True if build/site stands under this base, and nothing that it is made of has changed since. */
function isCurrent(base) {
  if (!existsSync(built) || !existsSync(join(site, 'index.html'))) return false;
  const last = JSON.parse(readFileSync(built, 'utf8'));
  const pages = FOLDERS.map((folder) => `docs/${folder}`);
  const folders = [...pages, 'docs/.vitepress/theme', 'examples', 'js', 'models', 'web-demo'];
  const inFolder = (folder) => [
    folder,
    ...readdirSync(join(root, folder), { recursive: true }).map((f) => join(folder, f)),
  ];
  const config = ['config.mjs', 'run.mjs'].map((file) => `docs/.vitepress/${file}`);
  const own = [...config, 'docs/package.json', 'tools/site.mjs', ...Object.values(PAGES)];
  const files = [...own, ...folders.flatMap(inFolder)];
  return last.base === base && files.every((file) => changedAt(join(root, file)) < last.since);
}

/** All pages: the address in the site by the path in the repository. */
function pages() {
  const own = FOLDERS.flatMap((folder) =>
    readdirSync(join(docs, folder))
      .filter((file) => file.endsWith('.md'))
      .map((file) => [`docs/${folder}/${file}`, `${folder}/${file}`]),
  );
  return new Map([...own, ...Object.entries(PAGES).map(([address, file]) => [file, address])]);
}

/**
 * The text with its links as the site has them: to a page, to a demo, or to a copy of a file of the repository; a link
 * to another folder leads to the map of folders.
 */
function relink(text, file, all, at = all.get(file)) {
  return text.replace(LINK, (whole, open, target, anchor = '') => {
    if (/^[a-z]+:/.test(target)) return whole;
    const path = posix.normalize(posix.join(posix.dirname(file), target));
    const demo = demoAt(path);
    if (demo) return `${open}${posix.relative(posix.dirname(at), demo)}/${anchor}){target="_self"}`;
    const address = all.get(path) ?? copied(path);
    const link = posix.relative(posix.dirname(at), address);
    const isFile = !/^source\/.*\.(webp|svg)$|^(?!source\/).*\.md$/.test(address); // no page, so not the router's
    return `${open}${link.startsWith('.') ? link : `./${link}`}${anchor})${isFile ? '{target="_self"}' : ''}`;
  });
}

/** Pages and examples that a text names without a link, since the package lacks them, become links. */
function linkNames(text, file) {
  return text.replace(/(?<![[\w])`((?:docs|examples)\/[\w/.-]+\.\w+|CONTRIBUTING\.md)`(?!\])/g, (name, path) =>
    existsSync(join(root, path)) ? `[${name}](${posix.relative(posix.dirname(file), path)})` : name,
  );
}

/** The address of a page of web-demo; VitePress's router must not open it. */
function demoAt(path) {
  const [isDemo, folder = ''] = /^web-demo(?:\/(.*?))?\/?(?:index\.html)?$/.exec(path) ?? [];
  if (isDemo === undefined || !existsSync(join(root, 'web-demo', folder, 'index.html'))) return undefined;
  return APPS.includes(folder.split('/')[0]) ? folder : posix.join('demo', folder);
}

/** Copies a file that a page links to; a picture goes where VitePress bundles it from. */
function copied(path) {
  const address = `source/${path.replace(/\/$/, '')}`;
  const from = join(root, path);
  if (!existsSync(from)) throw new Failure(`a page links to ${path}, which is not there`);
  const isFolder = !/\.[a-z]+$/.test(path);
  const to = join(source, /\.(webp|svg)$/.test(path) ? '' : 'public', address);
  mkdirSync(dirname(to), { recursive: true });
  if (!isFolder) cpSync(from, to);
  return isFolder ? 'internals/map.md' : address;
}

function writePages() {
  const all = pages();
  for (const [file, address] of all) {
    const to = join(source, address);
    mkdirSync(dirname(to), { recursive: true });
    const text = relink(linkNames(readFileSync(join(root, file), 'utf8'), file), file, all);
    writeFileSync(to, address === 'index.md' ? text.replace("README.md's figures", figures(all)) : text);
  }
}

/** The table at the head of README.md as a list for the landing. */
function figures(all) {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const rows = [...readme.matchAll(/^\| (\*\*.*?\*\*) \| (.*?) \| (`.*?`) \|$/gm)];
  if (rows.length !== 4) throw new Failure(`README.md has ${rows.length} figures, not four`);
  const list = rows.map(([, figure, fact, command]) => `- ${figure} ${fact}. ${command}`).join('\n');
  return relink(list, 'README.md', all, 'index.md');
}

/** A page for each file of js/types, with every exported name. */
function writeReference() {
  const files = ['js/types', 'js/types/layers', 'js/types/federated'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith('.d.ts'))
      .map((file) => join(root, folder, file)),
  );
  const options = {
    entryPoints: files,
    tsconfig: join(root, 'tsconfig.json'),
    plugin: ['typedoc-plugin-markdown'],
    out: join(source, 'reference'),
    router: 'module',
    readme: 'none',
    entryFileName: 'index',
    disableSources: true,
    skipErrorChecking: true,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    tableColumnSettings: { hideModifiers: true },
    ...Object.fromEntries(TABLES.map((kind) => [`${kind}Format`, 'table'])),
  };
  writeFileSync(join(source, 'typedoc.json'), JSON.stringify(options));
  run('node_modules/.bin/typedoc', ['--options', join(source, 'typedoc.json')]);
  for (const page of readdirSync(options.out, { recursive: true }).filter((file) => file.endsWith('.md'))) {
    const file = join(options.out, page);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+/g, fenced));
  }
}

/** Indented code of a comment as a block with its language. */
const fenced = (code) => `\`\`\`js\n${code.replace(/^ {4}/gm, '')}\`\`\`\n`;

/** The reference's first page: every exported name with its first sentence. Names without one are refused. */
function writeIndexOfNames() {
  const folder = join(source, 'reference');
  const pages = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.md') && file !== 'index.md');
  const names = pages.flatMap((page) => namesOf(readFileSync(join(folder, page), 'utf8'), page));
  const bare = names.filter(({ sentence }) => !sentence).map(({ name, page }) => `${name} (${page})`);
  if (bare.length) throw new Failure(`exported names without a sentence in js/types: ${bare.join(', ')}`);
  const own = names.filter(({ sentence }) => !sentence.startsWith('Re-exports '));
  const rows = own
    .sort((a, b) => a.name.localeCompare(b.name, 'en'))
    .map(({ name, page, anchor, sentence }) => `| [${name}](${page}#${anchor}) | ${sentence} |`);
  const text = `# Reference

Every exported name, with its types, units and defaults. Options of the command line are in
[their own page](../guides/command-line-options.md), codes of errors with cause and cure in
[errors](../guides/errors.md), the C API in [Trainlet in C programs](../guides/native.md).

| name | |
|---|---|
`;
  writeFileSync(join(folder, 'index.md'), `${text}${rows.join('\n')}\n`);
}

/** The names of a page of TypeDoc's, headings of the third level, each with the first sentence below it. */
function namesOf(text, page) {
  return text
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const heading = section.slice(0, section.indexOf('\n'));
      const name = heading.replace(/\(\)$/, '').replaceAll('\\', '');
      const sentence = firstSentence(section.slice(heading.length)).replaceAll('|', '\\|');
      return { name, page, anchor: name.toLowerCase(), sentence };
    });
}

/** The first sentence of the first paragraph, without links. */
function firstSentence(text) {
  const blocks = text
    .replace(/^---\n.*?\n---\n/s, '')
    .replace(/^```.*?^```/gms, '')
    .split(/\n{2,}/);
  const paragraph = blocks.map((block) => block.trim()).find((block) => /^[\w`[]/.test(block)) ?? '';
  const plain = paragraph.replaceAll('\n', ' ').replace(/\[((?:[^\][]|\[[^\]]*\])*)\]\([^)]*\)/g, '$1');
  return /^.*?\.(?= [A-Z`]|$)|^.*/.exec(plain)[0].replace(/:$/, '.');
}

/** A list of all pages for language models, by their titles and first sentences. */
function writeList(base) {
  const line = ([file, address]) => {
    const text = readFileSync(join(root, file), 'utf8');
    const title = /^# (.*)$/m.exec(text)[1].replaceAll('`', '');
    return `- [${title}](${base}${address.replace(/\.md$/, '.html')}): ${firstSentence(text)}`;
  };
  const lines = [...pages()].filter(([, address]) => address !== 'index.md').map(line);
  const reference = `- [Reference](${base}reference/): Every exported name.`;
  const demos = {
    'demo/': 'A network learns handwriting.',
    'demo/pictures/': 'Classes of pictures, from a camera or files.',
    'demo/writer/': 'A language model learns a style.',
    'play/': 'An editor that runs and trains.',
    'try/': 'Looks into an ONNX file, and trains it.',
  };
  const toTry = Object.entries(demos).map(
    ([address, told]) => `- [${address.slice(0, -1)}](${base}${address}): ${told}`,
  );
  const head = [
    '# Trainlet',
    '',
    '> Trains ONNX neural networks in the browser, in Node and in C, on the processor.',
    '',
  ];
  const all = [...head, '## Pages', ...lines, reference, '', '## To try', ...toTry];
  writeFileSync(join(site, 'llms.txt'), `${all.join('\n')}\n`);
}

/** The demos with the package that they import, as the server of `npm start` serves them. */
async function copyDemos() {
  const demos = join(root, 'web-demo');
  const isApp = (file) => APPS.includes(relative(demos, file).split('/')[0]);
  cpSync(demos, join(site, 'demo'), { recursive: true, filter: (file) => !isApp(file) });
  for (const app of APPS) cpSync(join(demos, app), join(site, app), { recursive: true });
  await bundleEditor();
  cpSync(join(root, 'models'), join(site, 'models'), { recursive: true });
  cpSync(join(root, 'js'), join(site, 'js'), {
    recursive: true,
    filter: (file) => !/\/(cli|types)(\/|$)|\.d\.ts$/.test(relative(root, file)),
  });
  const tokenizers = 'node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs';
  cpSync(join(root, tokenizers), join(site, tokenizers));
  writeFileSync(join(site, '.nojekyll'), ''); // GitHub Pages leaves out folders of some names without it
  for (const name of ENGINES)
    if (!existsSync(join(site, 'js/engine', name))) throw new Failure(`there is no ${name}: npm run build`);
}

/** The playground's editor by CodeMirror, with the packages of docs/package.json, in the place of the plain one. */
async function bundleEditor() {
  const editor = join(site, 'play/codemirror.js');
  const { build } = await import('esbuild');
  await build({
    entryPoints: [editor],
    outfile: join(site, 'play/editor.js'),
    allowOverwrite: true,
    nodePaths: [join(docs, 'node_modules')],
    bundle: true,
    format: 'esm',
    minify: true,
    target: 'es2022',
    logLevel: 'silent',
  }).catch(({ message }) => {
    throw new Failure(`play/codemirror.js could not be bundled: ${message}`);
  });
  rmSync(editor);
}

async function build(base) {
  const since = Date.now();
  install();
  for (const old of [source, site]) rmSync(old, { recursive: true, force: true });
  mkdirSync(source, { recursive: true });
  writePages();
  cpSync(join(root, 'web-demo/icon.svg'), join(source, 'public/icon.svg'));
  writeReference();
  writeIndexOfNames();
  run('node_modules/.bin/vitepress', ['build', '.'], { SITE_BASE: base });
  await copyDemos();
  writeList(base);
  writeFileSync(built, JSON.stringify({ base, since }));
}

runMain(async () => {
  const flag = /** @type {const} */ ({ type: 'boolean' });
  const options = { base: { type: 'string', default: '/' }, stale: flag, serve: flag, help: flag };
  const { values } = parseArgs({ options });
  if (values.help) return console.log(HELP);
  if (!values.stale || !isCurrent(values.base)) await build(values.base);
  say(`The site is in ${relative(root, site)}.`);
  if (values.serve) say(`It is at ${(await startServer({ site: true })).url} (Ctrl-C ends it).`);
});
