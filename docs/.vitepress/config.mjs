/** The site's pages, which tools/site.mjs has gathered in docs/.vitepress/pages, their menus and their search. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const source = fileURLToPath(new URL('pages/', import.meta.url));

/** The pages of a folder, by their titles; those that `first` names come first. */
function menuOf(folder, first = []) {
  const names = readdirSync(`${source}${folder}`).filter((file) => file.endsWith('.md') && file !== 'index.md');
  const order = (file) => (first.indexOf(file.slice(0, -3)) + names.length) % names.length;
  return names
    .sort((a, b) => order(a) - order(b) || a.localeCompare(b))
    .map((file) => ({ text: titleOf(`${folder}/${file}`), link: `/${folder}/${file.slice(0, -3)}` }));
}

const titleOf = (file) => /^# (.*)$/m.exec(readFileSync(`${source}${file}`, 'utf8'))?.[1].replaceAll('`', '') ?? file;

const base = process.env.SITE_BASE ?? '/';

export default defineConfig({
  title: 'Trainlet',
  description: 'Trains neural networks in the browser tab: ONNX in, ONNX out, no server.',
  base,
  srcDir: '.vitepress/pages',
  outDir: '../build/site',
  cacheDir: '../build/site-cache',
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],
  ignoreDeadLinks: [/\/source\//], // tools/site.mjs has copied these files
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Guides', link: '/guides/start' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Measured', link: '/measured/benchmarks' },
      { text: 'Inside', link: '/internals/design' },
      { text: 'Demos', link: '/demo/', target: '_self' },
    ],
    sidebar: {
      '/guides/': menuOf('guides', ['start', 'layers', 'training', 'tables', 'fine-tuning', 'samples', 'exporting']),
      '/reference/': menuOf('reference'),
      '/measured/': menuOf('measured'),
      '/internals/': menuOf('internals', ['design', 'map']),
    },
    outline: [2, 3],
  },
});
