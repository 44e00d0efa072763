import { defineConfig } from 'vite';
import { VitePWA } from 'vite-plugin-pwa';

export default defineConfig({
  plugins: [
    VitePWA({
      registerType: 'autoUpdate',
      manifest: { name: 'Trainlet offline', icons: [] },
      workbox: { globPatterns: ['**/*.{html,js,wasm}'] }, // the engine is no part of the default
    }),
  ],
});
