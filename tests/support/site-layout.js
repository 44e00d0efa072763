// Lets Node import pages of the site as a browser does: /js/ beside them is the package, /demo/ is web-demo.

import { register } from 'node:module';

const resolve = `
  const layout = [[/\\/web-demo\\/js\\//, '/js/'], [/\\/web-demo\\/demo\\//, '/web-demo/']];
  export function resolve(specifier, context, next) {
    if (!specifier.startsWith('.') || !context.parentURL?.startsWith('file:')) return next(specifier, context);
    const { href } = new URL(specifier, context.parentURL);
    return next(layout.reduce((url, [from, to]) => url.replace(from, to), href), context);
  }`;
register(`data:text/javascript,${encodeURIComponent(resolve)}`);
