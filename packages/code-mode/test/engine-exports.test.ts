import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

import { expect, it } from 'vitest'

import { engineExports } from '../src/engine-exports.ts'
import { withExports } from '../src/thin-wasm.ts'

it('the engine has every export that is named, and is left with no other', async () => {
  const bytes = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'))
  const thin = await WebAssembly.compile(Buffer.from(withExports(bytes, engineExports)))
  expect(
    WebAssembly.Module.exports(thin)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual([...engineExports].toSorted())
  const [whole, imports] = [await WebAssembly.compile(bytes), WebAssembly.Module.imports(thin)]
  expect(imports).toEqual(WebAssembly.Module.imports(whole))
})
