/**
 * node scripts/packed-registry.ts FOLDER
 *
 * Packs the packages into a folder and serves them as a registry on this machine, until it is stopped. Every other name
 * is redirected to the registry of npm's settings. So `npm create provost` and `npx provost` run before a release as
 * users will run them.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

import { packAll } from './pack.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')

interface Packed {
  readonly name: string
  readonly version: string
  readonly manifest: object
  readonly file: string
  readonly integrity: string
}

/** A registry that answers with the packed packages of this repository. */
export interface PackedRegistry {
  readonly url: string
  close(): Promise<void>
}

async function readPacked(file: string): Promise<Packed> {
  const { stdout } = await run('tar', ['-xOzf', file, 'package/package.json'])
  const manifest = JSON.parse(stdout) as { name: string; version: string }
  const integrity = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
  return { name: manifest.name, version: manifest.version, manifest, file, integrity }
}

/** Serves archives as a registry at 127.0.0.1. */
export async function servePacked(files: readonly string[]): Promise<PackedRegistry> {
  const { stdout } = await run('npm', ['config', 'get', 'registry'], { cwd: root })
  const upstream = stdout.trim()
  const packed = await Promise.all(files.map(readPacked))
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '/').slice(1).replace(/\?.*$/u, ''))
    const archive = packed.find(({ file }) => path === `-/packed/${basename(file)}`)
    const found = packed.find(({ name }) => path === name)
    if (archive) {
      response.setHeader('content-type', 'application/octet-stream')
      createReadStream(archive.file).pipe(response)
    } else if (found) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(documentOf(found, `http://${request.headers.host ?? ''}`)))
    } else {
      response.writeHead(307, { location: new URL((request.url ?? '/').slice(1), upstream).href }).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The registry has no port.')
  return {
    url: `http://127.0.0.1:${address.port}/`,
    close: () => new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve()))),
  }
}

function documentOf({ name, version, manifest, file, integrity }: Packed, host: string): object {
  const dist = { tarball: `${host}/-/packed/${basename(file)}`, integrity }
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined || folder.startsWith('-')) {
    const isAsked = folder === '--help'
    const out = isAsked ? process.stdout : process.stderr
    out.write('Usage: node scripts/packed-registry.ts FOLDER\n')
    process.exitCode = isAsked ? 0 : 2
  } else {
    const { url } = await servePacked(Object.values(await packAll(folder)))
    process.stdout.write(`${url}\n`)
  }
}
