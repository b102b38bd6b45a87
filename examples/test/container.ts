import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, matchesGlob } from 'node:path'

/** What a Dockerfile makes: the folder of its last stage, and how a container of it starts. */
export interface Image {
  /** The folder that is the root of the container. */
  readonly root: string
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
  readonly user: string | undefined
  readonly command: readonly string[]
  readonly healthcheck: readonly string[]
}

interface Stage {
  readonly name: string
  readonly root: string
  workdir: string
  env: Record<string, string>
  user?: string
  command: readonly string[]
  healthcheck: readonly string[]
}

/**
 * Carries out the steps of a Dockerfile without Docker: each stage is a folder, and `RUN` runs on this machine with the
 * absolute paths of its command below that folder. A step that it does not know is an error.
 *
 * @param context folder with the Dockerfile and a `.dockerignore`.
 * @param folder an empty folder for the stages.
 */
export function buildImage(context: string, folder: string): Image {
  const ignored = readFileSync(join(context, '.dockerignore'), 'utf8').split('\n').filter(Boolean)
  const stages: Stage[] = []
  const steps = readFileSync(join(context, 'Dockerfile'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  for (const step of steps) {
    const [, name = '', rest = ''] = /^(\w+) (.*)$/u.exec(step) ?? []
    if (name === 'FROM') {
      const [, stage = `${stages.length}`] = / AS (\w+)$/u.exec(rest) ?? []
      const root = join(folder, stage)
      mkdirSync(root)
      stages.push({ name: stage, root, workdir: '/', env: {}, command: [], healthcheck: [] })
      continue
    }
    const stage = stages.at(-1)
    if (!stage) throw new Error(`${step} comes before FROM.`)
    const here = join(stage.root, stage.workdir)
    if (name === 'WORKDIR') {
      stage.workdir = rest
      mkdirSync(join(stage.root, rest), { recursive: true })
    } else if (name === 'ENV') {
      Object.assign(stage.env, Object.fromEntries(rest.split(' ').map((pair) => pair.split('='))))
    } else if (name === 'COPY') {
      const [, from] = /--from=(\w+)/u.exec(rest) ?? []
      const paths = rest.split(' ').filter((part) => !part.startsWith('--'))
      const target = paths.pop() ?? ''
      const source = from === undefined ? context : stages.find((one) => one.name === from)?.root
      if (source === undefined) throw new Error(`${step} names no stage.`)
      for (const path of paths) {
        const into = target.endsWith('/') ? join(here, target, basename(path)) : join(here, target)
        mkdirSync(dirname(into), { recursive: true })
        const kept = (file: string): boolean =>
          from !== undefined || !ignored.some((pattern) => matchesGlob(basename(file), pattern))
        cpSync(join(source, path), into, { recursive: true, filter: kept })
      }
    } else if (name === 'RUN') {
      run(rest, stage)
    } else if (name === 'USER') {
      stage.user = rest
    } else if (name === 'CMD') {
      stage.command = JSON.parse(rest)
    } else if (name === 'HEALTHCHECK') {
      stage.healthcheck = JSON.parse(rest.replace(/^CMD /u, ''))
    } else if (name !== 'EXPOSE' && name !== 'VOLUME') {
      throw new Error(`${name} is not known: ${step}`)
    }
  }
  const last = stages.at(-1)
  if (!last) throw new Error('The Dockerfile has no stage.')
  return { ...last, user: last.user }
}

function run(command: string, stage: Stage): void {
  // This machine may have no user of that name, or this process may not change owners.
  const inside = command.replace(/ && chown .*$/u, '').replaceAll(/ (\/[\w/]+)/gu, ` ${stage.root}$1`)
  const cwd = join(stage.root, stage.workdir)
  execFileSync('sh', ['-euc', inside], {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...stage.env },
  })
}

/** Runs the health check of an image on this machine. */
export function checkHealth({ healthcheck }: Image, port: string): number | null {
  const [, ...args] = healthcheck.map((part) => part.replace(':8080/', `:${port}/`))
  return spawnSync(process.execPath, args).status
}
