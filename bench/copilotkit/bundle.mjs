// node bundle.mjs: writes the page as one file, generated/page.js. The styles are a file of their own package.
import { build } from 'rolldown'

await build({
  cwd: import.meta.dirname,
  input: 'page.jsx',
  platform: 'browser',
  logLevel: 'silent',
  moduleTypes: { '.css': 'empty' },
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  output: { file: 'generated/page.js', format: 'esm', codeSplitting: false },
})
