/** A fence ```js run becomes a block with a Run button (theme/RunBlock.vue). */

/** @param {import('markdown-it')} md */
export function runnable(md) {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, at, options, env, self) => {
    const token = tokens[at];
    if (token.info.trim() !== 'js run') return fence(tokens, at, options, env, self);
    token.info = 'js';
    const code = encodeURIComponent(token.content.trimEnd()).replaceAll("'", '%27');
    return `<RunBlock code="${code}">${fence(tokens, at, options, env, self)}</RunBlock>`;
  };
}
