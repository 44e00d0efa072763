import { defineConfig } from 'vite';

export default defineConfig({ base: './' }); // the page stands below /NAME-OF-THE-REPOSITORY/
