import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  // The server writes its own path in place of this.
  base: './',
  resolve: { conditions: ['@provost/source', 'browser', 'module', 'import', 'default'] },
  build: {
    outDir: 'dist/page',
    target: 'es2024',
    // The policy of the page permits no inline code, and the limit of data addresses would inline small files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
