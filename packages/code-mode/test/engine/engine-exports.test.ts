import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

import { expect, it } from 'vitest'

import { engineExports, memoryImport } from '../../src/engine/engine-exports.ts'
import { trimWasm } from '../../src/engine/wasm-trim.ts'

it('the trimmed engine has exactly the listed exports, and imports only its memory in addition', async () => {
  const bytes = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'))
  const { bytes: few, pages } = trimWasm(bytes, engineExports, memoryImport)
  const [whole, thin] = [await WebAssembly.compile(bytes), await WebAssembly.compile(Buffer.from(few))]
  expect(
    WebAssembly.Module.exports(thin)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual([...engineExports].toSorted())
  const [module, name] = memoryImport
  expect(WebAssembly.Module.imports(thin)).toEqual([
    ...WebAssembly.Module.imports(whole),
    { module, name, kind: 'memory' },
  ])
  expect(pages).toBeGreaterThan(0)
})
