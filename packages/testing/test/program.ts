import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { rolldown } from 'rolldown'
import type { Plugin } from 'rolldown'

/** Below `node_modules`, where the packages of the workspace are found. Equal code has an equal path. */
const folder = fileURLToPath(new URL('../../../node_modules/.cache/programs', import.meta.url))
/** Libraries that load files beside them, or are loaded by a name that is computed. */
const apart =
  /\/node_modules\/(?:piscina|quickjs-wasi|@cedar-policy|pg|pg-[\w-]+|kysely|@copilotkit|vitest|fast-check)\//u

const built = new Map<string, Promise<string>>()

/**
 * Returns the path of a program that a test starts, made of its source with few files. Node starts it with the condition of
 * the sources, which its threads load. Several hundred files take two thirds of a second of computing at each start, to
 * make the program takes one or two seconds: use it for what starts at least four times.
 */
export function builtProgram(program: URL): Promise<string> {
  const source = fileURLToPath(program)
  const known = built.get(source) ?? buildPrograms([source]).then(([path = '']) => path)
  built.set(source, known)
  return known
}

/** Returns the paths of programs that are made together, from the paths of their sources, in their order. */
export async function buildPrograms(sources: readonly string[]): Promise<readonly string[]> {
  const bundle = await rolldown({
    input: [...sources],
    platform: 'node',
    resolve: { conditionNames: ['@provost/source', 'import', 'node', 'default'] },
    plugins: [stayingInPlace],
  })
  const { output } = await bundle.generate({ format: 'esm', entryFileNames: '[name]-[hash].mjs' })
  await bundle.close()
  const chunks = output.filter((file) => file.type === 'chunk')
  const hash = createHash('sha256')
  for (const { fileName, code } of chunks) hash.update(fileName).update(code)
  const place = join(folder, hash.digest('hex').slice(0, 16))
  if (!existsSync(place)) {
    // Other workers may write the same.
    const draft = `${place}.${process.pid}`
    for (const { fileName, code } of chunks) {
      mkdirSync(dirname(join(draft, fileName)), { recursive: true })
      writeFileSync(join(draft, fileName), code)
    }
    try {
      renameSync(draft, place)
    } catch (error) {
      if (!existsSync(place)) throw error
    }
  }
  return sources.map((source) => {
    const entry = chunks.find(({ facadeModuleId }) => facadeModuleId === source)
    if (!entry) throw new Error(`${source} was not built.`)
    return join(place, entry.fileName)
  })
}

/** What a file reads beside it, it reads where its source is. */
const stayingInPlace: Plugin = {
  name: 'staying-in-place',
  async resolveId(specifier, importer, options) {
    const found = await this.resolve(specifier, importer, { ...options, skipSelf: true })
    return found && apart.test(found.id) ? { id: pathToFileURL(found.id).href, external: true } : found
  },
  transform: {
    filter: { code: 'import.meta.' },
    handler: (code, id) => ({
      code: code
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
        .replaceAll('import.meta.filename', JSON.stringify(id))
        .replaceAll('import.meta.resolve', resolverOf(id)),
      map: null,
    }),
  },
}

function resolverOf(file: string): string {
  const builtin = (name: string): string => `process.getBuiltinModule('node:${name}')`
  const found = `${builtin('module')}.createRequire(${JSON.stringify(file)}).resolve(name)`
  return `((name) => ${builtin('url')}.pathToFileURL(${found}).href)`
}
