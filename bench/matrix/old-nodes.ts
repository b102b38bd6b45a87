import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Outcome, Tarballs, Try } from './packed.ts'
import { installPacked } from './packed.ts'

const nodes = ['18', '20', '22.17']

/** What a user of an old Node tries first, and what an import there prints. */
const attempts: readonly (readonly [name: string, args: readonly string[], says: RegExp])[] = [
  ['npx provost', ['node_modules/provost/bin/provost.js', '--help'], /^unsupported-node: (?:.*\n){2}$/u],
  ['npm create provost', ['node_modules/create-provost/dist/main.js', 'new', '--yes'], /^Provost needs .*\n$/u],
  ['an import', ['import.mjs'], /^\[?ProvostError \[unsupported-node\]: [^\n]*\]? \{$/mu],
  ['an import that is caught', ['caught.mjs'], /^unsupported-node Provost needs .*\n$/u],
]

/** Returns what runs the packed packages on versions of Node that are too old: each has to name the version that is needed. */
export async function oldNodeTries(folder: string, tarballs: Tarballs): Promise<readonly Try[]> {
  const home = join(folder, 'old-nodes')
  mkdirSync(home)
  const own = Object.fromEntries(['provost', 'create-provost'].map((name) => [name, tarballs[name]]))
  await installPacked(home, tarballs, { private: true, dependencies: own })
  writeFileSync(join(home, 'import.mjs'), "import 'provost'\n")
  const caught = "await import('provost').catch(({ code, message }) => console.error(code, message))\n"
  writeFileSync(join(home, 'caught.mjs'), caught)
  return nodes.map(
    (node) =>
      ({ program }) =>
        Promise.resolve(program === process.execPath ? [told(node, home)] : []),
  )
}

function told(node: string, cwd: string): Outcome {
  const program = join(import.meta.dirname, `node_modules/node-${node}/bin/node`)
  const faults = attempts.flatMap(([name, args, says]) => {
    const { stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
    return says.test(stderr) && stderr.includes(`this is Node ${node}.`) ? [] : [`${name}: ${stdout} ${stderr}`]
  })
  const check = `Node ${node} is refused in one sentence`
  return faults.length === 0 ? { check, ok: true } : { check, ok: false, seen: faults.join('\n') }
}
