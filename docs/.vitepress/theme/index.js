/** The site's look: VitePress's own theme in the colours of the demos, with the fonts that the reader's system has. */

import DefaultTheme from 'vitepress/theme-without-fonts';
import HeartPad from './HeartPad.vue';
import MovingCards from './MovingCards.vue';
import RunBlock from './RunBlock.vue';
import './style.css';
import './landing.css';

/** @type {import('vitepress').Theme} */
export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('HeartPad', HeartPad);
    app.component('MovingCards', MovingCards);
    app.component('RunBlock', RunBlock);
  },
};
