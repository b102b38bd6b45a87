import { execFile, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { tryChatPage } from './chat-page.ts'
import { tryNextPage } from './next-page.ts'
import type { Outcome, Tarballs } from './packed.ts'
import { installPacked } from './packed.ts'

const run = promisify(execFile)

/** A template, and what its `npm start` prints. A server prints its address, and has a page. */
interface Template {
  readonly name: string
  readonly prints: RegExp
  readonly tryPage?: (url: string) => Promise<void>
}

const templates: readonly Template[] = [
  { name: 'script', prints: /Order 17 was sent on Monday\.\ncompleted\n$/u },
  { name: 'server', prints: /^Open (?<url>http:\S+)\n/u, tryPage: tryChatPage },
  {
    name: 'team',
    prints: /billing asks: may I refund \{"orderId":"17","euros":80\}\?\nAnswer with: .*--approve \S+\n$/u,
  },
  { name: 'next', prints: /(?<url>http:\/\/127\.0\.0\.1:\d+)\n[^]*Ready/u, tryPage: tryNextPage },
]

/** A project that was created, installed and, where its template asks for that, built. */
export interface InstalledTemplate extends Template {
  readonly folder: string
}

/** Creates a project of each template with the packed create-provost, and installs the packed packages there. */
export async function createTemplates(folder: string, tarballs: Tarballs): Promise<readonly InstalledTemplate[]> {
  const maker = join(folder, 'create-provost')
  mkdirSync(maker)
  await installPacked(maker, tarballs, {
    private: true,
    dependencies: { 'create-provost': tarballs['create-provost'] },
  })
  return Promise.all(
    templates.map(async (template) => {
      const { name } = template
      const project = join(folder, `my-${name}`)
      const args = ['--name', project, '--template', name, '--yes', '--no-install', '--json']
      await run(join(maker, 'node_modules/.bin/create-provost'), args)
      await installPacked(project, tarballs)
      if (name === 'next') {
        const env = { ...process.env, CI: '1', NEXT_TELEMETRY_DISABLED: '1' }
        await run(process.execPath, ['--run', 'build'], { cwd: project, env })
      }
      return { ...template, folder: project }
    }),
  )
}

/** Runs the tests, the type check and the program of a project with a version of Node. */
export async function tryTemplate(node: string, project: InstalledTemplate): Promise<readonly Outcome[]> {
  const { name, folder } = project
  const { PROVOST_MODEL: _, ...rest } = process.env
  const env = { ...rest, PATH: `${dirname(node)}${delimiter}${rest['PATH'] ?? ''}`, PORT: '0', STORE: ':memory:' }
  const script = async (task: string): Promise<string> => {
    const { stdout } = await run(node, ['--run', task], { cwd: folder, env, timeout: 120_000 })
    return stdout
  }
  return [
    await outcome(`${name}: its tests`, () => script('test')),
    await outcome(`${name}: its types`, () => script('types')),
    await outcome(`${name}: it starts`, () => started(node, project, env)),
  ]
}

/** Starts a project as its README says, and compares what it prints. A server is used by a browser, and stopped. */
async function started(
  node: string,
  { prints, tryPage, folder }: InstalledTemplate,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const child = spawn(node, ['--run', 'start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let out = ''
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const shown = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      if (tryPage && prints.test(out)) resolve()
    })
    void closed.then(() => resolve())
  })
  try {
    await shown
    const printed = prints.exec(out)
    if (!printed) throw new Error(`It printed ${JSON.stringify(out)}. ${err}`)
    await tryPage?.(printed.groups?.['url'] ?? '')
  } finally {
    // `node --run` does not pass signals on, so its whole group gets it.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await closed
  }
}

async function outcome(check: string, attempt: () => Promise<unknown>): Promise<Outcome> {
  try {
    await attempt()
    return { check, ok: true }
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
    return { check, ok: false, seen: `${String(error)} ${stdout} ${stderr}`.slice(0, 2_000) }
  }
}
