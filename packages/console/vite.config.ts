import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import type { Plugin } from 'vite'

// @boundaries-ignore a part of the build, as scripts/bundle.ts is
import { writeNotices } from '../../scripts/bundle/third-party.ts'

/** The page has code of libraries: their licences lie beside it. */
const notices: Plugin = {
  name: 'notices',
  writeBundle(_, bundle) {
    writeNotices(
      'dist',
      Object.values(bundle).flatMap((one) => (one.type === 'chunk' ? Object.keys(one.modules) : [])),
    )
  },
}

export default defineConfig({
  plugins: [react(), notices],
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
