// node bundle.mjs: writes the page as one file, generated/page.js.
import { build } from 'rolldown'

await build({
  cwd: import.meta.dirname,
  input: 'page.mjs',
  platform: 'browser',
  logLevel: 'silent',
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  output: { file: 'generated/page.js', format: 'esm', codeSplitting: false },
})
