/** The site's pages, which tools/site.mjs has gathered in docs/.vitepress/pages, their menus and their search. */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { runnable } from './run.mjs';

const source = fileURLToPath(new URL('pages/', import.meta.url));

const LEARN = { Learn: ['first-network', 'from-pytorch', 'from-keras', 'pictures', 'gestures', 'words', 'never-worse'] };
/** Pages of the guides in groups. A page that no group names stands under "More". */
const GUIDES = {
  Begin: ['start', 'faq', 'hosts', 'threads'],
  Models: ['layers', 'pretrained', 'exporting', 'scikit-learn', 'control-flow'],
  Data: ['samples', 'tables'],
  Training: ['training', 'losses', 'fine-tuning', 'adapters', 'generate', 'federated', 'training-info'],
  Ship: ['compact', 'minimal-build', 'native', 'migrating-from-onnxruntime-web'],
  'Look up': ['errors', 'command-line', 'command-line-options', 'changes', 'security', 'notices'],
  'Models of the demos': ['pictures-card', 'pictures-model', 'writer-model'],
};
const REFERENCE = {
  Sessions: ['training-session', 'session', 'fit', 'fine-tune', 'schedule', 'metrics', 'text', 'federated'],
  Models: ['artifacts', 'loss-and-optimizer', 'adapters', 'inspection', 'layers'],
  Data: ['tensor', 'data', 'media', 'table'],
  'Storage and engine': ['storage', 'features', 'engine', 'errors'],
};
const MEASURED = {
  Speed: ['benchmarks', 'first-hour', 'operator-speed', 'gradient-speed'],
  Coverage: ['operators', 'models', 'hosts', 'testing'],
};
const INTERNALS = {
  'How it works': ['design', 'map', 'building', 'contributing'],
  Details: ['operators', 'wasm', 'formats'],
};

/** A menu of a folder's pages, by their titles. @param {string} folder @param {Record<string, string[]>} groups */
function menuOf(folder, groups) {
  const names = readdirSync(`${source}${folder}`, { recursive: true })
    .filter((file) => file.endsWith('.md') && file !== 'index.md')
    .map((file) => file.slice(0, -3));
  const grouped = Object.values(groups).flat();
  const more = names.filter((name) => !grouped.includes(name)).sort();
  const page = (name) => ({ text: titleOf(`${folder}/${name}.md`), link: `/${folder}/${name}` });
  return Object.entries({ ...groups, More: more })
    .map(([text, pages]) => ({ text, items: pages.filter((name) => names.includes(name)).map(page) }))
    .filter(({ items }) => items.length);
}

/** The pages of trainlet/layers have a group of their own. */
function withLayers(groups) {
  const files = readdirSync(`${source}reference/layers`);
  return { ...groups, 'trainlet/layers': files.map((file) => `layers/${file.slice(0, -3)}`) };
}

const titleOf = (file) =>
  file === 'guides/start.md' ? 'Getting started' : /^# (.*)$/m.exec(readFileSync(`${source}${file}`, 'utf8'))?.[1].replaceAll('`', '') ?? file;

/**
 * The page with its policy, which a host without headers of its own can send too: no other origin, and of scripts
 * without a file those that VitePress has written.
 */
function withPolicy(html) {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(([, code]) => code);
  const hashes = inline.map((code) => `'sha256-${createHash('sha256').update(code).digest('base64')}'`);
  const policy = [
    "default-src 'self'",
    `script-src 'self' 'wasm-unsafe-eval' ${[...new Set(hashes)].join(' ')}`,
    "style-src 'self' 'unsafe-inline'", // the colours of code
    "img-src 'self' data: blob:",
    "object-src 'none'; base-uri 'none'; form-action 'none'",
  ].join('; ');
  return html.replace('<head>', `<head>\n<meta http-equiv="Content-Security-Policy" content="${policy}">`);
}

const learn = menuOf('learn', LEARN).flatMap(({ items }) => items);

/** GitHub's anchor of a heading, which the pages' links name. */
const slugOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** A header cell without words is none: the corner over the names of rows. */
function asCorner(tokens, i, options, _env, renderer) {
  if (!tokens[i + 1].content) for (const token of [tokens[i], tokens[i + 2]]) token.tag = 'td';
  return renderer.renderToken(tokens, i, options);
}

const base = process.env.SITE_BASE ?? '/';

export default defineConfig({
  title: 'Trainlet',
  description: 'Trains neural networks in the browser tab: ONNX in, ONNX out, no server.',
  base,
  srcDir: '.vitepress/pages',
  srcExclude: ['public/**'], // files that pages link to, copied as they are
  outDir: '../build/site',
  cacheDir: '../build/site-cache',
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],
  ignoreDeadLinks: [/\/source\//, /^\/(demo|play|try)\//], // tools/site.mjs copies these files
  transformHtml: withPolicy,
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: slugOf },
    config: (md) => {
      runnable(md);
      md.renderer.rules.th_open = asCorner;
    },
  },
  router: { prefetchLinks: false }, // the landing has better use for the network
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Learn', link: learn[0].link, activeMatch: '^/learn/' },
      { text: 'Guides', link: '/guides/start', activeMatch: '^/guides/' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
      { text: 'Measured', link: '/measured/benchmarks', activeMatch: '^/measured/' },
      { text: 'Inside', link: '/internals/design', activeMatch: '^/internals/' },
      { text: 'Demos', link: '/demo/', target: '_self' },
      { text: 'Playground', link: '/play/', target: '_self' },
      { text: 'Your model', link: '/try/', target: '_self' },
    ],
    sidebar: {
      '/learn/': learn,
      '/guides/': menuOf('guides', GUIDES),
      '/reference/': [{ text: 'Index of names', link: '/reference/' }, ...menuOf('reference', withLayers(REFERENCE))],
      '/measured/': menuOf('measured', MEASURED),
      '/internals/': menuOf('internals', INTERNALS),
    },
    outline: [2, 3],
  },
});
