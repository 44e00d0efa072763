/** The site's pages, which tools/site.mjs has gathered in docs/.vitepress/pages, their menus and their search. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const source = fileURLToPath(new URL('pages/', import.meta.url));
const demos = fileURLToPath(new URL('../../web-demo/', import.meta.url));

/** The pages of a folder, by their titles; those that `first` names come first. */
function menuOf(folder, first = []) {
  const names = readdirSync(`${source}${folder}`).filter((file) => file.endsWith('.md') && file !== 'index.md');
  const order = (file) => (first.indexOf(file.slice(0, -3)) + names.length) % names.length;
  return names
    .sort((a, b) => order(a) - order(b) || a.localeCompare(b))
    .map((file) => ({ text: titleOf(`${folder}/${file}`), link: `/${folder}/${file.slice(0, -3)}` }));
}

const titleOf = (file) => /^# (.*)$/m.exec(readFileSync(`${source}${file}`, 'utf8'))?.[1].replaceAll('`', '') ?? file;

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

/** A link to a page beside VitePress's own, where it is there. */
const appLink = (text, app) => (existsSync(`${demos}${app}/index.html`) ? [{ text, link: `/${app}/`, target: '_self' }] : []);
const learn = existsSync(`${source}learn`) ? menuOf('learn') : [];

const base = process.env.SITE_BASE ?? '/';

export default defineConfig({
  title: 'Trainlet',
  description: 'Trains neural networks in the browser tab: ONNX in, ONNX out, no server.',
  base,
  srcDir: '.vitepress/pages',
  outDir: '../build/site',
  cacheDir: '../build/site-cache',
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],
  ignoreDeadLinks: [/\/source\//, /^\/(demo|play|try)\//], // tools/site.mjs copies these files
  transformHtml: withPolicy,
  markdown: { theme: { light: 'github-light-high-contrast', dark: 'github-dark' } },
  router: { prefetchLinks: false }, // the landing has better use for the network
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      ...learn.slice(0, 1).map(({ link }) => ({ text: 'Learn', link, activeMatch: '^/learn/' })),
      { text: 'Guides', link: '/guides/start', activeMatch: '^/guides/' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
      { text: 'Measured', link: '/measured/benchmarks', activeMatch: '^/measured/' },
      { text: 'Inside', link: '/internals/design', activeMatch: '^/internals/' },
      { text: 'Demos', link: '/demo/', target: '_self' },
      ...appLink('Playground', 'play'),
      ...appLink('Your model', 'try'),
    ],
    sidebar: {
      '/learn/': learn,
      '/guides/': menuOf('guides', ['start', 'layers', 'training', 'tables', 'fine-tuning', 'samples', 'exporting']),
      '/reference/': menuOf('reference'),
      '/measured/': menuOf('measured'),
      '/internals/': menuOf('internals', ['design', 'map']),
    },
    outline: [2, 3],
  },
});
